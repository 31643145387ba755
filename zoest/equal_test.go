package zoest

import (
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// twoClasses returns a classification problem with m samples, two classes and d features, some of which separate the
// classes.
func twoClasses(d, m int) (p problem) {
	s := rng.New(15, rng.Address{Purpose: rng.Generate, Step: uint32(d), Component: uint32(m)})
	for h := range m {
		row := make([]float64, d)
		for i := range row {
			row[i] = s.Normal() / math.Sqrt(float64(d))
		}
		row[0] = 1
		for i := range 5 {
			row[i] += 1.5 * (float64(h%2) - 0.5)
		}
		p.a, p.y = append(p.a, row), append(p.y, float64(h%2))
	}
	return p
}

// perRound is a method of estimation. In each round, it gets a path of points, from one step of gradient descent to the
// next, and returns an estimate of mu times the gradient at each point.
type perRound func(round int, path [][]float32) (vs [][]float32)

// squaredError returns the error of a method in the 40th round, summed over four runs. The error is the squared distance
// between the sum of the estimates and mu times the sum of the gradients, divided by the square of the number of points.
func squaredError(p problem, points int, mu float64, start func(seed uint64) perRound) (sum float64) {
	const rate = 2
	for seed := range uint64(4) {
		estimate, x := start(seed), make([]float32, len(p.a[0]))
		for round := range 40 {
			g, path := p.gradient(x), make([][]float32, points)
			for s := range path {
				path[s] = slices.Clone(x)
				for i := range x {
					path[s][i] -= float32(rate * g[i] * float64(s) / float64(points))
				}
			}
			vs := estimate(round, path)
			for i := range x {
				off := 0.0
				for s := range path {
					if round == 39 {
						off += (mu*p.gradient(path[s])[i] - float64(vs[s][i])) / float64(points)
					}
				}
				sum += off * off
				x[i] -= float32(rate * g[i])
			}
		}
	}
	return sum
}

// TestErrorAtEqualQueries checks that with four queries per sample and round, the error of tracking is smaller than that of
// symmetric two-point estimates u*(f(x + mu*u) - f(x - mu*u))/2.
func TestErrorAtEqualQueries(t *testing.T) {
	const mu = 0.3
	for _, size := range [][2]int{{10, 17}, {10, 55}, {39, 55}} {
		d, m := size[0], size[1]
		p := twoClasses(d, m)
		two := squaredError(p, 2, mu, func(seed uint64) perRound {
			u := make(direction, vec.SignWords(d))
			return func(round int, path [][]float32) (vs [][]float32) {
				for step, x := range path {
					v, up, down := make([]float32, d), make([]float32, d), make([]float32, d)
					for h := range m {
						s := rng.New(seed, rng.Address{Purpose: rng.Step, Round: uint32(round), Step: uint32(step), Component: uint32(h)})
						s.Fill(u)
						vec.SignPerturb(up, x, mu, u)
						vec.SignPerturb(down, x, -mu, u)
						u.add(v, 0, float32((at(p, up, h)-at(p, down, h))/2/float64(m)))
					}
					vs = append(vs, v)
				}
				return vs
			}
		})
		for _, dist := range []Distribution{Rademacher, Walsh} {
			tracked := squaredError(p, 4, mu, func(seed uint64) perRound {
				e := newTest(t, Config{Dim: d, Samples: m, Kind: Tracking, Directions: dist, Seed: seed, Window: 8})
				return func(round int, path [][]float32) (vs [][]float32) {
					e.Fill(round, path[0], mu)
					for _, x := range path {
						e.Step(x)
						drive(t, e, func(q Query) float64 { return at(p, q.Point, q.Sample) })
						vs = append(vs, slices.Clone(e.Estimate()))
					}
					return vs
				}
			})
			if tracked >= two {
				t.Errorf("d = %d, m = %d: tracking with %v directions has the error %.3g, two-point estimates %.3g", d, m, dist, tracked, two)
			}
		}
	}
}
