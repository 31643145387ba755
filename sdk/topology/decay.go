package topology

import (
	"cmp"
	"math"

	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// MixingTime returns the number of rounds that reduce disagreement to a tenth if, in the long run, each round
// multiplies disagreement by contraction, in (0, 1). The result is at least 2.
func MixingTime(contraction float64) int {
	return int(max(2, math.Ceil(math.Log(10)/-math.Log(contraction))))
}

// Schedule is the sequence of a run's rounds.
type Schedule struct {
	Rounds   int // rounds of learning, each with noise
	Mixing   int // rounds of mixing after each round of learning
	Cooldown int
	Shared   float64      // standard deviation of the noise of a pair of neighbors, in units of a node's local noise
	Partners *graph.Graph // graph whose edges share noise; nil for the network itself
}

// Decay describes how far noise moves the models of a network, and how much disagreement remains after a cool-down.
type Decay struct {
	// Step is the standard deviation of the change of a coordinate from one release to the next, divided by the
	// standard deviation of the local noise. It is the geometric mean over the rounds of learning, because the encoded
	// size of a release depends on the logarithm of the change.
	Step float64
	// Mix[j] is the ratio defined for Step, but for the release of mixing round j, counted from 0, of every block.
	Mix []float64
	// Left[c] is the disagreement between the models after the last block of mixing and c rounds of cool-down, as a
	// share of the disagreement right after the last noise.
	Left   []float64
	Needed int // cool-down rounds until Left stays below the share passed to DecayOf; -1 if DecayOf tried too few rounds
}

// decayWork bounds how many numbers DecayOf reads, except on networks so large that 100 rounds need more. Reading this
// many numbers takes a fraction of a second.
const decayWork = 3e7

// noisyNetwork is a network of models that learn nothing: only noise and their neighbors move them.
type noisyNetwork struct {
	g, partners    *graph.Graph
	width          int // numbers of a model
	a, rho, shared float64
	x, dual, flow  []float64 // model, dual and sum of flows of each node
	lap, pair      []float64 // L*x and pairwise noise of the round
	noise          rng.Stream
}

// round simulates one round and returns the mean square of the models' steps. The models get noise if noisy is set, as
// in a round of learning. With a positive weight the round is one of mixing or cool-down.
func (n *noisyNetwork) round(noisy bool, carry, weight float64) float64 {
	clear(n.lap)
	clear(n.pair)
	for _, e := range n.g.Edges() {
		i, j := e[0]*n.width, e[1]*n.width
		for c := range n.width {
			diff := n.x[i+c] - n.x[j+c]
			n.lap[i+c] += diff
			n.lap[j+c] -= diff
		}
	}
	if noisy && n.shared > 0 {
		for _, e := range n.partners.Edges() {
			i, j := e[0]*n.width, e[1]*n.width
			for c := range n.width {
				w := n.shared * n.noise.Normal()
				n.pair[i+c] += w
				n.pair[j+c] -= w
			}
		}
	}
	var sum float64
	for i, l := range n.lap {
		step := -float64(n.a * (float64(n.rho*l) + n.dual[i]))
		if weight > 0 {
			step = float64(carry*n.flow[i]) - float64(weight*l)
			n.flow[i] = step
		} else {
			n.dual[i] += float64(n.rho / 2 * l)
		}
		if noisy {
			step += n.noise.Normal() + n.pair[i]
		}
		n.x[i] += step
		sum += float64(step * step)
	}
	return sum / float64(len(n.x))
}

// DecayOf simulates a network of two or more nodes without data, in which only noise and consensus move the models; a
// is tau*beta*eta*mu. It simulates as many rounds of learning as decayWork allows, then the cool-down of the schedule,
// and then further rounds of cool-down until disagreement stays below the given share.
//
// In each round of learning a model gets local noise of variance 1 and pairwise noise: x <- x - a*p + noise with p =
// rho*L*x + dual and dual <- dual + (rho/2)*L*x (eqs. (p-lambda), (lambda-update) and (stacked-x-update) of the paper).
// Mixing and cool-down follow [graph.Graph.Chebyshev].
func DecayOf(g *graph.Graph, a, rho float64, schedule Schedule, share float64, seed uint64) Decay {
	width := 1 + 2000/g.N() // numbers of a model; about two thousand in all models keep the error at a few percent
	partners := cmp.Or(schedule.Partners, g)
	numbers := func() []float64 { return make([]float64, g.N()*width) }
	n := &noisyNetwork{g: g, partners: partners, width: width, a: a, rho: rho, shared: schedule.Shared,
		x: numbers(), dual: numbers(), flow: numbers(), lap: numbers(), pair: numbers(),
		noise: rng.New(seed, rng.Address{Purpose: rng.Noise})}
	chebyshev := g.Chebyshev()
	edges := len(g.Edges())
	if schedule.Shared > 0 && schedule.Partners != nil {
		edges += len(partners.Edges())
	}
	most := max(100, int(decayWork/float64(width*(g.N()+edges))))
	learning := min(schedule.Rounds, max(1, most/2/(1+schedule.Mixing)))
	var before float64
	logs, last := make([]float64, 1+schedule.Mixing), make([]float64, 1+schedule.Mixing)
	for k := range learning {
		for j := range logs {
			carry, weight := 0.0, 0.0
			if j > 0 {
				carry, weight = chebyshev.Mixing(j-1, schedule.Mixing)
			}
			last[j] = math.Log(max(n.round(j == 0, carry, weight), 1e-300)) / 2
			logs[j] += last[j]
			if j == 0 && k == learning-1 {
				before = disagreement(n.x, width)
			}
		}
	}
	for j := range logs {
		logs[j] += float64(last[j] * float64(schedule.Rounds-learning))
		logs[j] = math.Exp(logs[j] / float64(schedule.Rounds))
	}
	s := Decay{Step: logs[0], Mix: logs[1:], Needed: -1}
	above := -1
	for c := 0; c <= most; c++ {
		if c > 0 {
			carry, weight := chebyshev.Cooldown(c - 1)
			n.round(false, carry, weight)
		}
		s.Left = append(s.Left, disagreement(n.x, width)/before)
		if !(s.Left[c] < share) {
			above = c
		}
		// Modes oscillate as they shrink, so the share may rise again. It counts as small for good once it has been
		// small for about as many rounds as it took to become small.
		if c >= 2*above+8 {
			s.Needed = above + 1
			if c >= schedule.Cooldown {
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
