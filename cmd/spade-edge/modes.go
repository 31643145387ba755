package main

import (
	"errors"
	"math"

	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// modes is what becomes of the network's disagreement, one mode of the Laplacian at a time, when every release has
// independent noise in it and nothing else drives the clients apart. A mode with eigenvalue lambda has the state
// (x, a*dual), and
//
//	(x, a*dual) <- [[1-g, -1], [g/2, 1]] (x, a*dual) + (noise, 0),   g = a*rho*lambda,
//
// which is eq. (modal-dynamics) of the paper in other units. The eigenvalues are not known, only the first and the last: what is
// left of disagreement is bounded by what is left of the mode of which most is, over a grid of values between these two. A
// client's distance from the mean is made of all modes, in shares of its own, so that the bound holds for the root mean
// square of every single client's as well.
type modes struct {
	gains []float64 // g, ascending
	slow  float64   // by how much the slowest mode shrinks in a round
	worst []mode    // after the last round of learning, in the order of gains
}

// mode is the covariance of a mode's state, in units of the noise's variance.
type mode struct{ xx, xy, yy float64 }

// mat is a 2x2 matrix.
type mat [2][2]float64

func (m mat) times(n mat) mat {
	var p mat
	for i := range p {
		for j := range p[i] {
			p[i][j] = float64(m[i][0]*n[0][j]) + float64(m[i][1]*n[1][j])
		}
	}
	return p
}

// of returns M S M'.
func (m mat) of(s mode) mode {
	p := m.times(mat{{s.xx, s.xy}, {s.xy, s.yy}}).times(mat{{m[0][0], m[1][0]}, {m[0][1], m[1][1]}})
	return mode{p[0][0], p[0][1], p[1][1]}
}

func modeMatrix(g float64) mat { return mat{{1 - g, -1}, {g / 2, 1}} }

// after returns the covariance after so many noised releases, sum over r below rounds of M^r e e' M^r'. It doubles the
// number of rounds for each of its bits.
func after(g float64, rounds int) mode {
	one := modeMatrix(g)
	power, s := mat{{1, 0}, {0, 1}}, mode{}
	for bit := 62; bit >= 0; bit-- {
		t := power.of(s)
		s = mode{s.xx + t.xx, s.xy + t.xy, s.yy + t.yy}
		power = power.times(power)
		if int64(rounds)>>bit&1 == 1 {
			s = one.of(s)
			s.xx++
			power = power.times(one)
		}
	}
	return s
}

// gridSize is how many values of g stand for all modes.
const gridSize = 65

// newModes works out the disagreement after so many rounds of learning. The gain has to be stable, and the graph to have more
// than one node.
func newModes(g *graph.Graph, a, rho float64, rounds int) *modes {
	low, high := a*rho*g.Lambda2(), a*rho*g.LambdaMax()
	m := &modes{slow: contraction(g, a, rho)}
	for i := range gridSize {
		m.gains = append(m.gains, low*math.Pow(high/low, float64(i)/(gridSize-1)))
	}
	for _, gain := range m.gains {
		m.worst = append(m.worst, after(gain, rounds))
	}
	return m
}

// contraction returns by which factor the slowest mode shrinks in a round, or the fastest growing one grows.
func contraction(g *graph.Graph, a, rho float64) float64 {
	if g.N() == 1 {
		return 0
	}
	return max(graph.Contraction(a, rho, g.Lambda2()), graph.Contraction(a, rho, g.LambdaMax()))
}

// tenfold returns in how many rounds disagreement falls to a tenth in the long run. Two at least: M is not normal, and what
// vanishes fastest does so after two.
func tenfold(contraction float64) int {
	return int(max(2, math.Ceil(math.Log(10)/-math.Log(contraction))))
}

// maxCooldown is how many rounds are looked at.
const maxCooldown = 1 << 20

// cool returns what is left of the disagreement, as a share of that before the cool-down: share[c] after c rounds of it,
// for c up to last.
func (m *modes) cool(last int) (share []float64) {
	s := append([]mode(nil), m.worst...)
	share = append(share, 1)
	for range last {
		most := 0.0
		for i, g := range m.gains {
			s[i] = modeMatrix(g).of(s[i])
			most = max(most, s[i].xx/m.worst[i].xx)
		}
		share = append(share, math.Sqrt(most))
	}
	return share
}

// roundsTo returns how many rounds of cool-down bring disagreement below a share, for good.
func (m *modes) roundsTo(share float64) (int, error) {
	// A mode swings as it shrinks: below the share for half a swing of the slowest one, and it stays there.
	swing := 4
	if cos := math.Sqrt(1 - m.gains[0]/2); m.gains[0] < 2 && cos < 1 {
		swing += int(math.Ceil(math.Pi / math.Acos(cos)))
	}
	for last := 64; last <= maxCooldown && math.Pow(m.slow, maxCooldown) < share; last *= 4 {
		left := m.cool(last)
		need := last
		for need > 0 && left[need] < share {
			need--
		}
		if need+1+swing <= last {
			return need + 1, nil
		}
	}
	return 0, errors.New("more than a million rounds of cool-down")
}

// stepDeviation returns the standard deviation of a coordinate of the difference between two successive releases, in units
// of the noise's: what has to be told of a release to who knows the one before. It runs the network on noise alone, and
// takes the geometric mean over the rounds, since the length of a code goes with the logarithm. After the first rounds
// nothing changes any more.
func stepDeviation(g *graph.Graph, a, rho float64, rounds int, seed uint64) float64 {
	n := g.N()
	width := 1 + 2000/n // coordinates
	x, dual, lap := make([]float64, n*width), make([]float64, n*width), make([]float64, n*width)
	s := rng.New(seed, rng.Address{Purpose: rng.Noise})
	first := min(rounds, 64)
	var last, logs float64
	for range first {
		clear(lap)
		for _, e := range g.Edges() {
			for c := range width {
				i, j := e[0]*width+c, e[1]*width+c
				diff := x[i] - x[j]
				lap[i] += diff
				lap[j] -= diff
			}
		}
		var sum float64
		for i := range x {
			step := s.Normal() - float64(a*(float64(rho*lap[i])+dual[i]))
			x[i] += step
			dual[i] += float64(rho / 2 * lap[i])
			sum += float64(step * step)
		}
		last = math.Log(sum/float64(len(x))) / 2
		logs += last
	}
	return math.Exp((logs + float64(last*float64(rounds-first))) / float64(rounds))
}
