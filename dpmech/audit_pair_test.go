package dpmech

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
)

// This file audits a network with pairwise noise, as a test of the theorem in part 3 of PROOF.md.

// rest is the graph of the honest members. Its field gone is the number of the only colluder, whose edges are removed,
// or -1 if all n members are honest.
type rest struct {
	n     int
	edges [][2]int
	gone  int
}

// direction returns the solution a of (I + ratio^2 L) a = e_i on the graph g. The direction a is the one that reveals
// the most about client i. 1/a_i is the conductance from i to ground: the variance, in units of sigma^2, of the noise
// that effectively protects i.
func (g rest) direction(i int, ratio float64) []float64 {
	m := make([][]float64, g.n) // the last column is the right side
	for v := range m {
		m[v] = make([]float64, g.n+1)
		m[v][v] = 1
	}
	m[i][g.n] = 1
	for _, e := range g.edges {
		if u, v := e[0], e[1]; u != g.gone && v != g.gone {
			w := ratio * ratio
			m[u][u] += w
			m[v][v] += w
			m[u][v] -= w
			m[v][u] -= w
		}
	}
	a := solve(m)
	if g.gone >= 0 {
		a[g.gone] = 0
	}
	return a
}

// solve returns the solution of a positive definite linear system. The last column of m is the right-hand side.
func solve(m [][]float64) []float64 {
	n := len(m)
	for k := range m {
		for v := range m {
			if v == k {
				continue
			}
			f := m[v][k] / m[k][k]
			for c := k; c <= n; c++ {
				m[v][c] -= f * m[k][c]
			}
		}
	}
	a := make([]float64, n)
	for v := range a {
		a[v] = m[v][n] / m[v][v]
	}
	return a
}

// weakest returns the client with the lowest conductance. If colluders is 1, it first removes the member whose removal
// leads to the lowest conductance; if colluders is 0, it removes no member.
func weakest(n int, edges [][2]int, ratio float64, colluders int) (g rest, client int, least float64) {
	least = math.Inf(1)
	for gone := -1; gone < n*colluders; gone++ {
		for i := range n {
			if try := (rest{n, edges, gone}); i != gone {
				if k := 1 / try.direction(i, ratio)[i]; k < least {
					g, client, least = try, i, k
				}
			}
		}
	}
	return g, client, least
}

// TestWeakest compares the conductances from dense matrices with values from other methods: for a single edge, the
// rules for resistors in series and in parallel; for a ring, its eigenvalues.
func TestWeakest(t *testing.T) {
	// In a graph with a single edge, there are two paths in parallel from an end to ground: one with conductance 1, and
	// one through the other end with conductances r^2 and 1 in series.
	if _, _, k := weakest(2, [][2]int{{0, 1}}, 2, 0); math.Abs(k-(1+4./5)) > 1e-12 {
		t.Errorf("an edge has %v", k)
	}
	if g, _, k := weakest(2, [][2]int{{0, 1}}, 2, 1); g.gone < 0 || k != 1 {
		t.Errorf("an edge without one end has %v", k)
	}
	var a float64
	for k := range 6 {
		a += 1 / (1 + 4*(2-2*math.Cos(math.Pi*float64(k)/3))) / 6
	}
	if _, _, k := weakest(6, ringOf(6), 2, 0); math.Abs(k*a-1) > 1e-12 {
		t.Errorf("a ring of 6 has %v, want %v", k, 1/a)
	}
}

func ringOf(n int) (edges [][2]int) {
	for i := range n {
		edges = append(edges, [2]int{i, (i + 1) % n})
	}
	return edges
}

// complete returns those edges (i, j) of the complete graph for which keep(i, j) is true.
func complete(n int, keep func(i, j int) bool) (edges [][2]int) {
	for i := range n {
		for j := range i {
			if keep(i, j) {
				edges = append(edges, [2]int{j, i})
			}
		}
	}
	return edges
}

// flaw is a deliberate error in the releases. The zero value means that there is no error.
type flaw struct {
	sigma     float64 // true noise (local and pairwise) divided by the claimed noise; 0 means 1
	sameSign  bool    // both ends of an edge add the pairwise noise
	leftOut   bool    // the client omits the pairwise noise that its honest neighbors add
	sameRound bool    // a round reuses the keys of the previous one
}

// watched is the view of an adversary that sees all releases and has the knowledge of one member, whose number is in
// the field gone.
type watched struct {
	rest
	client  int
	claim   Gaussian
	dim     int
	weights []float64 // weights of the honest members' releases in the projection
	rounds  int       // rounds of one sample; in every second round, the client's updates and the weights change sign
	scale   float64   // factor by which the projection is multiplied
}

