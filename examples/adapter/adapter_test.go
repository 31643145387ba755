package adapter

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// numbers returns n pseudorandom numbers from a stream that only tests use.
func numbers(n int, purpose uint32) []float32 {
	s := rng.New(99, rng.Address{Purpose: rng.Generate, Client: purpose})
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(s.Normal())
	}
	return x
}

func digest(x []float32) string {
	b, _ := binary.Append(nil, binary.LittleEndian, x)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func mustParse(t testing.TB, text string, of int) *Spec {
	t.Helper()
	s, err := Parse(text, of)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// cases returns specs with irregular sizes: d not a multiple of 64, d = 1, d = D, and D larger than several chunks.
func cases(t testing.TB) []*Spec {
	file := &File{"f.bin", strings.Repeat("0", 64)}
	return []*Spec{
		mustParse(t, "random:1:0", 1), mustParse(t, "random:1:3", 130), mustParse(t, "random:7:7", 7), mustParse(t, "random:100:7", 10_001),
		mustParse(t, "random:256:18446744073709551615", 2*chunk), mustParse(t, "random:5000:2", 9_000),
		mustParse(t, "lora:3:5:first=10:7x65,last=500:2x9", 600), mustParse(t, "lora:1:5:w=0:1x1", 1),
		{Form: Coords, Dim: 6, Of: 300, Ranges: [][2]int{{0, 0}, {3, 6}, {299, 299}}},
		{Form: Basis, Dim: 3, Of: chunk + 5, Basis: file},
	}
}

// sign returns s[i] of a stream of signs. It draws the stream from its beginning for each sign.
func sign(seed uint64, step, component, i int) float32 {
	s := rng.New(seed, rng.Address{Purpose: rng.Adapter, Step: uint32(step), Component: uint32(component)})
	var w uint64
	for range i/64 + 1 {
		w = s.Uint64()
	}
	if w>>(i%64)&1 == 1 {
		return -1
	}
	return 1
}

// reference expands c one parameter at a time, following the equations of the package comment.
func reference(s *Spec, base, basis, c []float32) []float32 {
	x := make([]float32, s.Of)
	copy(x, base)
	switch s.Form {
	case Random:
		for i := range x {
			x[i] += sign(s.Seed, 0, 0, i) * c[i%s.Dim]
		}
	case Coords:
		k := 0
		for _, r := range s.Ranges {
			for i := r[0]; i <= r[1]; i++ {
				x[i] += c[k]
				k++
			}
		}
	case LoRA:
		at := 0
		for n, m := range s.Matrices {
			for i := range m.Rows {
				for k := range s.Rank {
					for j := range m.Columns {
						x[m.Offset+i*m.Columns+j] += sign(s.Seed, k, n, j) * c[at+i*s.Rank+k]
					}
				}
			}
			at += m.Rows * s.Rank
		}
	case Basis:
		for i := range x {
			for k := range s.Dim {
				x[i] += float32(c[k] * basis[k*s.Of+i])
			}
		}
	}
	return x
}

func TestExpandMatchesTheReference(t *testing.T) {
	for n, s := range cases(t) {
		t.Run(fmt.Sprint(n, s.Form), func(t *testing.T) {
			var basis []float32
			if s.Form == Basis {
				basis = numbers(s.Dim*s.Of, 3)
			}
			c := numbers(s.Dim, 1)
			for _, base := range [][]float32{nil, numbers(s.Of, 2)} {
				a, err := New(*s, base, basis)
				if err != nil {
					t.Fatal(err)
				}
				x := numbers(s.Of, 9) // the previous content must not matter
				for range 2 {
					a.Expand(x, c)
					for i, want := range reference(s, base, basis, c) {
						if math.Float32bits(x[i]) != math.Float32bits(want) {
							t.Fatalf("x[%d] is %v, want %v", i, x[i], want)
						}
					}
				}
			}
		})
	}
}

// TestExpandGolden checks that an expansion has the same bits on every processor.
func TestExpandGolden(t *testing.T) {
	for text, want := range map[string]string{
		"random:100:7":                        "2bc0151ea765cf84e8bbf2bc8b01c5888940a9b7eb32fd4c6b1868d4abb12d8b",
		"lora:3:5:first=10:7x65,last=500:2x9": "bdda525e5c906f3d3ada3b20eaa6adde438e08396c2e6ac9dc8d479465b4203d",
	} {
		s := mustParse(t, text, 10_001)
		a, err := New(*s, numbers(s.Of, 2), nil)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, s.Of)
		a.Expand(x, numbers(s.Dim, 1))
		if got := digest(x); got != want {
			t.Errorf("%s: hash %s, want %s", text, got, want)
		}
	}
}

// TestExpandGoldenOfPython checks hashes that the tests of the Python helper also check.
func TestExpandGoldenOfPython(t *testing.T) {
	const of = 10_001
	base, c := make([]float32, of), make([]float32, 100)
	for i := range base {
		base[i] = float32(i%1000) / 8
	}
	for k := range c {
		c[k] = float32(k+1) / 3
	}
	basis := make([]float32, 2*of)
	for i := range basis {
		basis[i] = float32(i%77) / 7
	}
	for _, g := range []struct {
		spec *Spec
		want string
	}{
		{mustParse(t, "random:100:12345678901234567890", of), "e69cdb04ba19fd45292591588b84df372194371a23e4e4b26fb43a1d9bf39f5e"},
		{mustParse(t, "lora:2:5:a=10:7x65,b=500:20x9", of), "2f0bcfda773d7afbeac732c370700dce958c5d2cf0a82649187dcbb628fbe6c1"},
		{&Spec{Form: Coords, Dim: 5, Of: of, Ranges: [][2]int{{0, 2}, {9999, 10000}}}, "c15c1cd731f54bb779abd9d134db10a90895ef670ebea86843b7ada34af6f5d2"},
		{&Spec{Form: Basis, Dim: 2, Of: of, Basis: &File{"f", strings.Repeat("0", 64)}}, "482b4473a4247a44525f09d6dda57eb3b774dfc2dee9cbb40cd06dd431927a0e"},
	} {
		var rows []float32
		if g.spec.Form == Basis {
			rows = basis
		}
		a, err := New(*g.spec, base, rows)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, of)
		a.Expand(x, c[:g.spec.Dim])
		if got := digest(x); got != g.want {
			t.Errorf("%s: hash %s, want %s", g.spec.Form, got, g.want)
		}
	}
}

