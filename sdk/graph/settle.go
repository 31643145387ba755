package graph

import (
	"math"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Tenfold returns in how many rounds disagreement falls to a tenth in the long run, for a contraction below 1. That is
// two at least: M_lambda is not normal, and what vanishes fastest does so after two.
func Tenfold(contraction float64) int {
	return int(max(2, math.Ceil(math.Log(10)/-math.Log(contraction))))
}

// Settling is what noise does to a network, and what a cool-down makes of it.
type Settling struct {
	// Step is the standard deviation of a coordinate of the difference between two successive releases, in units of the
	// noise's. It is the geometric mean over the rounds, as the length of a code goes with the logarithm.
	Step float64
	// Left[c] is the share of disagreement that is left after c rounds of cool-down.
	Left []float64
	// Needed is the number of rounds after which the share stays below the one asked for; -1 if it is more than were
	// tried.
	Needed int
}

// settleWork bounds the numbers that Settle looks at, so that it takes a fraction of a second on all but huge networks.
const settleWork = 3e7

// Settle simulates the network on noise alone, with a = tau*beta*eta*mu: for some rounds of learning, at most as many
// as are needed for nothing to change any more or as there is time for, and then for cooldown rounds or until
// disagreement is below a share, whichever is longer. Independent noise of variance 1 in every release drives the
// models apart, and the method brings them together, x <- x - a*p + noise with p = rho*L*x + dual and
// dual <- dual + (rho/2)*L*x (eqs. (p-lambda), (lambda-update) and (stacked-x-update) of the paper).
func (g *Graph) Settle(a, rho float64, rounds, cooldown int, share float64, seed uint64) Settling {
	width := 1 + 2000/g.N() // numbers of a model: two thousand in all, for an error of some percent
	x := make([]float64, g.N()*width)
	dual, lap := make([]float64, len(x)), make([]float64, len(x))
	noise := rng.New(seed, rng.Address{Purpose: rng.Noise})
	round := func(noisy bool) float64 { // returns the mean square of the models' steps
		clear(lap)
		for _, e := range g.edges {
			i, j := e[0]*width, e[1]*width
			for c := range width {
				diff := x[i+c] - x[j+c]
				lap[i+c] += diff
				lap[j+c] -= diff
			}
		}
		var sum float64
		for i, l := range lap {
			step := -float64(a * (float64(rho*l) + dual[i]))
			if noisy {
				step += noise.Normal()
			}
			x[i] += step
			dual[i] += float64(rho / 2 * l)
			sum += float64(step * step)
		}
		return sum / float64(len(x))
	}
	disagreement := func() float64 { // the root mean square distance of the models from their mean
		mean := make([]float64, width)
		for i, v := range x {
			mean[i%width] += v / float64(g.N())
		}
		var sum float64
		for i, v := range x {
			diff := v - mean[i%width]
			sum += float64(diff * diff)
		}
		return math.Sqrt(sum / float64(g.N()))
	}
	most := max(100, int(settleWork/float64(width*(g.N()+len(g.edges)))))
	learning := min(rounds, most/2)
	var logs, last float64
	for range learning {
		last = math.Log(round(true)) / 2
		logs += last
	}
	logs += float64(last * float64(rounds-learning))
	s := Settling{Step: math.Exp(logs / float64(rounds)), Left: []float64{1}, Needed: -1}
	before, above := disagreement(), 0
	for c := 1; c <= most; c++ {
		round(false)
		s.Left = append(s.Left, disagreement()/before)
		if !(s.Left[c] < share) {
			above = c
		}
		// Modes swing as they shrink: what has stayed below for as long again, stays.
		if c >= 2*above+8 {
			s.Needed = above + 1
			if c >= cooldown {
				break
			}
		}
	}
	return s
}
