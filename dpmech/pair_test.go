package dpmech

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// members is a network of mechanisms, with a key for each edge.
type members struct {
	mechs []*Mechanism
	pairs [][]Pair
}

func newMembers(t testing.TB, n, dim int, edges [][2]int, seed uint64) *members {
	t.Helper()
	m := &members{pairs: make([][]Pair, n)}
	for i := range n {
		m.mechs = append(m.mechs, newMechanism(t, dim, seed+uint64(i)))
	}
	keys := stream(seed + 1000)
	for _, e := range edges {
		var key [32]byte
		if _, err := keys.Read(key[:]); err != nil {
			t.Fatal(err)
		}
		m.pairs[e[0]] = append(m.pairs[e[0]], Pair{Key: key})
		m.pairs[e[1]] = append(m.pairs[e[1]], Pair{Key: key, Subtract: true})
	}
	return m
}

// ring returns the edges of a ring with some chords.
func ring(n int) (edges [][2]int) {
	for i := range n {
		edges = append(edges, [2]int{i, (i + 1) % n}, [2]int{i, (i + 2) % n})
	}
	return edges
}

// TestSharedNoiseCancels checks that pairwise noise cancels exactly: on the fine grid, the sum of all releases must
// equal the sum of the clipped updates and all local noise.
func TestSharedNoiseCancels(t *testing.T) {
	const n, dim = 7, 50
	for _, exponent := range []int{leastShared, -1, 0, 3, mostShared} {
		g := Gaussian{Clip: 1, Sigma: 0.7, Shared: Shared{Sigma: math.Ldexp(0.7, exponent), Effective: 1, Colluders: 1}}
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		with, without := newMembers(t, n, dim, ring(n), 1), newMembers(t, n, dim, nil, 1)
		moved := 0.0
		sum := func(m *members) (total []int64) {
			total = make([]int64, dim)
			r := rand.New(rand.NewPCG(1, 2))
			for i, mech := range m.mechs {
				s := make([]float32, dim)
				for c := range s {
					s[c] = r.Float32() - 0.5
				}
				gamma, err := mech.draw(g, m.pairs[i])
				if err != nil {
					t.Fatal(err)
				}
				ball := newBall(g.Clip, gamma)
				scale := ball.clip(s, 1)
				for c, x := range s {
					total[c] += onGrid(x, scale) + mech.noise[c]
				}
				moved = max(moved, math.Abs(float64(mech.noise[0])))
				clear(mech.noise)
			}
			return total
		}
		if got, want := sum(with), sum(without); !slices.Equal(got, want) {
			t.Errorf("2^%d: sums differ: %v, want %v", exponent, got[:3], want[:3])
		}
		if least := math.Ldexp(0.1, 28+exponent); moved < least {
			t.Errorf("2^%d: the largest noise is %v steps, want at least %v", exponent, moved, least)
		}
	}
}

// TestSharedNoiseMustMatch checks that the noise no longer cancels if one end of an edge uses the wrong sign or a key
// from another round, or if a neighbor is missing.
func TestSharedNoiseMustMatch(t *testing.T) {
	g := Gaussian{Clip: 1, Sigma: 1, Shared: Shared{Sigma: 4, Effective: 2}}
	for name, spoil := range map[string]func(p []Pair) []Pair{
		"sign":     func(p []Pair) []Pair { p[0].Subtract = !p[0].Subtract; return p },
		"round":    func(p []Pair) []Pair { p[0].Key[0] ^= 1; return p },
		"left out": func(p []Pair) []Pair { return p[1:] },
		"":         func(p []Pair) []Pair { return p },
	} {
		m := newMembers(t, 3, 4, [][2]int{{0, 1}, {1, 2}, {0, 2}}, 3)
		m.pairs[1] = spoil(m.pairs[1])
		var total [4]int64
		for i, mech := range m.mechs {
			if err := mech.normal.fill(mech.noise, 28); err != nil {
				t.Fatal(err)
			}
			own := slices.Clone(mech.noise)
			if err := mech.share(g, 28, m.pairs[i]); err != nil {
				t.Fatal(err)
			}
			for c := range total {
				total[c] += mech.noise[c] - own[c]
			}
		}
		if clean := total == [4]int64{}; clean != (name == "") {
			t.Errorf("%q: the sum is %v", name, total)
		}
	}
}