// TestRandomSubspaceIsAnIsometryInTheMean checks that a random subspace has orthogonal columns, of length sqrt(D/d),
// and preserves the squared length of a gradient on average.
func TestRandomSubspaceIsAnIsometryInTheMean(t *testing.T) {
	const of, dim, seeds = 3000, 30, 100
	g := numbers(of, 4)
	var length, energy float64
	for _, v := range g {
		length += float64(v) * float64(v)
	}
	for seed := range uint64(seeds) {
		s := signs(of, seed)
		for k := range dim {
			var dot float64
			for i := k; i < of; i += dim {
				dot += float64(s[i]) * float64(g[i])
			}
			energy += dot * dot / seeds
		}
	}
	// Each of dim*seeds squares has a relative standard deviation of about sqrt(2), so the test allows five standard
	// deviations of the mean.
	if off := energy/length - 1; math.Abs(off) > 5*math.Sqrt(2.0/dim/seeds) {
		t.Errorf("|A^T g|^2 is %v of |g|^2 over %d seeds", energy/length, seeds)
	}
}

// signs returns the signs of a seed. It expands the single number 1 with an adapter of the form random.
func signs(of int, seed uint64) []float32 {
	a, _ := New(Spec{Form: Random, Dim: 1, Of: of, Seed: seed}, nil, nil)
	x := make([]float32, of)
	a.Expand(x, []float32{1})
	return x
}

type asked struct {
	calls []int // number of queries in each call
}

func (o *asked) Loss(_ context.Context, x []float32, sample int) (float64, error) {
	o.calls = append(o.calls, 1)
	if sample == 13 {
		return 0, errors.New("no thirteenth")
	}
	return float64(x[len(x)-1]), nil
}

func (o *asked) Losses(ctx context.Context, queries []zoest.Query, losses []float64) error {
	o.calls = append(o.calls, len(queries))
	for i, q := range queries {
		losses[i] = math.NaN()
		if q.Sample != 13 {
			losses[i] = float64(q.Point[len(q.Point)-1])
		}
	}
	return nil
}

