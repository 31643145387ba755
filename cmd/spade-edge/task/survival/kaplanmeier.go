package survival

import (
	"cmp"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// KaplanMeier is the estimate of survival over time by Kaplan and Meier (1958).
type KaplanMeier struct {
	Times []float64 // at which Share changes, in days
	Share []float64 // that survives beyond each of Times
	Last  float64   // the longest observation

	spread []float64 // Greenwood's sum at each of Times
}

// Estimate returns the estimate for samples at the indices "of", or for all if that is nil. If censoring is true, it
// estimates how long samples are observed: the end of an observation without the event then counts as the event, after
// the events at the same time.
func Estimate(times []float64, events []int, of []int, censoring bool) *KaplanMeier {
	if of == nil {
		for i := range times {
			of = append(of, i)
		}
	}
	order := slices.Clone(of)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	k, left, share, spread := &KaplanMeier{}, float64(len(order)), 1.0, 0.0
	for from := 0; from < len(order); {
		t, died, out := times[order[from]], 0.0, 0.0
		for ; from < len(order) && times[order[from]] == t; from++ {
			out++
			died += float64(events[order[from]])
		}
		risk, fall := left, died
		if censoring {
			risk, fall = left-died, out-died
		}
		if fall > 0 {
			share = float64(share * (1 - fall/risk))
			spread += fall / float64(risk*(risk-fall)) // infinite once nobody is left
			k.Times, k.Share, k.spread = append(k.Times, t), append(k.Share, share), append(k.spread, spread)
		}
		left -= out
		k.Last = t
	}
	return k
}

// at returns the index in Times of the last change at or before t, or -1.
func (k *KaplanMeier) at(t float64) int {
	n, found := slices.BinarySearch(k.Times, t)
	if !found {
		n--
	}
	return n
}

// share returns the share that survives beyond t.
func (k *KaplanMeier) share(t float64) float64 {
	if i := k.at(t); i >= 0 {
		return k.Share[i]
	}
	return 1
}

// before returns the share that survives until just before t.
func (k *KaplanMeier) before(t float64) float64 { return k.share(math.Nextafter(t, math.Inf(-1))) }

// Beyond returns the share that survives beyond t with its interval, on the scale log(-log) with Greenwood's variance.
// It returns nil if nobody was observed that long, unless everybody had the event before.
func (k *KaplanMeier) Beyond(t float64) *score.Estimate {
	i := k.at(t)
	switch {
	case k.Last < t && (i < 0 || k.Share[i] > 0):
		return nil
	case i < 0:
		return &score.Estimate{Value: 1, Low: 1, High: 1}
	case k.Share[i] == 0:
		return &score.Estimate{}
	}
	s := k.Share[i]
	l := vec.Log(s)
	f := vec.Exp(score.Quantile * math.Sqrt(k.spread[i]) / -l)
	return &score.Estimate{Value: s, Low: vec.Exp(float64(l * f)), High: vec.Exp(l / f)}
}
