package dpmech

import (
	"crypto/rand"
	"errors"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"
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

		got := make([]float32, c.dim)
		if err := newMechanism(t, c.dim, 7).Release(got, Whole(update), c.g); err != nil {
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

// TestReleaseOnGridRoundsToNearest checks that the sum is rounded as in rational arithmetic, ties to even. Only if
// sigma/step is not a power of two, a value too close to a midpoint may be rounded to either neighbor.
func TestReleaseOnGridRoundsToNearest(t *testing.T) {
	const dim = 3000
	for _, c := range []struct{ sigma, steps, near float64 }{{3, 1 << 12, 0}, {3, 3001.7, 0x1p-51}, {1 << 20, 3, 0x1p-51}} {
		g, step := Gaussian{Clip: 1, Sigma: c.sigma}, c.sigma/c.steps
		shift := gridBits(g, dim)
		again := normal{random: stream(8)}
		noise, got := make([]int64, dim), make([]int32, dim)
		err := errors.Join(again.fill(noise, shift), newMechanism(t, dim, 8).ReleaseOnGrid(got, Whole(make([]float32, dim)), g, step))
		if err != nil {
			t.Fatal(err)
		}
		gamma := new(big.Rat).SetFloat64(math.Ldexp(g.Sigma, -shift))
		ratio := gamma.Quo(gamma, new(big.Rat).SetFloat64(step))
		for i, n := range noise {
			exact := new(big.Rat).SetInt64(n)
			exact.Mul(exact, ratio)
			off, _ := exact.Sub(exact, new(big.Rat).SetInt64(int64(got[i]))).Float64()
			if off = math.Abs(off); off > 0.5+c.near*math.Abs(float64(got[i])) || c.near == 0 && off == 0.5 && got[i]&1 == 1 {
				t.Fatalf("step %v: draw %d became %d: off by %v", step, n, got[i], off)
			}
		}
	}
}

// TestReleaseOnGridIsBounded checks that a result beyond the range of the wire grid is limited to the end of the range.
// Such a result can occur if the clip is far larger than the noise.
func TestReleaseOnGridIsBounded(t *testing.T) {
	g := Gaussian{Clip: 1 << 20, Sigma: 1}
	got := make([]int32, 3)
	err := newMechanism(t, 3, 9).ReleaseOnGrid(got, Whole([]float32{1 << 19, -1 << 19, 0}), g, g.Sigma/4096)
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
		if err := newMechanism(t, len(update), 3).ReleaseOnGrid(grid, Whole(update), g, g.Sigma/16); err != nil {
			t.Fatal(err)
		}
		if err := newMechanism(t, len(update), 3).Release(update, Whole(update), g); err != nil {
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

// TestReleaseRefuses checks that wrong arguments lead to an error and zeros.
func TestReleaseRefuses(t *testing.T) {
	ok, record, four := Gaussian{Clip: 1, Sigma: 1}, Gaussian{Clip: 1, Sigma: 1, Unit: Record}, make([]float32, 4)
	type call struct {
		rows Rows
		g    Gaussian
		want string
	}
	calls := []call{
		{Whole(four[:3]), ok, "3 numbers, want a multiple of 1 x 2"},
		{Whole(nil), ok, "Values is empty, want the whole update of 2 numbers"},
		{Whole(four), ok, "2 units, want at most Most (1)"},
		{Rows{Values: four, Factor: 1, Most: 2}, ok, "guarantee is for each client, want a guarantee for each record or person"},
		{Rows{Values: four, Factor: 1}, record, "number of units is 0 and dimension is 2, want at least 1"},
		{Rows{Values: four, Factor: 1, Most: 1}, record, "2 units, want at most Most (1)"},
		{Rows{Values: four[:3], Factor: 1, Most: 9}, record, "3 numbers, want a multiple of 1 x 2"},
		{Rows{Values: make([]float32, 6), Factor: 1, Most: 9, Places: 2}, record, "6 numbers, want a multiple of 2 x 2"},
		{Rows{Values: four, Most: 2}, record, "Factor is 0"},
		{Rows{Values: four, Factor: math.NaN(), Most: 2}, record, "Factor is NaN"},
		{Rows{Values: four, Factor: 1, Most: 2, Places: -1}, record, "Places is -1"},
		{Rows{Values: four, Factor: 1, Most: 1 << 30}, Gaussian{Clip: 1 << 10, Sigma: 1, Unit: Record}, "want at most 2^61"},
	}
	for _, g := range invalid {
		calls = append(calls, call{Whole(four[:2]), g, ""})
	}
	for _, c := range calls {
		dst, steps := []float32{1, 2}, []int32{4, 5}
		err := newMechanism(t, 2, 1).Release(dst, c.rows, c.g)
		if err == nil || !strings.Contains(err.Error(), c.want) || !zeros(dst) {
			t.Errorf("%+v, %+v: %v, released %v, want %q and zeros", c.rows, c.g, err, dst, c.want)
		}
		if err := newMechanism(t, 2, 1).ReleaseOnGrid(steps, c.rows, c.g, c.g.Sigma); err == nil || !zeros(steps) {
			t.Errorf("%+v, %+v: %v, released %v on the grid, want an error and zeros", c.rows, c.g, err, steps)
		}
	}
	for _, step := range []float64{0, -0.5, math.NaN(), math.Inf(1), 1.001, 1. / 4097} {
		steps := []int32{4, 5}
		if err := newMechanism(t, 2, 1).ReleaseOnGrid(steps, Whole(four[:2]), ok, step); err == nil || !zeros(steps) {
			t.Errorf("step %v: %v, released %v", step, err, steps)
		}
	}
	for _, n := range []int{0, 3} {
		m := newMechanism(t, 2, 1)
		if m.ReleaseOnGrid(make([]int32, n), Whole(four[:2]), ok, 1) == nil || m.Release(four[:n], Whole(four[:2]), ok) == nil {
			t.Errorf("released %d numbers of 2", n)
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

// TestNothingIsLeftBehind checks that, after a release, the mechanism's memory holds neither the rows nor the noise,
// which would reveal the rows, and that only the first release allocates memory.
func TestNothingIsLeftBehind(t *testing.T) {
	const d = 40
	shared := Gaussian{Clip: 1, Sigma: 8, Shared: Shared{Sigma: 32, Effective: 16}}
	for name, c := range map[string]struct {
		rows  Rows
		g     Gaussian
		pairs []Pair
	}{
		"update":  {Whole(rowsOf(1, 1, d, stream(5))), Gaussian{Clip: 1, Sigma: 8}, nil},
		"shared":  {Whole(make([]float32, d)), shared, []Pair{{Key: [32]byte{1}}, {Key: [32]byte{2}, Subtract: true}}},
		"records": {Rows{Values: rowsOf(100, 1, d, stream(343)), Factor: -1, Most: 100}, Gaussian{Clip: 1, Sigma: 30, Unit: Record}, nil},
		"persons": {Rows{Values: rowsOf(50, 2, d, stream(343)), Factor: -1, Most: 50, Places: 2}, Gaussian{Clip: 1, Sigma: 30, Unit: Record}, nil},
	} {
		m, dst, steps := newMechanism(t, d, 7), make([]float32, d), make([]int32, d)
		n := testing.AllocsPerRun(20, func() {
			err := errors.Join(m.Release(dst, c.rows, c.g, c.pairs...), m.ReleaseOnGrid(steps, c.rows, c.g, 2, c.pairs...))
			if err != nil || zeros(dst) || zeros(steps) || !zeros(m.noise) || !zeros(m.unit) || !zeros(m.shared) {
				t.Fatalf("%s: released %v and %v (%v), and left %v, %v and %v", name, dst, steps, err, m.noise, m.unit, m.shared)
			}
		})
		if n > 0 {
			t.Errorf("%s: %v allocations for two releases", name, n)
		}
	}
}

// TestSourceFailure checks that a source of randomness that fails, immediately or midway, leads to an error and zeros,
// never to a release with too little noise.
func TestSourceFailure(t *testing.T) {
	broken := errors.New("broken")
	for good := range int64(32) {
		source := func() io.Reader { return &failing{stream(4), good, broken} }
		m, err := NewMechanism(5000, source())
		if err != nil {
			t.Fatal(err)
		}
		s, dst := make([]float32, 5000), make([]int32, 5000)
		s[0], dst[0] = 1, 1
		if err := m.ReleaseOnGrid(dst, Whole(s), Gaussian{Clip: 1, Sigma: 1}, 0.5); !errors.Is(err, broken) || !zeros(dst) || !zeros(m.noise) {
			t.Errorf("on the grid, after %d good bytes: %v, first coordinate %v; want %v and zeros", good, err, dst[0], broken)
		}
		m, _ = NewMechanism(5000, source())
		if err := m.Release(s, Whole(s), Gaussian{Clip: 1, Sigma: 1}); !errors.Is(err, broken) || !zeros(s) || !zeros(m.noise) {
			t.Errorf("after %d good bytes: %v, first coordinate %v; want %v and zeros", good, err, s[0], broken)
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
