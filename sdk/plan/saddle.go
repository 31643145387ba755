package plan

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/zoest"
)

const (
	saddleSamples  = 4  // number of samples whose losses are compared
	saddleDescents = 16 // number of searches for parameters that matter only together
	saddlePatience = 5 * time.Second
)

// saddle returns [PreflightReport.Saddle], or 0 if it found no such set in time. Networks with hidden layers have such
// sets, because the weights of different layers are multiplied.
func saddle(ctx context.Context, oracle sdk.Oracle, dim, samples int) int {
	ctx, cancel := context.WithTimeout(ctx, saddlePatience)
	defer cancel()
	p := &saddleProbe{ctx: ctx, oracle: oracle, x: make([]float32, dim), at: make([]float32, dim), random: rand.New(rand.NewPCG(1, 2))}
	return p.search(samples)
}

type saddleProbe struct {
	ctx    context.Context
	oracle sdk.Oracle
	x      []float32 // all zeros, except during a call of the method matters
	at     []float32 // value to which the method matters moves each parameter
	first  []float64 // losses at zero, NaN for a sample without a loss
	random *rand.Rand
	failed bool // the oracle failed
}

func (p *saddleProbe) loss(sample int) float64 {
	losses, err := ask(p.ctx, p.oracle, []zoest.Query{{Point: slices.Clone(p.x), Sample: sample}}, 0) // a late oracle may keep the clone
	if p.failed = p.failed || err != nil; losses == nil {
		return math.NaN()
	}
	return losses[0]
}

// search returns the size of a set of parameters that changes a loss although neither half of the set does, or 0 if it
// finds no such set. It begins with all parameters and continues with either half as long as that half changes a loss.
// If a single parameter remains, that parameter alone changes a loss, so search starts again without it.
func (p *saddleProbe) search(samples int) int {
	var all []int
	for j := range p.at {
		all = append(all, j)
		p.at[j] = 0.5 + p.random.Float32()
		if p.random.IntN(2) == 0 {
			p.at[j] = -p.at[j]
		}
	}
	for h := range min(samples, saddleSamples) {
		p.first = append(p.first, p.loss(h))
	}
	p.failed = false // a sample without a loss is skipped, not a failure
	for range saddleDescents {
		set := slices.Clone(all)
		if !p.matters(set) {
			return 0
		}
		for len(set) > 1 {
			p.random.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
			a, b := set[:len(set)/2], set[len(set)/2:]
			switch {
			case p.matters(a):
				set = a
			case p.matters(b):
				set = b
			case p.failed:
				return 0
			default:
				return len(set)
			}
		}
		all = slices.DeleteFunc(all, func(j int) bool { return j == set[0] })
	}
	return 0
}

// matters reports whether moving the parameters in set from zero to p.at changes any loss.
func (p *saddleProbe) matters(set []int) bool {
	for _, j := range set {
		p.x[j] = p.at[j]
	}
	defer clear(p.x)
	for h, first := range p.first {
		if zoest.Usable(first) && !p.failed && p.loss(h) != first {
			return !p.failed
		}
	}
	return false
}
