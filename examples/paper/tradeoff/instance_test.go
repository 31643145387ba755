package tradeoff

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

func TestInstance(t *testing.T) {
	p, again, other := NewInstance(5), NewInstance(5), NewInstance(6)
	if p.a != again.a || p.y != again.y {
		t.Error("one seed gives two instances")
	}
	if p.a == other.a {
		t.Error("two seeds give one instance")
	}
	var norm float64
	for _, v := range p.X0 {
		norm += float64(v) * float64(v)
	}
	if math.Abs(math.Sqrt(norm)-startNorm) > 1e-6 {
		t.Errorf("|x_0| = %v, want %v", math.Sqrt(norm), startNorm)
	}
	ones, within, between := 0.0, 0.0, 0.0
	for i := range p.a {
		for h := range p.a[i] {
			a := &p.a[i][h]
			if n := dot(a, a); math.Abs(n-1) > 1e-12 {
				t.Fatalf("|a|^2 = %v, want 1", n)
			}
			ones += p.y[i][h]
			// Apart from their signs, which depend on the class, samples of the same client are more similar than
			// samples of different clients.
			within += math.Abs(dot(a, &p.a[i][(h+1)%Samples]))
			between += math.Abs(dot(a, &p.a[(i+1)%Clients][h]))
			if f := p.Loss(i, h, p.X0); !(f >= 0 && f <= 1) {
				t.Fatalf("loss %v", f)
			}
		}
	}
	if share := ones / (Clients * Samples); share < 0.4 || share > 0.6 {
		t.Errorf("share of class 1 is %v", share)
	}
	if within < 1.05*between {
		t.Errorf("samples of one client are as far from each other (%v) as from other clients' (%v)", within, between)
	}
}

func TestGradient(t *testing.T) {
	p := NewInstance(1)
	s := rng.New(3, rng.Address{Purpose: rng.Generate})
	for range 5 {
		var x, g [Dim]float64
		normal(&s, &x)
		square := p.Gradient(&g, &x)
		if got := dot(&g, &g); got != square {
			t.Fatalf("|g|^2 = %v, returned %v", got, square)
		}
		const step = 1.0 / 64 // float32 represents differences between such points accurately enough
		for c := range x {
			up, down := x, x
			up[c] += step
			down[c] -= step
			if want := (value(p, &up) - value(p, &down)) / (2 * step); math.Abs(g[c]-want) > 2e-5 {
				t.Errorf("coordinate %d of the gradient is %v, by differences %v", c, g[c], want)
			}
		}
	}
}

func value(p *Instance, x *[Dim]float64) (f float64) {
	point := make([]float32, Dim)
	for c, v := range x {
		point[c] = float32(v)
	}
	for i := range Clients {
		for h := range Samples {
			f += p.Loss(i, h, point) / (Clients * Samples)
		}
	}
	return f
}

// TestReadingIterates checks that the query points determine the iterate, whatever the directions are.
func TestReadingIterates(t *testing.T) {
	s := rng.New(4, rng.Address{Purpose: rng.Generate})
	for _, batch := range []int{1, 2, 5, Samples} {
		const steps = 6
		w := &watch{p: NewInstance(1), mu: 0.5, batch: batch, phi: make([][Dim]float64, steps)}
		x := make([]float32, Dim)
		w.begin(x)
		for range Samples { // the queries that fill the table are ignored
			if _, err := w.Loss(context.Background(), x, 0); err != nil {
				t.Fatal(err)
			}
		}
		for step := range steps {
			for range batch {
				query := make([]float32, Dim)
				for c := range query {
					query[c] = x[c] + 0.5
					if s.Uint32()&1 == 0 {
						query[c] = x[c] - 0.5
					}
				}
				if _, err := w.Loss(context.Background(), query, 0); err != nil {
					t.Fatal(err)
				}
			}
			for c := range x {
				if math.Abs(w.phi[step][c]-float64(x[c])) > 1e-6 {
					t.Fatalf("batch %d, step %d: coordinate %d read as %v, is %v", batch, step, c, w.phi[step][c], x[c])
				}
				x[c] += float32(0.48 * (s.Float64() - 0.5)) // less than half of mu
			}
		}
	}
}

// TestReadingRefusesToGuess checks that a step with a single direction is an error if phi moves too far for the queries
// to determine the iterate. With two directions, the queries determine the iterate.
func TestReadingRefusesToGuess(t *testing.T) {
	for _, moved := range []float32{0.3, -0.3, 0.6, -0.6} {
		w := &watch{p: NewInstance(1), mu: 0.5, batch: 1, asked: Samples + 1, phi: make([][Dim]float64, 2)}
		query := make([]float32, Dim)
		for c := range query {
			query[c] = moved + 0.5
		}
		if _, err := w.Loss(context.Background(), query, 0); !errors.Is(err, errFar) {
			t.Errorf("phi moved by %v with mu = 0.5: read as %v, %v", moved, w.phi[1][0], err)
		}
		w = &watch{p: w.p, mu: 0.5, batch: 2, asked: Samples + 2, phi: make([][Dim]float64, 2)}
		for _, sign := range []float32{1, -1} {
			for c := range query {
				query[c] = moved + sign*0.5
			}
			if _, err := w.Loss(context.Background(), query, 0); err != nil {
				t.Fatal(err)
			}
		}
		if math.Abs(w.phi[1][3]-float64(moved)) > 1e-6 {
			t.Errorf("phi moved by %v, read as %v", moved, w.phi[1][3])
		}
	}
}

var _ zoest.Oracle = (*watch)(nil)