// sample draws the given number of samples and returns their projections. The client's update is on the boundary of the
// ball, in the direction given by sign; the update of every other member is known to be 0.
func (w *watched) sample(t *testing.T, count int, sign float64, f flaw, seed uint64) []float64 {
	t.Helper()
	g := w.claim
	if f.sigma != 0 {
		g.Sigma *= f.sigma
		g.Shared.Sigma *= f.sigma
		g.Shared.Effective = g.Sigma // Release ignores Effective
	}
	m, spy := newMechanism(t, w.dim, seed), newMechanism(t, w.dim, seed)
	key := func(round, edge int) (k [32]byte) {
		if f.sameRound {
			round &^= 1
		}
		binary.LittleEndian.PutUint64(k[:], uint64(round))
		binary.LittleEndian.PutUint64(k[8:], uint64(edge))
		binary.LittleEndian.PutUint64(k[16:], seed)
		return k
	}
	shift := gridBits(g, w.dim)
	gamma := math.Ldexp(g.Sigma, -shift)
	s, ys := make([]float32, w.dim), make([]float64, count)
	var pairs, known []Pair
	for n := range ys {
		for r := range w.rounds {
			turn := 1 - 2*float64(r%2)
			for v := range w.n {
				if v == w.gone || w.weights[v] == 0 {
					continue
				}
				clear(s)
				if v == w.client {
					s[0] = float32(sign * turn * 1000 * g.Clip)
				}
				pairs, known = pairs[:0], known[:0]
				for e, ends := range w.edges {
					if !slices.Contains(ends[:], v) {
						continue
					}
					other := ends[0] + ends[1] - v
					p := Pair{Key: key(n*w.rounds+r, e), Subtract: v > other && !f.sameSign}
					if other == w.gone {
						known = append(known, p)
					}
					if other == w.gone || v != w.client || !f.leftOut {
						pairs = append(pairs, p)
					}
				}
				if err := m.Release(s, Whole(s), g, pairs...); err != nil {
					t.Fatal(err)
				}
				y := float64(s[0])
				if len(known) > 0 {
					if err := spy.share(g, shift, known); err != nil {
						t.Fatal(err)
					}
					y -= float64(spy.noise[0]) * gamma
					clear(spy.noise)
				}
				ys[n] += turn * w.weights[v] * y
			}
		}
		ys[n] *= w.scale
	}
	return ys
}

// measured returns an estimate of mu, which is the distance between the means of plus and minus, divided by their
// standard deviation. It also returns the standard error of this estimate for normally distributed draws.
func measured(plus, minus []float64) (mu, off float64) {
	moments := func(ys []float64) (mean, square float64) {
		for _, y := range ys {
			mean += y / float64(len(ys))
		}
		for _, y := range ys {
			square += (y - mean) * (y - mean)
		}
		return mean, square
	}
	a, ssA := moments(plus)
	b, ssB := moments(minus)
	n := float64(len(plus))
	mu = (a - b) / math.Sqrt((ssA+ssB)/(2*n-2))
	return mu, math.Sqrt(2/n + mu*mu/(4*n))
}

// refute returns evidence against a claim of mu: events that are likelier than the claim allows, a measured mu above
// the claim, or a measured mu more than 3 % below the claim, which means that the noise is not as stated. It also
// returns a lower confidence limit for mu. All limits are 4 standard errors away from the measured mu.
func (w *watched) refute(t *testing.T, mu float64, count int, f flaw, seed uint64) (faults []string, lower float64) {
	t.Helper()
	plus, minus := w.sample(t, count, 1, f, seed), w.sample(t, count, -1, f, seed+1)
	faults = audit(plus, minus, mu, 0.01/12)
	found, off := measured(plus, minus)
	lower = found - 4*off
	if lower > mu {
		faults = append(faults, fmt.Sprintf("mu is %.4f or more, claimed is %.4f", lower, mu))
	}
	if upper := found + 4*off; upper < 0.97*mu {
		faults = append(faults, fmt.Sprintf("mu is %.4f or less, claimed is %.4f", upper, mu))
	}
	return faults, lower
}

