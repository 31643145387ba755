package survival

import (
	"cmp"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
)

// Metrics measures a survival model on samples.
type Metrics struct {
	Samples int `json:"samples"`
	Events  int `json:"events"`
	// CIndex is Harrell's C-index, see [Concordance], with its interval on the logit scale; nil if no pair of samples can
	// be compared. The same risk for all has 0.5.
	CIndex   *score.Estimate `json:"c_index"`
	Pairs    int64           `json:"pairs"`
	Horizons []AtHorizon     `json:"horizons"`
	Groups   []Group         `json:"groups"` // by risk, from the lowest
}

// AtHorizon measures the predicted survival beyond a time. Observed values are those of Kaplan and Meier; they are nil
// where nobody was observed that long.
type AtHorizon struct {
	Time     string          `json:"time"`
	Days     float64         `json:"days"`
	Said     float64         `json:"said"` // mean predicted survival
	Observed *score.Estimate `json:"observed"`
	// Brier is the mean squared error of the predicted survival, in which the inverse probability of being observed
	// weighs a sample (Graf et al. 1999). Constant is that of always saying Observed. Both are nil where nobody is left
	// to weigh.
	Brier    *score.Estimate `json:"brier"`
	Constant *float64        `json:"brier_of_constant"`
}

// Group has the samples between two quantiles of risk.
type Group struct {
	Samples  int               `json:"samples"`
	Events   int               `json:"events"`
	Said     []float64         `json:"said"`     // mean predicted survival beyond each horizon
	Observed []*score.Estimate `json:"observed"` // survival beyond each horizon

	Curve *KaplanMeier `json:"-"`
}

// Judge compares predictions for at least one sample with the truth: times in days, and whether the event happened then
// (1) or not (0). risks are comparable numbers, higher for a higher risk, and curves as [Curve] returns them.
func Judge(cuts Intervals, times []float64, events []int, risks []float64, curves [][]float64) *Metrics {
	m := &Metrics{Samples: len(times)}
	for _, e := range events {
		m.Events += e
	}
	c := Concord(times, events, risks)
	m.CIndex, m.Pairs = c.Estimate(m.Events), c.Pairs
	all, observed := Estimate(times, events, nil, false), Estimate(times, events, nil, true)
	for j, end := range cuts.Ends {
		h := AtHorizon{Time: cuts.Text(end), Days: end, Observed: all.Beyond(end)}
		said := make([]float64, len(times))
		for i, curve := range curves {
			said[i] = curve[j]
			h.Said += curve[j] / float64(len(times))
		}
		if squares := brier(end, times, events, said, observed); squares != nil {
			mean := score.Mean(squares)
			h.Brier = &mean
			constant := score.Mean(brier(end, times, events, slices.Repeat([]float64{all.share(end)}, len(times)), observed)).Value
			h.Constant = &constant
		}
		m.Horizons = append(m.Horizons, h)
	}
	for _, of := range groups(risks) {
		g := Group{Samples: len(of), Said: make([]float64, len(cuts.Ends)), Curve: Estimate(times, events, of, false)}
		for _, i := range of {
			g.Events += events[i]
			for j := range g.Said {
				g.Said[j] += curves[i][j] / float64(len(of))
			}
		}
		for _, end := range cuts.Ends {
			g.Observed = append(g.Observed, g.Curve.Beyond(end))
		}
		m.Groups = append(m.Groups, g)
	}
	return m
}

// brier returns the weighted squared error of each sample's predicted survival beyond t, or nil if that weight
// does not exist at t. observed estimates the end of observation.
func brier(t float64, times []float64, events []int, said []float64, observed *KaplanMeier) []float64 {
	beyond := observed.share(t)
	if beyond == 0 {
		return nil
	}
	squares := make([]float64, len(times))
	for i, p := range said {
		switch {
		case times[i] > t:
			squares[i] = float64((1-p)*(1-p)) / beyond
		case events[i] == 1:
			squares[i] = float64(p*p) / observed.before(times[i])
		}
	}
	return squares
}

const (
	mostGroups = 5
	inGroup    = 20 // the least number of samples of a group, if there are more than one
)

// groups cuts the samples by risk into up to five groups of about the same size. Equal risks stay together.
func groups(risks []float64) (all [][]int) {
	order := make([]int, len(risks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(risks[a], risks[b]) })
	n, from := max(1, min(mostGroups, len(order)/inGroup)), 0
	for k := range n {
		end := max(from, len(order)*(k+1)/n)
		for end > 0 && end < len(order) && risks[order[end]] == risks[order[end-1]] {
			end++
		}
		if end > from {
			all = append(all, order[from:end])
		}
		from = end
	}
	return all
}
