package graph

import (
	"cmp"
	"math"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Tenfold returns in how many rounds, at least two, disagreement falls to a tenth in the long run, for a contraction
// below 1.
func Tenfold(contraction float64) int {
	return int(max(2, math.Ceil(math.Log(10)/-math.Log(contraction))))
}

// Course is the schedule of a run.
type Course struct {
	Rounds   int // of learning, each with noise
	Mixing   int // after each of them
	Cooldown int
	Shared   float64 // standard deviation of the noise that two neighbors share, in units of a node's own
	Partners *Graph  // whose edges share it, in place of the network's own; nil for these

	Chebyshev *Chebyshev // what mixing and cool-down are made of; nil for the method's own steps
}

// rate returns the coefficients of the t-th round of mixing after one of learning, or of cool-down, from 0: zeros for a
// step of the method's own.
func (c Course) rate(t int, cooldown bool) (carry, weight float64) {
	switch {
	case c.Chebyshev == nil || t < 0:
		return 0, 0
	case cooldown:
		return c.Chebyshev.Cooldown(t)
	}
	return c.Chebyshev.Mixing(t, c.Mixing)
}

// Settling is what noise does to a network, and what a cool-down makes of it.
type Settling struct {
	// Step is the standard deviation of a coordinate of the difference between two successive releases, in units of the
	// noise's: the geometric mean over the rounds, since code lengths go with the logarithm.
	Step float64
	// Mix[j] is the same for the j-th release without noise after one with noise.
	Mix []float64
	// Left[c] is the share of the last noise's disagreement that is left after the mixing and c rounds of cool-down.
	Left   []float64
	Needed int // rounds after which the share stays below the one asked for; -1 if it is more than were tried
}

// settleWork bounds the numbers that Settle looks at, so that it takes a fraction of a second on all but huge networks.
const settleWork = 3e7

// Settle simulates the network on noise alone, with a = tau*beta*eta*mu: first rounds of learning, as far as time allows,
// then the course's rounds of cool-down or until disagreement is below a share, whichever is longer. Every release of
// learning has noise of variance 1 and that shared with neighbors: x <- x - a*p + noise with p = rho*L*x + dual and
// dual <- dual + (rho/2)*L*x (eqs. (p-lambda), (lambda-update) and (stacked-x-update) of the paper).
// Rounds of mixing and of cool-down are those of the course's Chebyshev, if it has one.
func (g *Graph) Settle(a, rho float64, course Course, share float64, seed uint64) Settling {
	width := 1 + 2000/g.N() // numbers of a model: two thousand in all, for an error of some percent
	x := make([]float64, g.N()*width)
	dual, lap, shared := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	noise := rng.New(seed, rng.Address{Purpose: rng.Noise})
	partners := cmp.Or(course.Partners, g)
	flow := make([]float64, len(x))                            // the sum of a node's flows
	round := func(noisy bool, carry, weight float64) float64 { // returns the mean square of the models' steps
		clear(lap)
		clear(shared)
		for _, e := range g.edges {
			i, j := e[0]*width, e[1]*width
			for c := range width {
				diff := x[i+c] - x[j+c]
				lap[i+c] += diff
				lap[j+c] -= diff
			}
		}
		if noisy && course.Shared > 0 {
			for _, e := range partners.edges {
				i, j := e[0]*width, e[1]*width
				for c := range width {
					w := course.Shared * noise.Normal()
					shared[i+c] += w
					shared[j+c] -= w
				}
			}
		}
		var sum float64
		for i, l := range lap {
			step := -float64(a * (float64(rho*l) + dual[i]))
			if weight > 0 {
				step = float64(carry*flow[i]) - float64(weight*l)
				flow[i] = step
			} else {
				dual[i] += float64(rho / 2 * l)
			}
			if noisy {
				step += noise.Normal() + shared[i]
			}
			x[i] += step
			sum += float64(step * step)
		}
		return sum / float64(len(x))
	}
	edges := len(g.edges)
	if course.Shared > 0 && course.Partners != nil {
		edges += len(partners.edges)
	}
	most := max(100, int(settleWork/float64(width*(g.N()+edges))))
	learning := min(course.Rounds, max(1, most/2/(1+course.Mixing)))
	var before float64
	logs, last := make([]float64, 1+course.Mixing), make([]float64, 1+course.Mixing)
	for k := range learning {
		for j := range logs {
			carry, weight := course.rate(j-1, false)
			last[j] = math.Log(max(round(j == 0, carry, weight), 1e-300)) / 2
			logs[j] += last[j]
			if j == 0 && k == learning-1 {
				before = disagreement(x, width)
			}
		}
	}
	for j := range logs {
		logs[j] += float64(last[j] * float64(course.Rounds-learning))
		logs[j] = math.Exp(logs[j] / float64(course.Rounds))
	}
	s := Settling{Step: logs[0], Mix: logs[1:], Needed: -1}
	above := -1
	for c := 0; c <= most; c++ {
		if c > 0 {
			carry, weight := course.rate(c-1, true)
			round(false, carry, weight)
		}
		s.Left = append(s.Left, disagreement(x, width)/before)
		if !(s.Left[c] < share) {
			above = c
		}
		// Modes swing as they shrink: what has stayed below for as long again, stays.
		if c >= 2*above+8 {
			s.Needed = above + 1
			if c >= course.Cooldown {
				break
			}
		}
	}
	return s
}

// disagreement returns the root mean square distance of models, of width numbers each, from their mean.
func disagreement(x []float64, width int) float64 {
	n := float64(len(x) / width)
	mean := make([]float64, width)
	for i, v := range x {
		mean[i%width] += v / n
	}
	var sum float64
	for i, v := range x {
		diff := v - mean[i%width]
		sum += float64(diff * diff)
	}
	return math.Sqrt(sum / n)
}
