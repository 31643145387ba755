package zoest

import (
	"math"
	"os"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// brief reports whether tests make fewer draws, because SPADE_LONG is not set or the tests run in short mode. Even
// with fewer draws, each test can detect its mutations.
func brief() bool { return testing.Short() || os.Getenv("SPADE_LONG") == "" }

// logit is a classification problem with m samples, two classes and d features. Its loss is f_h(x) = (s(a_h.x) -
// y_h)^2, where s is the logistic function.
type logit struct {
	a [][]float32
	y []float64
}

func newLogit(d, m int) logit {
	s := rng.New(15, rng.Address{Purpose: rng.Generate, Step: uint32(d), Component: uint32(m)})
	p := logit{y: make([]float64, m)}
	for h := range m {
		row := make([]float32, d)
		for i := range row {
			row[i] = float32(s.Normal() / math.Sqrt(float64(d)))
		}
		row[0], p.y[h] = 1, float64(h%2)
		for i := range min(d, 5) { // the features that separate the classes
			row[i] += float32(1.5 * (p.y[h] - 0.5))
		}
		p.a = append(p.a, row)
	}
	return p
}

func (p logit) loss(x []float32, h int) float64 {
	r := 1/(1+vec.Exp(-vec.Dot(x, p.a[h]))) - p.y[h]
	return r * r
}

func (p logit) gradient(x []float32) []float64 {
	g := make([]float64, len(x))
	for h, a := range p.a {
		s := 1 / (1 + vec.Exp(-vec.Dot(x, a)))
		for i := range g {
			g[i] += 2 * (s - p.y[h]) * s * (1 - s) * float64(a[i]) / float64(len(p.a))
		}
	}
	return g
}

// equal is an estimation method. For one round, it makes a step with all samples at each point of a path, and returns
// each step's estimate of mu times the gradient.
type equal func(round int, path [][]float32) [][]float32

// relativeError returns the relative squared error of a method in each of the given rounds, averaged over several
// paths. The error is the squared distance between the mean estimate of a round and mu times the mean gradient, divided
// by the squared length of mu times the mean gradient. The paths follow gradient descent and are the same for all
// methods.
func relativeError(p logit, d, steps int, mu float64, start func(seed uint64) equal, rounds []int) []float64 {
	const rate, queries = 0.5, 4
	paths := min(12, 8000/d)
	out := make([]float64, len(rounds))
	for seed := range uint64(paths) {
		estimate, x := start(seed), make([]float32, d)
		for round := range rounds[len(rounds)-1] {
			g := p.gradient(x)
			path := [][]float32{}
			for s := range steps {
				y := make([]float32, d)
				for i := range y {
					y[i] = x[i] - float32(rate*queries*g[i]*float64(s)/float64(steps))
				}
				path = append(path, y)
			}
			vs := estimate(round, path)
			for k, asked := range rounds {
				if asked != round+1 {
					continue
				}
				var off, size float64
				want := make([]float64, d)
				for _, y := range path {
					for i, gi := range p.gradient(y) {
						want[i] += mu * gi / float64(steps)
					}
				}
				for i, w := range want {
					for _, v := range vs {
						w -= float64(v[i]) / float64(steps)
					}
					off += w * w
					size += want[i] * want[i]
				}
				out[k] += off / size / float64(paths)
			}
			for i := range x {
				x[i] -= float32(rate * queries * g[i])
			}
		}
	}
	return out
}

// TestErrorAtEqualQueries checks that with four queries per sample and round, the error of tracking in the 40th round
// is smaller than that of symmetric two-point estimates u*(f(x + mu*u) - f(x - mu*u))/2. It logs the relative squared
// error of v, summed over the steps of a round, for each distribution of directions.
//
//	SPADE_LONG=1 go test -run EqualQueries -v ./zoest
func TestErrorAtEqualQueries(t *testing.T) {
	const mu, queries = 0.3, 4
	rounds := []int{1, 40}
	for _, d := range []int{10, 39, 1000} {
		for _, m := range []int{17, 55, 160} {
			if d == 1000 && brief() {
				continue
			}
			p := newLogit(d, m)
			two := relativeError(p, d, queries/2, mu, func(seed uint64) equal {
				u := make(direction, vec.SignWords(d))
				return func(round int, path [][]float32) (vs [][]float32) {
					for step, x := range path {
						v, y := make([]float32, d), make([]float32, d)
						for h := range m {
							s := rng.New(seed, rng.Address{Purpose: rng.Step, Round: uint32(round), Step: uint32(step), Component: uint32(h)})
							s.Fill(u)
							copy(y, x)
							u.add(y, 0, mu)
							up := p.loss(y, h)
							copy(y, x)
							u.add(y, 0, -mu)
							u.add(v, 0, float32((up-p.loss(y, h))/2/float64(m)))
						}
						vs = append(vs, v)
					}
					return vs
				}
			}, rounds)
			t.Logf("d = %4d, m = %3d: two-point  %8.3f %8.3f", d, m, two[0], two[1])
			for _, dist := range []Distribution{Rademacher, Walsh} {
				errs := relativeError(p, d, queries, mu, func(seed uint64) equal {
					e := newTest(t, Config{Dim: d, Samples: m, Kind: Tracking, Directions: dist, Seed: seed, Window: 8})
					return func(round int, path [][]float32) (vs [][]float32) {
						e.Fill(round, path[0], mu)
						for _, x := range path {
							e.Step(x)
							drive(t, e, func(q Query) float64 { return p.loss(q.Point, q.Sample) })
							vs = append(vs, slices.Clone(e.Estimate()))
						}
						return vs
					}
				}, rounds)
				if errs[1] >= two[1] {
					t.Errorf("d = %d, m = %d: tracking with %v directions is not ahead of two-point", d, m, dist)
				}
				t.Logf("d = %4d, m = %3d: %-10v %8.3f %8.3f", d, m, dist, errs[0], errs[1])
			}
		}
	}
}
