package survival

import (
	"cmp"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
)

// Concordance is Harrell's C-index: among the pairs of samples of which one is known to have the event first, the share
// in which this one has the higher risk; equal risks count a half. Two equal times are such a pair only if exactly one of
// them is an event.
type Concordance struct {
	C     float64 // NaN without a pair
	Pairs int64
	// Influence has for each sample the change of C per unit of its weight. The sum of the squares is the variance of C
	// (infinitesimal jackknife).
	Influence []float64
}

// Concord compares risks with the times of events. It takes O(n log n).
func Concord(times []float64, events []int, risks []float64) *Concordance {
	n := len(times)
	sorted := slices.Clone(risks)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	order, rank := make([]int, n), make([]int, n)
	for i, r := range risks {
		order[i] = i
		rank[i], _ = slices.BinarySearch(sorted, r)
	}
	slices.SortStableFunc(order, func(a, b int) int { // at equal times, events are first
		return cmp.Or(cmp.Compare(times[a], times[b]), cmp.Compare(events[b], events[a]))
	})
	// For each sample the number of its pairs, and twice the number of those in order, with ties as one.
	pairs, wins := make([]int64, n), make([]int64, n)
	count := func(i int, seen tree, later bool) {
		below, upTo, all := seen.below(rank[i]), seen.below(rank[i]+1), seen.below(len(sorted))
		pairs[i] += all
		if later { // the others in the pairs have the event after i
			wins[i] += below + upTo
		} else {
			wins[i] += 2*all - below - upTo
		}
	}
	var groups [][]int // with equal times and events
	for from, end := 0, 0; from < n; from = end {
		for end = from; end < n && times[order[end]] == times[order[from]] && events[order[end]] == events[order[from]]; end++ {
		}
		groups = append(groups, order[from:end])
	}
	for _, later := range []bool{false, true} { // pairs with an earlier event, then with a later sample
		seen := make(tree, len(sorted)+1)
		for _, group := range groups {
			for _, i := range group {
				if events[i] == 1 || !later {
					count(i, seen, later)
				}
			}
			for _, i := range group {
				if events[i] == 1 || later {
					seen.add(rank[i])
				}
			}
		}
		slices.Reverse(groups)
	}
	var all, right int64
	for i := range pairs {
		all, right = all+pairs[i], right+wins[i]
	}
	all, right = all/2, right/2 // each pair was counted for both
	c := &Concordance{C: float64(right) / (2 * float64(all)), Pairs: all, Influence: make([]float64, n)}
	for i := range c.Influence {
		c.Influence[i] = (float64(wins[i])/2 - float64(c.C*float64(pairs[i]))) / float64(all)
	}
	return c
}

// Estimate returns the C-index with its interval on the logit scale, or nil without a pair.
func (c *Concordance) Estimate(events int) *score.Estimate {
	if c.Pairs == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range c.Influence {
		sum += float64(v * v)
	}
	return score.Logit(c.C, math.Sqrt(sum), events)
}

// tree counts ranks (Fenwick, "A new data structure for cumulative frequency tables", 1994).
type tree []int64

func (t tree) add(rank int) {
	for i := rank + 1; i < len(t); i += i & -i {
		t[i]++
	}
}

// below returns how many ranks below the given one were added.
func (t tree) below(rank int) (n int64) {
	for i := rank; i > 0; i -= i & -i {
		n += t[i]
	}
	return n
}
