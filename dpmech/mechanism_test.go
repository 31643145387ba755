package dpmech

import (
	"crypto/rand"
	"errors"
	"io"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// stream returns a seeded source of randomness, for repeatable tests.
func stream(seed uint64) *rng.Stream {
	s := rng.New(seed, rng.Address{Purpose: rng.Noise})
	return &s
}

func newMechanism(t testing.TB, dim int, seed uint64) *Mechanism {
	t.Helper()
	m, err := NewMechanism(dim, stream(seed))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestReleaseAgainstReference compares a release with a simple float64 reference: the same noise, drawn again, plus the
// update clipped with the formula in the paper.
func TestReleaseAgainstReference(t *testing.T) {
	s := stream(1)
	for _, c := range []struct {
		dim     int
		g       Gaussian
		stretch float64 // size of the update, in units of the clip
	}{
		{1, Gaussian{Clip: 1, Sigma: 8}, 0.5},
		{10, Gaussian{Clip: 1, Sigma: 8}, 3},
		{40, Gaussian{Clip: 0.01, Sigma: 0.3}, 100},
		{1000, Gaussian{Clip: 25, Sigma: 0.5}, 0.99},
		{1000, Gaussian{Clip: 25, Sigma: 0.5}, 0},
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
		if err := newMechanism(t, c.dim, 7).Release(got, c.g); err != nil {
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

// TestReleaseOnGridAgreesWithRelease checks that Release and ReleaseOnGrid use the same integers: for the same random
// bytes, their results must agree to within half a step.
func TestReleaseOnGridAgreesWithRelease(t *testing.T) {
	s := stream(2)
	for _, c := range []struct {
		dim  int
		g    Gaussian
		step float64 // step in units of sigma
	}{
		{1000, Gaussian{Clip: 1, Sigma: 8}, 1. / 16},
		{1000, Gaussian{Clip: 1, Sigma: 8}, 1. / 4096},
		{1000, Gaussian{Clip: 1e-3, Sigma: 0.01}, 1},
		{1000, Gaussian{Clip: 25, Sigma: 0.5}, 0.1234567},
		{1000, Gaussian{Clip: 1, Sigma: 0.7}, 0.7071067811865476},
		{4, Gaussian{Clip: 1, Sigma: 1 << 20}, 1. / 256},
		{1000, Gaussian{Clip: 1, Sigma: 1 << 20}, 1. / 3}, // M is above 40, so sums have more than 53 bits
	} {
		step := c.step * c.g.Sigma
		float := make([]float32, c.dim)
		for i := range float {
			float[i] = float32(s.Normal() * c.g.Clip)
		}
		update, grid := slices.Clone(float), make([]int32, c.dim)
		if err := newMechanism(t, c.dim, 6).Release(float, c.g); err != nil {
			t.Fatal(err)
		}
		if err := newMechanism(t, c.dim, 6).ReleaseOnGrid(grid, update, c.g, step); err != nil {
			t.Fatal(err)
		}
		for i, n := range grid {
			x := float64(float[i])
			if diff := math.Abs(float64(n)*step - x); diff > step/2+0x1p-23*math.Abs(x) {
				t.Fatalf("%+v, step %v, coordinate %d: %d steps, and without a grid %v", c.g, step, i, n, x)
			}
			if update[i] != 0 {
				t.Fatalf("coordinate %d of the update is still %v", i, update[i])
			}
		}
	}
}

// TestReleaseOnGridRoundsToNearest checks that the sum is rounded as in rational arithmetic, ties to even. Only if
// sigma/step is not a power of two, a value too close to a midpoint may be rounded to either neighbor.
func TestReleaseOnGridRoundsToNearest(t *testing.T) {
	const dim = 20_000
	g := Gaussian{Clip: 1, Sigma: 3}
	shift := gridBits(g, dim)
	again := normal{random: stream(8)}
	noise, got := make([]int64, dim), make([]int32, dim)
	if err := again.fill(noise, shift); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ step, near float64 }{{g.Sigma / (1 << 12), 0}, {g.Sigma / 3001.7, 0x1p-51}} {
		if err := newMechanism(t, dim, 8).ReleaseOnGrid(got, make([]float32, dim), g, c.step); err != nil {
			t.Fatal(err)
		}
		gamma := new(big.Rat).SetFloat64(math.Ldexp(g.Sigma, -shift))
		ratio := gamma.Quo(gamma, new(big.Rat).SetFloat64(c.step))
		for i, n := range noise {
			exact := new(big.Rat).SetInt64(n)
			exact.Mul(exact, ratio)
			off, _ := exact.Sub(exact, new(big.Rat).SetInt64(int64(got[i]))).Float64()
			if off = math.Abs(off); off > 0.5+c.near*math.Abs(float64(got[i])) || c.near == 0 && off == 0.5 && got[i]&1 == 1 {
				t.Fatalf("step %v: draw %d became %d: off by %v", c.step, n, got[i], off)
			}
		}
	}
}

// TestReleaseOnGridIsBounded checks that a result beyond the range of the wire grid is limited to the end of the range.
// Such a result can occur if the clip is far larger than the noise.
func TestReleaseOnGridIsBounded(t *testing.T) {
	g := Gaussian{Clip: 1 << 20, Sigma: 1}
	got := make([]int32, 3)
	err := newMechanism(t, 3, 9).ReleaseOnGrid(got, []float32{1 << 19, -1 << 19, 0}, g, g.Sigma/4096)
	if err != nil || got[0] != 1<<30 || got[1] != -1<<30 {
		t.Errorf("released %d, %v; want the ends of the range", got, err)
	}
	// Even with the most extreme parameters, the clip on the fine grid is far below the limit of int64.
	for _, g := range []Gaussian{{Clip: 1 << 20, Sigma: 1}, {Clip: 1, Sigma: 1 << 20}} {
		for _, dim := range []float64{1, 1e6, 1 << 30} {
			shift := gridBits(g, int(dim))
			if clip := math.Ldexp(g.Clip/g.Sigma, shift); clip < 1<<16 || clip > 1<<48 {
				t.Errorf("%+v in %v dimensions: the clip is %v, want 2^16..2^48 of the fine steps", g, dim, clip)
			}
		}
	}
}

// TestReleaseOfNonsenseIsNoise checks that an update with a NaN or an infinity anywhere is treated as the zero vector,
// so that only the noise remains.
func TestReleaseOfNonsenseIsNoise(t *testing.T) {
	g := Gaussian{Clip: 1, Sigma: 2}
	release := func(update ...float32) ([]float32, []int32) {
		grid := make([]int32, len(update))
		if err := newMechanism(t, len(update), 3).ReleaseOnGrid(grid, slices.Clone(update), g, g.Sigma/16); err != nil {
			t.Fatal(err)
		}
		if err := newMechanism(t, len(update), 3).Release(update, g); err != nil {
			t.Fatal(err)
		}
		return update, grid
	}
	want, wantGrid := release(0, 0, 0)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got, gotGrid := release(1, float32(bad), 0.5); !slices.Equal(got, want) || !slices.Equal(gotGrid, wantGrid) {
			t.Errorf("with %v inside: %v and %v, want %v and %v", bad, got, gotGrid, want, wantGrid)
		}
	}
}

func TestReleaseRefuses(t *testing.T) {
	type call struct {
		g         Gaussian
		step      float64
		dst, s    int
		gridAlone bool // the wrong argument is one that Release does not have
	}
	ok := Gaussian{Clip: 1, Sigma: 1}
	calls := []call{
		{ok, 0, 2, 2, true}, {ok, -0.5, 2, 2, true}, {ok, math.NaN(), 2, 2, true}, {ok, math.Inf(1), 2, 2, true},
		{ok, 1.001, 2, 2, true}, {ok, 1. / 4097, 2, 2, true}, {ok, 0.5, 3, 2, true}, {ok, 0.5, 0, 2, true},
		{ok, 0.5, 2, 3, false},
	}
	for _, v := range [][2]float64{
		{0, 1}, {-1, 1}, {1, 0}, {1, -1}, {math.NaN(), 1}, {1, math.NaN()}, {math.Inf(1), 1}, {1, math.Inf(1)}, {1, 1e9},
		{1e9, 1},
		{5e-324, 5e-324},
	} {
		g := Gaussian{Clip: v[0], Sigma: v[1]}
		calls = append(calls, call{g, g.Sigma / 16, 2, 2, false})
	}
	for _, c := range calls {
		s, dst := []float32{1, 2, 3}[:c.s], []int32{4, 5, 6}[:c.dst]
		err := newMechanism(t, 2, 1).ReleaseOnGrid(dst, s, c.g, c.step)
		if err == nil || !zeros(dst) || !zeros(s) {
			t.Errorf("%+v: %v, released %v of %v, want an error and zeros", c, err, dst, s)
		}
		s = []float32{1, 2, 3}[:c.s]
		if err := newMechanism(t, 2, 1).Release(s, c.g); !c.gridAlone && (err == nil || !zeros(s)) {
			t.Errorf("%+v: %v, released %v, want an error and zeros", c, err, s)
		}
	}
	if _, err := NewMechanism(0, rand.Reader); err == nil {
		t.Error("dimension 0 was accepted")
	}
	if _, err := NewMechanism(1, nil); err == nil {
		t.Error("a mechanism without randomness was made")
	}
}

func zeros[T int32 | int64 | float32](s []T) bool {
	return !slices.ContainsFunc(s, func(x T) bool { return x != 0 })
}

// TestNothingIsLeftBehind checks that, after a release, the mechanism's memory holds neither the update nor the noise,
// which would reveal the update.
func TestNothingIsLeftBehind(t *testing.T) {
	m := newMechanism(t, 50, 5)
	s := make([]float32, 50)
	if err := m.Release(s, Gaussian{Clip: 1, Sigma: 8}); err != nil || zeros(s) || !zeros(m.noise) {
		t.Errorf("after a release (%v): %v, noise %v", err, s, m.noise)
	}
	dst := make([]int32, 50)
	if err := m.ReleaseOnGrid(dst, s, Gaussian{Clip: 1, Sigma: 8}, 0.5); err != nil || zeros(dst) || !zeros(s) || !zeros(m.noise) {
		t.Errorf("after a release on the grid (%v): %v of %v, noise %v", err, dst, s, m.noise)
	}
}

// TestSourceFailure checks that a source of randomness that fails, immediately or midway, leads to an error and zeros,
// never to a release with too little noise.
func TestSourceFailure(t *testing.T) {
	broken := errors.New("broken")
	for _, good := range []int64{0, 1, 31} {
		source := func() io.Reader { return &failing{stream(4), good, broken} }
		m, err := NewMechanism(5000, source())
		if err != nil {
			t.Fatal(err)
		}
		s := make([]float32, 5000)
		s[0] = 1
		if err := m.Release(s, Gaussian{Clip: 1, Sigma: 1}); !errors.Is(err, broken) || !zeros(s) || !zeros(m.noise) {
			t.Errorf("after %d good bytes: %v, first coordinate %v; want %v and zeros", good, err, s[0], broken)
		}
		m, _ = NewMechanism(5000, source())
		dst := make([]int32, 5000)
		s[0], dst[0] = 1, 1
		if err := m.ReleaseOnGrid(dst, s, Gaussian{Clip: 1, Sigma: 1}, 0.5); !errors.Is(err, broken) || !zeros(dst) || !zeros(s) ||
			!zeros(m.noise) {
			t.Errorf("on the grid, after %d good bytes: %v, first coordinate %v; want %v and zeros", good, err, dst[0], broken)
		}
	}
}

// failing is a reader that returns a limited number of bytes from r and then fails.
type failing struct {
	r    io.Reader
	good int64
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	if f.good == 0 {
		return 0, f.err
	}
	n, err := f.r.Read(p[:min(int64(len(p)), f.good)])
	f.good -= int64(n)
	return n, err
}

func TestReleaseDoesNotAllocate(t *testing.T) {
	m := newMechanism(t, 1000, 5)
	s, dst := make([]float32, 1000), make([]int32, 1000)
	if n := testing.AllocsPerRun(20, func() { _ = m.Release(s, Gaussian{Clip: 1, Sigma: 8}) }); n != 0 {
		t.Errorf("%v allocations a release, want 0", n)
	}
	if n := testing.AllocsPerRun(20, func() { _ = m.ReleaseOnGrid(dst, s, Gaussian{Clip: 1, Sigma: 8}, 0.3) }); n != 0 {
		t.Errorf("%v allocations a release on the grid, want 0", n)
	}
}
