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
// the probability of its life, from 0 to [MostLoss]. b[i] has the b_j of the intervals for sample i, all of one length, and
// lives[i] its life. It allocates nothing.
func Losses(scores []float64, b [][]float32, lives []Life) {
	const few = 8
	if len(b[0]) <= few { // a smaller buffer takes less time to clear
		var terms [(Batch + 1) * few]float64
		probabilities(scores, b, lives, terms[:])
	} else {
		var terms [(Batch + 1) * (MaxEnds + 1)]float64
		probabilities(scores, b, lives, terms[:])
	}
	vec.Logs(scores)
	for i, log := range scores {
		scores[i] = 0 - float64(scale*log)
	}
}

// probabilities replaces each score by the probability of the sample's life, but at least least. terms is a buffer for the
// intervals of one more sample. The loops visit every interval, also those after a life: it is hard to predict where a life
// ends.
func probabilities(scores []float64, b [][]float32, lives []Life, terms []float64) {
	n := 0
	for i, z := range scores {
		l, b, z := lives[i], b[i], -z
		rest := terms[n:][:len(b)]
		for j, v := range b {
			rest[j] = z - float64(v)
		}
		last := &terms[n+int(l.Survived)] // the other sign if it has the event
		*last = math.Float64frombits(math.Float64bits(*last) ^ uint64(l.Event)<<63)
		n += int(l.Survived + l.Event)
	}
	vec.Sigmoids(terms[:(n+3)&^3]) // whole registers
	var upTo [64]float64           // the product of the first terms
	for i, l := range lives[:len(scores)] {
		k, product := l.Survived+l.Event, 1.0
		upTo[0] = product
		for j, p := range terms[:len(b[i])] {
			product = float64(product * p)
			upTo[(j+1)%len(upTo)] = product // an index that needs no check
		}
		scores[i], terms = max(upTo[k], least), terms[k:]
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

// Median returns the time, in days, before which half of the samples with this curve have the event, or nil if it lies
// beyond the last end. The hazard is constant within an interval.
func (c Intervals) Median(curve []float64) *float64 {
	start, before := 0.0, 1.0
	for j, s := range curve {
		if s <= 0.5 {
			share := vec.Log(0.5/before) / vec.Log(s/before)
			days := start + float64(share*(c.Ends[j]-start))
			return &days
		}
		start, before = c.Ends[j], s
	}
	return nil
}