func TestOracleAsksInChunks(t *testing.T) {
	const of = room / 3 // three copies at a time
	s := mustParse(t, "random:4:1", of)
	a, err := New(*s, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	inner := new(asked)
	o := a.Oracle(inner)
	queries := make([]zoest.Query, 8)
	for i := range queries {
		queries[i] = zoest.Query{Point: numbers(4, uint32(i)), Sample: i}
	}
	queries[5].Sample = 13
	losses := make([]float64, len(queries))
	if err := o.Losses(context.Background(), queries, losses); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(inner.calls) != "[3 3 2]" {
		t.Errorf("calls of %v queries, want [3 3 2]", inner.calls)
	}
	for i, q := range queries {
		want := float64(sign(1, 0, 0, of-1) * q.Point[(of-1)%4])
		if i == 5 {
			if !math.IsNaN(losses[i]) {
				t.Errorf("loss %d is %v, want NaN", i, losses[i])
			}
		} else if losses[i] != want {
			t.Errorf("loss %d is %v, want %v", i, losses[i], want)
		}
	}
	if len(o.x) > room {
		t.Errorf("%d parameters are kept, want at most %d", len(o.x), room)
	}
	if _, err := o.Loss(context.Background(), queries[5].Point, 13); err == nil || err.Error() != "no thirteenth" {
		t.Errorf("the oracle's own error is lost: %v", err)
	}
	if _, err := o.Loss(context.Background(), make([]float32, 5), 0); err == nil || !strings.Contains(err.Error(), "5 numbers, want 4") {
		t.Errorf("a point of another length: %v", err)
	}
	if err := o.Losses(context.Background(), []zoest.Query{{Point: make([]float32, 3)}}, losses[:1]); err == nil {
		t.Error("a batch with a point of another length is answered")
	}
}

func TestExpandAllocatesNothing(t *testing.T) {
	for _, s := range cases(t) {
		a, err := New(*s, nil, make([]float32, s.Dim*s.Of))
		if s.Form != Basis {
			a, err = New(*s, nil, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		o := a.Oracle(zoest.OracleFunc(func(_ context.Context, x []float32, _ int) (float64, error) { return float64(x[0]), nil }))
		queries := []zoest.Query{{Point: make([]float32, s.Dim)}, {Point: make([]float32, s.Dim)}}
		losses := make([]float64, 2)
		ask := func() {
			if err := o.Losses(context.Background(), queries, losses); err != nil {
				t.Fatal(err)
			}
		}
		ask()
		if n := testing.AllocsPerRun(20, ask); n > 0 {
			t.Errorf("%s: %v allocations a call", s.Form, n)
		}
	}
}

func TestOpenChecksFiles(t *testing.T) {
	dir := t.TempDir()
	base := numbers(20, 1)
	b, _ := binary.Append(nil, binary.LittleEndian, base)
	if err := os.WriteFile(filepath.Join(dir, "base.bin"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	s := *mustParse(t, "random:3:1", 20)
	s.Base = &File{"base.bin", digest(base)}
	a, err := Open(s, dir)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 20)
	a.Expand(x, make([]float32, 3))
	if digest(x) != digest(base) {
		t.Error("zeros are not expanded to the base")
	}
	check := func(s Spec, want ...string) {
		t.Helper()
		_, err := Open(s, dir)
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %q", &s, err, w)
			}
		}
	}
	other := strings.Repeat("0", 64)
	wrong := s
	wrong.Base = &File{"base.bin", other}
	check(wrong, "base.sha256 is "+other, digest(base))
	wrong.Base = &File{"../base.bin", other}
	check(wrong, "base.file")
	wrong.Base = &File{"base.bin", "abc"}
	check(wrong, "base.sha256")
	wrong.Base = &File{"none.bin", other}
	check(wrong, "none.bin")
	wrong = s
	wrong.Of = 19
	check(wrong, "80 bytes, want at most 76")
	wrong.Of = 21
	check(wrong, "80 bytes, want 84")
	wrong = Spec{Form: Basis, Dim: 1 << 27, Of: 1 << 28, Basis: &File{"base.bin", other}}
	check(wrong, "basis has")
	base[7] = float32(math.Inf(1))
	if _, err := New(*mustParse(t, "random:3:1", 20), base, nil); err == nil || !strings.Contains(err.Error(), "base[7]") {
		t.Errorf("a base with an infinity: %v", err)
	}
}

// BenchmarkExpand also measures a copy of the same numbers, which reads and writes the same amount of memory as an
// expansion.
func BenchmarkExpand(b *testing.B) {
	const of = 10_000_000
	x, base := make([]float32, of), numbers(of, 1)
	for _, text := range []string{"copy", "random:256:1", "random:1024:1", "lora:1:1:w=0:2500x4000"} {
		b.Run(text, func(b *testing.B) {
			b.SetBytes(8 * of)
			if text == "copy" {
				for b.Loop() {
					copy(x, base)
				}
				return
			}
			s := mustParse(b, text, of)
			a, err := New(*s, base, nil)
			if err != nil {
				b.Fatal(err)
			}
			c := numbers(s.Dim, 2)
			for b.Loop() {
				a.Expand(x, c)
			}
		})
	}
}
