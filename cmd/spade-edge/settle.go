package main

import (
	"math"

	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// contraction returns by which factor the slowest mode of disagreement shrinks in a round, or the fastest growing one grows.
func contraction(g *graph.Graph, a, rho float64) float64 {
	if g.N() == 1 {
		return 0
	}
	return max(graph.Contraction(a, rho, g.Lambda2()), graph.Contraction(a, rho, g.LambdaMax()))
}

// tenfold returns in how many rounds disagreement falls to a tenth in the long run. Two at least: M_lambda is not normal, and
// what vanishes fastest does so after two.
func tenfold(contraction float64) int {
	return int(max(2, math.Ceil(math.Log(10)/-math.Log(contraction))))
}

// noisy is a network on noise alone: models of several numbers that nothing drives apart but independent noise of variance 1 in
// every release, and that the method brings together as it would any other, x <- x - a*p + noise with p = rho*L*x + dual and dual
// <- dual + (rho/2)*L*x (eqs. (p-lambda), (lambda-update) and (stacked-x-update) of the paper).
type noisy struct {
	g            *graph.Graph
	a, rho       float64
	width        int // numbers of a model: two thousand in all, for an error of some percent
	x, dual, lap []float64
	s            rng.Stream
}

func newNoisy(g *graph.Graph, a, rho float64, seed uint64) *noisy {
	width := 1 + 2000/g.N()
	n := g.N() * width
	return &noisy{g: g, a: a, rho: rho, width: width, x: make([]float64, n), dual: make([]float64, n), lap: make([]float64, n),
		s: rng.New(seed, rng.Address{Purpose: rng.Noise})}
}

// round makes a round, with noise or as in a cool-down, and returns the mean square of the models' steps.
func (n *noisy) round(noise bool) float64 {
	clear(n.lap)
	for _, e := range n.g.Edges() {
		i, j := e[0]*n.width, e[1]*n.width
		for c := range n.width {
			diff := n.x[i+c] - n.x[j+c]
			n.lap[i+c] += diff
			n.lap[j+c] -= diff
		}
	}
	var sum float64
	for i, l := range n.lap {
		step := -float64(n.a * (float64(n.rho*l) + n.dual[i]))
		if noise {
			step += n.s.Normal()
		}
		n.x[i] += step
		n.dual[i] += float64(n.rho / 2 * l)
		sum += float64(step * step)
	}
	return sum / float64(len(n.x))
}

// disagreement returns the root mean square distance of the models from their mean.
func (n *noisy) disagreement() float64 {
	mean := make([]float64, n.width)
	for i, v := range n.x {
		mean[i%n.width] += v / float64(n.g.N())
	}
	var sum float64
	for i, v := range n.x {
		diff := v - mean[i%n.width]
		sum += float64(diff * diff)
	}
	return math.Sqrt(sum / float64(n.g.N()))
}

// settling is what noise does to a network, and what a cool-down makes of it.
type settling struct {
	// step is the standard deviation of a coordinate of the difference between two successive releases, in units of the
	// noise's: what has to be told of a release to who knows the one before. It is the geometric mean over the rounds, as the
	// length of a code goes with the logarithm.
	step float64
	// left[c] is the share of disagreement that is left after c rounds of cool-down, and needed the number of them that brings
	// it below the share asked for, for good; -1 if it is more than were tried.
	left   []float64
	needed int
}

// settleWork bounds the numbers that settle looks at, so that it takes a fraction of a second on all but huge networks.
const settleWork = 3e7

// settle runs the network for some rounds of learning, at most as many as are needed for nothing to change any more or as
// there is time for, and then for cooldown rounds or until disagreement is below a share, whichever is longer.
func settle(g *graph.Graph, a, rho float64, rounds, cooldown int, share float64, seed uint64) settling {
	n := newNoisy(g, a, rho, seed)
	most := max(100, int(settleWork/float64(n.width*(g.N()+len(g.Edges())))))
	learning := min(rounds, most/2)
	var logs, last float64
	for range learning {
		last = math.Log(n.round(true)) / 2
		logs += last
	}
	logs += float64(last * float64(rounds-learning))
	s := settling{step: math.Exp(logs / float64(rounds)), left: []float64{1}, needed: -1}
	before, above := n.disagreement(), 0
	for c := 1; c <= most; c++ {
		n.round(false)
		s.left = append(s.left, n.disagreement()/before)
		if !(s.left[c] < share) {
			above = c
		}
		// Modes swing as they shrink: what has stayed below for as long again, stays.
		if c >= 2*above+8 {
			s.needed = above + 1
			if c >= cooldown {
				break
			}
		}
	}
	return s
}
