package dpmech

import (
	"bytes"
	"crypto/rand"
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// stream is a seeded source: tests are repeatable.
func stream(seed uint64) *rng.Stream {
	s := rng.New(seed, rng.Address{Purpose: rng.Noise})
	return &s
}

// The release against a dumb float64 reference: the same noise drawn a second time, the update clipped by the formula of
// the paper.
func TestReleaseAgainstReference(t *testing.T) {
	s := stream(1)
	for _, c := range []struct {
		dim     int
		g       Gaussian
		stretch float64 // size of the update, in units of the clip
	}{
		{1, Gaussian{1, 8}, 0.5},
		{10, Gaussian{1, 8}, 3},
		{40, Gaussian{0.01, 0.3}, 100},
		{1000, Gaussian{25, 0.5}, 0.99},
		{1000, Gaussian{25, 0.5}, 0},
	} {
		update := make([]float32, c.dim)
		for i := range update {
			update[i] = float32(s.Normal() * c.stretch * c.g.Clip / math.Sqrt(float64(c.dim)))
		}
		var norm float64
		for _, x := range update {
			norm += float64(x) * float64(x)
		}
		shrink := 1.0
		if norm = math.Sqrt(norm); norm > c.g.Clip {
			shrink = c.g.Clip / norm
		}
		shift := gridBits(c.g, c.dim)
		again := normal{random: stream(7)}
		noise := make([]int64, c.dim)
		if err := again.fill(noise, shift); err != nil {
			t.Fatal(err)
		}

		got := slices.Clone(update)
		m, err := NewMechanism(c.dim, stream(7))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Release(got, c.g); err != nil {
			t.Fatal(err)
		}
		gamma := c.g.Sigma / math.Pow(2, float64(shift))
		for i := range got {
			want := float64(update[i])*shrink + gamma*float64(noise[i])
			if diff := math.Abs(float64(got[i]) - want); diff > gamma+1e-6*math.Abs(want)+1e-7*c.g.Clip {
				t.Fatalf("d %d, coordinate %d: release is %v, want %v", c.dim, i, got[i], want)
			}
		}
	}
}

// The clip is checked with numbers of any size: the integer norm never exceeds R/gamma, and what is inside the ball
// already is only moved by rounding toward zero.
func TestQuantizeStaysInBall(t *testing.T) {
	s := stream(2)
	for trial := range 3000 {
		dim := 1 + s.IntN(200)
		g := Gaussian{Clip: math.Exp(4 * s.Normal())}
		g.Sigma = g.Clip * math.Exp(2*s.Normal())
		update := make([]float32, dim)
		size := g.Clip * math.Exp(3*s.Normal()) / math.Sqrt(float64(dim))
		for i := range update {
			switch trial % 4 {
			case 0:
				update[i] = float32(s.Normal() * size)
			case 1: // all alike: the case in which rounding errors add up
				update[i] = float32(size)
			case 2: // one giant among dwarfs
				update[i] = math.SmallestNonzeroFloat32
				if i == 0 {
					update[i] = math.MaxFloat32
				}
			case 3:
				update[i] = float32(g.Clip / math.Sqrt(float64(dim)))
			}
		}
		gamma := math.Ldexp(g.Sigma, -gridBits(g, dim))
		grid := make([]int64, dim)
		quantize(grid, update, g.Clip, gamma)

		norm, bound := new(big.Rat), new(big.Rat).Quo(new(big.Rat).SetFloat64(g.Clip), new(big.Rat).SetFloat64(gamma))
		for i, q := range grid {
			x := new(big.Rat).SetInt64(q)
			norm.Add(norm, x.Mul(x, x))
			if q != 0 && (q > 0) != (update[i] > 0) || math.Abs(float64(q)) > math.Abs(float64(update[i]))/gamma {
				t.Fatalf("coordinate %v became %d of %v: away from zero", update[i], q, gamma)
			}
		}
		if norm.Cmp(bound.Mul(bound, bound)) > 0 {
			t.Fatalf("trial %d, d %d, %+v: squared norm %v is above %v", trial, dim, g, norm, bound)
		}
	}
}

// A NaN or an infinity anywhere makes the update the zero vector: what is left is the noise alone.
func TestReleaseOfNonsenseIsNoise(t *testing.T) {
	g := Gaussian{Clip: 1, Sigma: 2}
	release := func(update ...float32) []float32 {
		m, err := NewMechanism(len(update), stream(3))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Release(update, g); err != nil {
			t.Fatal(err)
		}
		return update
	}
	want := release(0, 0, 0)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := release(1, float32(bad), 0.5); !slices.Equal(got, want) {
			t.Errorf("with %v inside: %v, want %v", bad, got, want)
		}
	}
}

func TestReleaseRefuses(t *testing.T) {
	for _, g := range []Gaussian{
		{0, 1}, {-1, 1}, {1, 0}, {1, -1}, {math.NaN(), 1}, {1, math.NaN()}, {math.Inf(1), 1}, {1, math.Inf(1)}, {1, 1e9}, {1e9, 1},
		{5e-324, 5e-324},
	} {
		m, err := NewMechanism(2, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		s := []float32{1, 2}
		if err := m.Release(s, g); err == nil || s[0] != 0 || s[1] != 0 {
			t.Errorf("%+v: %v, update %v, want an error and zeros", g, err, s)
		}
	}
	if _, err := NewMechanism(0, rand.Reader); err == nil {
		t.Error("dimension 0 was taken")
	}
	if _, err := NewMechanism(1, nil); err == nil {
		t.Error("a mechanism without randomness was made")
	}
	m, _ := NewMechanism(2, rand.Reader)
	if err := m.Release(make([]float32, 3), Gaussian{1, 1}); err == nil {
		t.Error("a vector of the wrong length was taken")
	}
}

// A source that fails, at once or half way, ends in an error and zeros: never in a release with too little noise.
func TestSourceFailure(t *testing.T) {
	broken := errors.New("broken")
	for _, good := range []int{0, 1, 31} {
		random := make([]byte, good)
		_, _ = stream(4).Read(random)
		src := &joined{bytes.NewReader(random), iotest.ErrReader(broken)}
		m, err := NewMechanism(5000, src)
		if err != nil {
			t.Fatal(err)
		}
		s := make([]float32, 5000)
		s[0] = 1
		if err := m.Release(s, Gaussian{1, 1}); !errors.Is(err, broken) || s[0] != 0 {
			t.Errorf("after %d good bytes: %v, first coordinate %v; want %v and zeros", good, err, s[0], broken)
		}
	}
}

// joined reads a, then fails as b does, without the end of file between that io.MultiReader would report.
type joined struct {
	a *bytes.Reader
	b interface{ Read([]byte) (int, error) }
}

func (j *joined) Read(p []byte) (int, error) {
	if j.a.Len() > 0 {
		return j.a.Read(p)
	}
	return j.b.Read(p)
}

func TestReleaseDoesNotAllocate(t *testing.T) {
	m, err := NewMechanism(1000, stream(5))
	if err != nil {
		t.Fatal(err)
	}
	s := make([]float32, 1000)
	if n := testing.AllocsPerRun(20, func() { _ = m.Release(s, Gaussian{1, 8}) }); n != 0 {
		t.Errorf("%v allocations a release, want 0", n)
	}
}

func BenchmarkRelease(b *testing.B) {
	m, _ := NewMechanism(1000, rand.Reader)
	s := make([]float32, 1000)
	for b.Loop() {
		_ = m.Release(s, Gaussian{1, 8})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/coordinate")
}
