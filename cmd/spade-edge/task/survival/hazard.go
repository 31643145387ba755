package survival

import (
	"math"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Batch is the maximum number of samples of one call of [Losses].
const Batch = 16

const (
	// scale makes slopes about as steep as those of squared errors of probabilities, for which settings are chosen.
	scale = 0.25
	// least bounds the probability of what happened, and with it the loss.
	least = 0x1p-64

	// MostLoss is the largest loss of a sample.
	MostLoss = 64 * scale * math.Ln2
)

// Losses replaces each score <w, x> of up to [Batch] samples by the sample's loss: a quarter of the negative logarithm of
// the probability of its life, from 0 to [MostLoss]. b[i] has the b_j of the intervals for sample i, and lives[i] its
// life. It allocates nothing.
func Losses(scores []float64, b [][]float32, lives []Life) {
	var buffer [Batch * (MaxEnds + 1)]float64
	n := 0
	for i, z := range scores {
		l := lives[i]
		for _, v := range b[i][:l.Survived] {
			buffer[n] = -(z + float64(v))
			n++
		}
		if l.Event > 0 {
			buffer[n] = z + float64(b[i][l.Survived])
			n++
		}
	}
	right := buffer[:n]
	vec.Sigmoids(right)
	for i, l := range lives[:len(scores)] {
		k, product := int(l.Survived)+int(l.Event), 1.0
		for _, p := range right[:k] {
			product = float64(product * p)
		}
		scores[i], right = 0-float64(scale*vec.Log(max(product, least))), right[k:]
	}
}

// Curve returns the probability of surviving each finite interval, for a sample with the score <w, x>.
func Curve(score float64, b []float64) []float64 {
	left := make([]float64, len(b)-1)
	s := 1.0
	for j := range left {
		s = float64(s * vec.Sigmoid(-(score + b[j])))
		left[j] = s
	}
	return left
}

// Median returns the time, in days, before which half of the samples with this curve have the event, if it lies before
// the last end. The hazard is constant within an interval.
func (c Intervals) Median(curve []float64) (days float64, ok bool) {
	start, before := 0.0, 1.0
	for j, s := range curve {
		if s <= 0.5 {
			share := vec.Log(0.5/before) / vec.Log(s/before)
			return start + float64(share*(c.Ends[j]-start)), true
		}
		start, before = c.Ends[j], s
	}
	return 0, false
}