// TestAuditOfSharedNoise audits the network as a black box, in the worst case. The adversary is one member (c = 1) with
// the best attack: it subtracts the noise that it shares with other members, and projects all releases on the direction
// that reveals the most about the client with the lowest conductance. The claimed mu is 2.5. With 32,000 samples of
// each data set, the standard error of the measured mu is 0.0105, so the test can confirm that mu is at most 3 % below
// the claim: 3 % is 7.1 standard errors, and the test requires 4.
//
// Power of the test: noise that is 5 % too small results in mu = 2.632, which is 12 standard errors above the claim.
// The other flaws change mu by a quarter or more, so a quarter of the samples is enough to detect them. The test of a
// colluder that the claim omits has a number of samples of its own, because in the complete graph this colluder changes
// mu by only 4.4 %, or 5.8 standard errors. If both ends of an edge add the pairwise noise, there is more noise, not
// less, as part 3 of PROOF.md shows; the audit detects this flaw because the noise does not cancel in the projection.
//
// These numbers apply with SPADE_LONG. Otherwise there are 1,200 samples, with a standard error of 0.055: the test
// confirms the claim to within 15 %, and detects the flaws in the ring, where noise is 17 % too small.
func TestAuditOfSharedNoise(t *testing.T) {
	for i, c := range []struct {
		name   string
		n, dim int
		edges  [][2]int
		ratio  float64
		// forgets is the number of samples for the colluder that the claim omits.
		forgets int
	}{
		{"ring of 6", 6, 1, ringOf(6), 2, 2_000},
		{"er of 12", 12, 2, complete(12, func(i, j int) bool { return (i*i+3*i*j+j*j)%7 < 3 || j == i-1 }), 1, 4_000},
		{"complete graph of 8", 8, 1, complete(8, func(i, j int) bool { return true }), 0.5, 10_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			count, narrow, small := 32_000, 0.97, 0.95
			if !long {
				count, narrow, small = 1_200, 0.85, 0.83
			}
			const mu = 2.5
			g, client, least := weakest(c.n, c.edges, c.ratio, 1)
			shared := Shared{Sigma: c.ratio, Effective: math.Sqrt(least), Colluders: 1}
			w := &watched{rest: g, client: client, dim: c.dim, weights: g.direction(client, c.ratio), rounds: 1,
				claim: Gaussian{Clip: mu * math.Sqrt(least) / 2, Sigma: 1, Shared: shared}, scale: math.Sqrt(least)}
			if got := math.Sqrt(2 * w.claim.Rho()); math.Abs(got-mu) > 1e-9 {
				t.Fatalf("the claim is %v", got)
			}
			seed := uint64(1000 * (i + 1))
			faults, lower := w.refute(t, mu, count, flaw{}, seed)
			t.Logf("client %d, member %d colludes: conductance %.4f, mu %.4f or more, claimed %v", client, g.gone, least,
				lower, mu)
			for _, f := range faults {
				t.Error(f)
			}
			if lower < narrow*mu {
				t.Errorf("mu is only known to be %v or more, want %v of the claim", lower, narrow)
			}
			// Two rounds in which the client's updates have opposite signs have sqrt(2) times the mu of one round, so
			// the clip is divided by sqrt(2). The projection uses the difference between the client's two releases: if
			// the second round reused the noise of the first, this noise would cancel.
			double := *w
			double.rounds, double.scale, double.claim.Clip = 2, w.scale/math.Sqrt2, w.claim.Clip/math.Sqrt2
			faults, _ = double.refute(t, mu, count/4, flaw{}, seed+10)
			for _, f := range faults {
				t.Error("two rounds:", f)
			}
			if !long && i > 0 {
				return
			}
			alone, again := *w, double
			alone.weights, alone.scale = make([]float64, c.n), 1
			alone.weights[client] = 1
			again.weights, again.scale = alone.weights, 1/math.Sqrt2
			forgotten := *w
			_, _, claimed := weakest(c.n, c.edges, c.ratio, 0)
			forgotten.claim.Clip, forgotten.claim.Shared.Effective = mu*math.Sqrt(claimed)/2, math.Sqrt(claimed)
			for j, fault := range []struct {
				name  string
				w     *watched
				flaw  flaw
				count int
			}{
				{"sigma too small", w, flaw{sigma: small}, count},
				{"the same sign at both ends", w, flaw{sameSign: true}, count / 4},
				{"noise left out at one end", &alone, flaw{leftOut: true}, count / 4},
				{"noise of the round before", &again, flaw{sameRound: true}, count / 4},
				{"a colluder that was forgotten", &forgotten, flaw{}, c.forgets},
			} {
				faults, lower := fault.w.refute(t, mu, fault.count, fault.flaw, seed+20+10*uint64(j))
				if len(faults) == 0 {
					t.Errorf("%s passes: the test has no power", fault.name)
					continue
				}
				t.Logf("%s: mu is %.4f or more; refuted %d times, first: %v", fault.name, lower, len(faults), faults[0])
			}
		})
	}
}
