package method

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/topology"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// along returns the mean loss at x + mu u of the n samples that client i draws for step t of round k.
func (w tinyWorld) along(x, u vector, mu float64, n, i, k, t int) (mean float64) {
	for _, h := range w.samples(n, i, k, t) {
		mean += w.loss(i, h, x.plus(mu, u)) / float64(n)
	}
	return mean
}

func (w tinyWorld) alongBoth(x, u vector, mu float64, n, i, k, t int) float64 {
	return (w.along(x, u, mu, n, i, k, t) - w.along(x, u, -mu, n, i, k, t)) / (2 * mu)
}

func referenceKSeed(w tinyWorld, s Setting) (all []vector) {
	x, tau, clients := w.start(), int(s["tau"]), float64(len(w.Clients))
	sums := map[int]float64{} // sums of the server, by seed
	for k := range w.Rounds {
		for i := range w.Clients {
			phi := x
			draw := rng.New(w.Seed, rng.Address{Purpose: rng.Batch, Client: uint32(i), Round: uint32(k), Component: 1})
			for t := range tau {
				j := draw.IntN(pool)
				u := w.directions(rng.Step, 0, j, 0)()
				slope := w.alongBoth(phi, u, s["mu"], w.budget(i)/(2*tau), i, k, t)
				phi = phi.plus(-s["eta"]*slope, u)
				sums[j] += slope / clients
			}
		}
		x = w.start()
		for j, sum := range sums {
			x = x.plus(-s["eta"]*sum, w.directions(rng.Step, 0, j, 0)())
		}
		all = append(all, x)
	}
	return all
}

func referenceDeComFL(w tinyWorld, s Setting) (all []vector) {
	x, tau, dirs := w.start(), int(s["tau"]), int(s["dirs"])
	for k := range w.Rounds {
		next := x
		for i := range w.Clients {
			phi, n := x, w.budget(i)/(tau*(1+dirs))
			for t := range tau {
				draw, at := w.directions(rng.Step, 0, k, t), phi
				for range dirs {
					u := draw()
					slope := (w.along(at, u, s["mu"], n, i, k, t) - w.along(at, u, 0, n, i, k, t)) / s["mu"]
					phi = phi.plus(-s["eta"]*slope/float64(dirs), u)
					next = next.plus(-s["eta"]*slope/float64(dirs*len(w.Clients)), u)
				}
			}
		}
		x = next
		all = append(all, x)
	}
	return all
}

func referenceSeedFlood(w tinyWorld, s Setting) (all []vector) {
	x := w.start()
	for k := range w.Rounds {
		next := x
		for i := range w.Clients {
			u := w.directions(rng.Step, i, k, 0)()
			slope := w.alongBoth(x, u, s["mu"], w.budget(i)/2, i, k, 0)
			next = next.plus(-s["eta"]*slope/float64(len(w.Clients)), u)
		}
		x = next
		all = append(all, x)
	}
	return all
}

// TestSeedsAgainstReference checks that the methods that send only scalars follow their equations in float64, and that
// they correctly count the losses queried and the numbers sent.
func TestSeedsAgainstReference(t *testing.T) {
	// hops is the number of messages sent when each client floods one message through the graph 0-1, 1-2, 2-3, 3-4,
	// 1-4. Each parenthesized term belongs to one client.
	hops := int64(1+3+2+2) + (3 + 1 + 2 + 2) + (2 + 3 + 2) + (2 + 2 + 2 + 3) + (2 + 3 + 2)
	for _, c := range []struct {
		m               Method
		s               Setting
		want            func(w tinyWorld, s Setting) []vector
		scalars, served int64
		losses          int // asked for in a round, for each sample of a batch
	}{
		{FedKSeed{}, Setting{"tau": 3, "eta": 0.3, "mu": 0.1}, referenceKSeed, 4 * 5 * (6 + pool), 4 * 5 * pool, 6},
		{DeComFL{}, Setting{"tau": 2, "dirs": 3, "eta": 0.3, "mu": 0.1}, referenceDeComFL, 4 * 5 * 3 * 6, 4 * 5 * 2 * 6, 8},
		{SeedFlood{}, Setting{"eta": 0.3, "mu": 0.1}, referenceSeedFlood, 4 * 2 * hops, 0, 2},
	} {
		w := tiny(t)
		want := c.want(w, c.s)
		round := 0
		spent, err := c.m.Run(context.Background(), w.World, c.s, func(_ int, models [][]float32) error {
			for j, v := range models[0] {
				if off := math.Abs(float64(v) - want[round][j]); len(models) != 1 || !(off < 1e-5) {
					t.Errorf("%s, round %d: %v, want %v", c.m.Name(), round+1, models, want[round])
					break
				}
			}
			round++
			return nil
		})
		if err != nil || round != w.Rounds {
			t.Fatalf("%s: %d rounds, %v", c.m.Name(), round, err)
		}
		losses := int64(0)
		for i := range w.Clients {
			losses += int64(w.Rounds * (w.budget(i) / c.losses * c.losses))
		}
		if spent != (Spent{Queries: losses, Scalars: c.scalars, Served: c.served}) {
			t.Errorf("%s: spent %+v, want %d losses, %d numbers, %d of the server", c.m.Name(), spent, losses, c.scalars, c.served)
		}
		w.Privacy = &Privacy{Epsilon: 4, Delta: 1e-5}
		if _, err := c.m.Run(context.Background(), w.World, c.s, nil); err == nil || !strings.Contains(err.Error(), "no noise") {
			t.Errorf("%s with privacy: %v", c.m.Name(), err)
		}
	}
}

// TestSeedsSpace checks that every point of a method's space stays within the budget.
func TestSeedsSpace(t *testing.T) {
	for _, m := range []Method{FedKSeed{}, DeComFL{}, SeedFlood{}} {
		for _, queries := range []float64{0, 1, 2.5, 30} {
			w := tiny(t)
			w.Queries, w.Rounds = queries, 1
			for _, share := range []float64{0, 1} {
				s := Setting{}
				for _, p := range m.Space(w.World) {
					s[p.Name] = p.At(share)
				}
				if _, err := m.Run(context.Background(), w.World, s, func(int, [][]float32) error { return nil }); err != nil {
					t.Errorf("%s, budget %v, %v: %v", m.Name(), queries, s, err)
				}
			}
		}
		w := tiny(t)
		w.Queries = 0.1
		s := Setting{"eta": 0.1, "mu": 0.1, "tau": 1, "dirs": 1}
		for name := range s {
			if _, known := with(m, w.World, nil)[name]; !known {
				delete(s, name)
			}
		}
		if _, err := m.Run(context.Background(), w.World, s, nil); err == nil || !strings.Contains(err.Error(), "may query only 0") {
			t.Errorf("%s without a budget: %v", m.Name(), err)
		}
	}
}

func TestFloods(t *testing.T) {
	for name, c := range map[string]struct {
		n    int
		want int64
	}{"path": {3, 3 + 2 + 3}, "complete": {8, 8 * 7}, "ring": {5, 5 * 6}} {
		g, err := topology.Parse(name, c.n, 0)
		if err != nil {
			t.Fatal(err)
		}
		w := &World{Graph: g, Clients: make([]Client, c.n)}
		if got := w.floods(); got != c.want {
			t.Errorf("%s of %d: %d, want %d", name, c.n, got, c.want)
		}
	}
}
