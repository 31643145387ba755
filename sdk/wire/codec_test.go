package wire

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"

	"github.com/spade-dfl/spade-edge/sdk/admm"
)

func newCodec(t testing.TB, dim int) *Codec {
	t.Helper()
	c, err := NewCodec(dim)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustAppend(t testing.TB, c *Codec, f *admm.Message) []byte {
	t.Helper()
	b, err := c.Append(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.Length(f); err != nil || n != len(b) {
		t.Fatalf("%s: Length = %d, %v, want %d", f.Kind, n, err, len(b))
	}
	return b
}

func normals(n int, seed uint64) []float32 {
	s := rng.New(seed, rng.Address{Purpose: rng.Generate})
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(s.Normal())
	}
	return v
}

// anyFinite returns n floats with uniformly random bits, without NaN and infinities: incompressible data.
func anyFinite(n int, seed uint64) []float32 {
	s := rng.New(seed, rng.Address{Purpose: rng.Generate, Client: 1})
	v := make([]float32, n)
	for i := range v {
		for {
			if w := s.Uint32(); w&0x7f800000 != 0x7f800000 {
				v[i] = math.Float32frombits(w)
				break
			}
		}
	}
	return v
}

var specials = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, -math.MaxFloat32,
	math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32,
	math.Float32frombits(0x007fffff), math.Float32frombits(0x00800000), // largest subnormal, smallest normal
}

func repeated(x float32, n int) []float32 { return slices.Repeat([]float32{x}, n) }

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func sameFrame(a, b *admm.Message) bool {
	return a.Kind == b.Kind && a.Round == b.Round && a.Resent == b.Resent && a.Held == b.Held &&
		a.Incarnation == b.Incarnation &&
		sameBits(a.Vector, b.Vector) && slices.Equal(a.Grid, b.Grid)
}

// TestRoundTrip checks that every frame survives a round trip bit by bit and is no longer than its plain form, whatever
// frames the codec encoded or decoded earlier.
func TestRoundTrip(t *testing.T) {
	vectors := map[string][]float32{
		"specials":           specials,
		"zeros":              make([]float32, 100),
		"one coordinate":     {3},
		"normals":            normals(1000, 1),
		"few normals":        normals(17, 2),
		"any":                anyFinite(1000, 3),
		"block":              normals(blockSize, 4),
		"block and one":      normals(blockSize+1, 5),
		"two blocks and 11":  normals(2*blockSize+11, 6),
		"constant blocks":    repeated(-1.5, blockSize+700),
		"many specials":      slices.Repeat(specials, 50),
		"sorted":             slices.Sorted(slices.Values(normals(500, 7))),
		"half of it zeros":   append(make([]float32, 400), normals(400, 8)...),
		"one among zeros":    append(make([]float32, 99), 1),
		"head shrinks":       append(make([]float32, 16384), normals(2000, 9)...),
		"head shrinks twice": make([]float32, 16384),
	}
	messages := map[string]admm.Message{}
	for name, v := range vectors {
		messages[name] = admm.Message{Kind: admm.Release, Vector: v}
	}
	for name, g := range grids() {
		messages["grid "+name] = admm.Message{Kind: admm.Release, Grid: g}
	}
	for name, m := range messages {
		again, last := m, m
		again.Resent, again.Round, last.Round = true, maxRound, 1
		dim := len(m.Vector) + len(m.Grid)
		c := newCodec(t, dim)
		var got admm.Message
		frames := []*admm.Message{
			&m,
			{Kind: admm.Done, Round: 5},
			{Kind: admm.Done, Round: 70000, Resent: true},
			{Kind: admm.Probe, Round: 12, Held: 11},
			{Kind: admm.ProbeReply, Held: maxRound},
			&again,
		}
		if dim < 5000 { // what other releases leave behind
			frames = append(frames, &admm.Message{Kind: admm.Release, Round: 3, Grid: anyInts(dim, 9)},
				&admm.Message{Kind: admm.Release, Round: 5, Vector: normals(dim, 2)}, &last)
		}
		for _, f := range frames {
			b := mustAppend(t, c, f)
			if plain := 24 + 4*dim + 4*(1+dim/blockSize); len(b) > plain {
				t.Errorf("%s: %d bytes, above %d of the plain form", name, len(b), plain)
			}
			sent := slices.Clone(b)
			if err := c.Decode(b, &got); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			clear(b) // the message must not refer to the frame
			if !sameFrame(&got, f) {
				t.Errorf("%s, round %d: another frame came back", name, f.Round)
			}
			if fresh := mustAppend(t, newCodec(t, dim), &got); !bytes.Equal(fresh, sent) {
				t.Errorf("%s, round %d: a fresh codec writes other bytes", name, f.Round)
			}
		}
	}
}

// TestPlanesSize checks that compression shortens vectors as much as the package comment claims, and adds at most 0.1 %
// to incompressible vectors.
func TestPlanesSize(t *testing.T) {
	for _, c := range []struct {
		name     string
		v        []float32
		min, max float64 // four bytes for each number, divided by the frame's length
	}{
		{"10,000 normals", normals(10_000, 1), 1.15, 1.25},
		{"100,000 normals", normals(100_000, 1), 1.15, 1.25},
		{"nothing to gain", anyFinite(10_000, 1), 0.999, 1},
		{"zeros", make([]float32, 10_000), 1000, 1e9},
	} {
		b := mustAppend(t, newCodec(t, len(c.v)), &admm.Message{Kind: admm.Release, Round: 1, Vector: c.v})
		if ratio := float64(4*len(c.v)) / float64(len(b)); ratio < c.min || ratio > c.max {
			t.Errorf("%s: %.4f times shorter, want %g to %g", c.name, ratio, c.min, c.max)
		}
	}
}

func TestNewCodecRefuses(t *testing.T) {
	for _, dim := range []int{0, -1, MaxDim + 1} {
		_, err := NewCodec(dim)
		checkError(t, fmt.Sprint(dim), err, fmt.Sprintf("wire: dimension: found %d, wanted 1..268435456", dim))
	}
}

func TestDecodeUsesStorage(t *testing.T) {
	const dim = 1000
	codec, got := newCodec(t, dim), &admm.Message{Vector: make([]float32, dim), Grid: make([]int32, dim)}
	vector, grid := &got.Vector[0], &got.Grid[0]
	for _, f := range []*admm.Message{
		{Kind: admm.Release, Vector: normals(dim, 1)},
		{Kind: admm.Probe, Held: 4},
		{Kind: admm.Release, Grid: gridNormals(dim, 40, 1)},
		{Kind: admm.Release, Vector: normals(dim, 2)},
	} {
		if err := codec.Decode(mustAppend(t, codec, f), got); err != nil {
			t.Fatal(err)
		}
		if &got.Vector[:1][0] != vector || &got.Grid[:1][0] != grid {
			t.Errorf("%s: storage that was large enough was left", f.Kind)
		}
	}
}