// TestSharedNoiseIsTheSameEverywhere checks that both ends of an edge draw the same vector in every version: its numbers
// are those of a golden run.
func TestSharedNoiseIsTheSameEverywhere(t *testing.T) {
	m := newMechanism(t, 3, 1)
	g := Gaussian{Clip: 1, Sigma: 1, Shared: Shared{Sigma: 2, Effective: 1}}
	if err := m.share(g, 20, []Pair{{Key: [32]byte{1, 2, 3}}}); err != nil {
		t.Fatal(err)
	}
	if want := []int64{998182, -1181353, 1408764}; !slices.Equal(m.noise, want) {
		t.Errorf("drew %v, want %v", m.noise, want)
	}
	if !zeros(m.shared) || m.normal.key != [32]byte{} {
		t.Error("the vector or its key is still in memory")
	}
}

func TestSharedRefuses(t *testing.T) {
	for _, s := range []Shared{
		{Sigma: 3, Effective: 2}, {Sigma: -2, Effective: 2}, {Sigma: math.NaN(), Effective: 2}, {Sigma: math.Inf(1), Effective: 2},
		{Sigma: 2, Effective: 0.99}, {Sigma: 2, Effective: math.NaN()}, {Sigma: 2, Effective: 1 << 21}, {Sigma: 0, Effective: 2},
		{Sigma: 2, Effective: 2, Colluders: -1}, {Sigma: 1 << 11, Effective: 2}, {Sigma: 1. / 32, Effective: 2}, {Colluders: 1},
	} {
		if err := (Gaussian{Clip: 1, Sigma: 1, Shared: s}).Validate(); err == nil {
			t.Errorf("%+v was accepted", s)
		}
	}
	m, zero := newMechanism(t, 10_000, 1), make([]float32, 10_000)
	if err := m.Release(zero, Whole(zero), Gaussian{Clip: 1, Sigma: 1}, Pair{}); err == nil {
		t.Error("a release without a shared sigma accepted a neighbor's noise")
	}
	far := Gaussian{Clip: 1, Sigma: 1 << 20, Shared: Shared{Sigma: 1 << 30, Effective: 1 << 20}}
	if err := m.Release(zero, Whole(zero), far, Pair{}); err == nil || !zeros(m.noise) {
		t.Errorf("found %v, want a refusal of numbers beyond 64 bits", err)
	}
}

func TestAlone(t *testing.T) {
	g := Gaussian{Clip: 1, Sigma: 1.5, Shared: Shared{Sigma: 3, Effective: 5}}
	if got, want := g.Alone(), (Gaussian{Clip: 1, Sigma: 6}); got != want {
		t.Errorf("alone %+v, want %+v", got, want)
	}
	plain := Gaussian{Clip: 1, Sigma: 1.5}
	if got := plain.Alone(); got != plain {
		t.Errorf("alone %+v, want %+v", got, plain)
	}
}

// TestSharedCost checks the cost of a release with pairwise noise. The cost must equal that of a release that has no
// pairwise noise and whose sigma is the effective sigma. Against an adversary that consists of all other members, the
// cost must equal that for the local sigma alone.
func TestSharedCost(t *testing.T) {
	g := Gaussian{Clip: 1, Sigma: 2, Shared: Shared{Sigma: 8, Effective: 6, Colluders: 1}}
	if got, want := g.Rho(), (Gaussian{Clip: 1, Sigma: 6}).Rho(); got != want {
		t.Errorf("rho %v, want %v", got, want)
	}
	if got, want := g.RhoAll(), (Gaussian{Clip: 1, Sigma: 2}).Rho(); got != want {
		t.Errorf("rho against all %v, want %v", got, want)
	}
}
