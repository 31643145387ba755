package method

import (
	"context"
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/budget"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

type vector []float64

func (v vector) plus(a float64, w vector) vector {
	out := make(vector, len(v))
	for i := range v {
		out[i] = v[i] + a*w[i]
	}
	return out
}

func (v vector) clipped(r float64) vector {
	n := 0.0
	for _, x := range v {
		n += x * x
	}
	return make(vector, len(v)).plus(min(1, r/math.Sqrt(n)), v)
}

// tinyWorld has five clients of different sizes on a graph that is neither regular nor complete. Its losses are bounded
// and nonconvex: q/(1+q) with q = |x-c|^2/2, where the center c differs between samples.
type tinyWorld struct {
	*World
	centers [][]vector
}

func tiny(t *testing.T) tinyWorld {
	g, err := graph.New(5, [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {1, 4}})
	if err != nil {
		t.Fatal(err)
	}
	w := tinyWorld{World: &World{Graph: g, Dim: 3, X0: []float32{0.5, -0.25, 1}, Rounds: 4, Seed: 11, Queries: 4}}
	s := rng.New(5, rng.Address{Purpose: rng.Generate})
	for i, m := range []int{8, 5, 9, 6, 7} {
		centers := make([]vector, m)
		for h := range centers {
			centers[h] = make(vector, w.Dim)
			for c := range centers[h] {
				centers[h][c] = s.Normal() + float64(i)/2
			}
		}
		w.centers = append(w.centers, centers)
		w.Clients = append(w.Clients,
			Client{Samples: m, Oracle: zoest.OracleFunc(func(_ context.Context, x []float32, h int) (float64, error) {
				p := make(vector, len(x))
				for c := range x {
					p[c] = float64(x[c])
				}
				return w.loss(i, h, p), nil
			})})
	}
	return w
}

func (w tinyWorld) loss(i, h int, x vector) float64 {
	q := 0.0
	for c := range x {
		q += (x[c] - w.centers[i][h][c]) * (x[c] - w.centers[i][h][c]) / 2
	}
	return q / (1 + q)
}

func (w tinyWorld) start() vector {
	x := make(vector, w.Dim)
	for c := range x {
		x[c] = float64(w.X0[c])
	}
	return x
}

func (w tinyWorld) starts() []vector {
	x := make([]vector, len(w.Clients))
	for i := range x {
		x[i] = w.start()
	}
	return x
}

// directions returns a generator of Rademacher vectors for one purpose and step. Each vector is drawn from one random
// word, in which a set bit means -1.
func (w tinyWorld) directions(p rng.Purpose, i, k, t int) func() vector {
	s := rng.New(w.Seed, rng.Address{Purpose: p, Client: uint32(i), Round: uint32(k), Step: uint32(t)})
	return func() vector {
		word := s.Uint64()
		u := make(vector, w.Dim)
		for c := range u {
			u[c] = 1 - 2*float64(word>>c&1)
		}
		return u
	}
}

// samples lists the n samples of client i for a step: all samples in order, as often as n allows, and then the first
// samples of a fresh shuffle.
func (w tinyWorld) samples(n, i, k, t int) []int {
	m := w.Clients[i].Samples
	var list []int
	for len(list)+m <= n {
		for h := range m {
			list = append(list, h)
		}
	}
	deck := make([]int, m)
	for h := range deck {
		deck[h] = h
	}
	s := rng.New(w.Seed, rng.Address{Purpose: rng.Batch, Client: uint32(i), Round: uint32(k), Step: uint32(t)})
	for h := 0; len(list) < n; h++ {
		j := h + s.IntN(m-h)
		deck[h], deck[j] = deck[j], deck[h]
		list = append(list, deck[h])
	}
	return list
}

func (w tinyWorld) twoPoint(i, h int, x, u vector, mu float64) vector {
	slope := (w.loss(i, h, x.plus(mu, u)) - w.loss(i, h, x.plus(-mu, u))) / (2 * mu)
	return make(vector, w.Dim).plus(slope, u)
}

// several returns the mean of two-point estimates of a sample's gradient. Each call of next returns the direction of an
// estimate, and dirs is the number of estimates.
func (w tinyWorld) several(i, h int, x vector, next func() vector, dirs int, mu float64) vector {
	g := make(vector, w.Dim)
	for range dirs {
		g = g.plus(1/float64(dirs), w.twoPoint(i, h, x, next(), mu))
	}
	return g
}

func (w tinyWorld) stochastic(n, i, k, t int, x vector, mu float64) vector {
	g, next := make(vector, w.Dim), w.directions(rng.Step, i, k, t)
	for _, h := range w.samples(n, i, k, t) {
		g = g.plus(1/float64(n), w.twoPoint(i, h, x, next(), mu))
	}
	return g
}

func (w tinyWorld) noise(i, k, t int, sigma float64) vector {
	s := rng.New(w.Seed, rng.Address{Purpose: rng.Noise, Client: uint32(i), Round: uint32(k), Step: uint32(t)})
	v := make(vector, w.Dim)
	for c := range v {
		v[c] = sigma * s.Normal()
	}
	return v
}

// sigma returns the standard deviation of the noise that dpmech requires for releases of sensitivity 2*radius, or 0 in
// a world without privacy.
func (w tinyWorld) sigma(t *testing.T, radius float64, releases int) float64 {
	if w.Privacy == nil {
		return 0
	}
	s, err := budget.SigmaFor(radius, releases, w.Privacy.Epsilon, w.Privacy.Delta, dpmech.GDP)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w tinyWorld) protect(v vector, clip, sigma float64, i, k, t int) vector {
	if w.Privacy == nil {
		return v
	}
	return v.clipped(clip).plus(1, w.noise(i, k, t, sigma))
}

func (w tinyWorld) budget(i int) int { return int(w.Queries) * w.Clients[i].Samples }
