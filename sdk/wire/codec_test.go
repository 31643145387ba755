package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/fxamacker/cbor/v2"

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
	if n, err := c.Size(f); err != nil || n != len(b) {
		t.Fatalf("size of a frame of %d bytes: %d, %v", len(b), n, err)
	}
	return b
}

// normals returns n standard normal floats.
func normals(n int, seed uint64) []float32 {
	s := rng.New(seed, rng.Address{Purpose: rng.Generate})
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(s.Normal())
	}
	return v
}

// anyFinite returns n floats with uniformly random bits but for NaN and infinities: nothing to compress.
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

// specials holds the floats at the edges of the format.
var specials = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, -math.MaxFloat32,
	math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32,
	math.Float32frombits(0x007fffff), math.Float32frombits(0x00800000), // largest subnormal, smallest normal
}

func repeated(x float32, n int) []float32 { return slices.Repeat([]float32{x}, n) }

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// sameFrame compares frames bit by bit.
func sameFrame(a, b *admm.Message) bool {
	return a.Kind == b.Kind && a.Round == b.Round && a.Resent == b.Resent && a.Held == b.Held && a.Part == b.Part &&
		a.Generation == b.Generation && a.Incarnation == b.Incarnation &&
		sameBits(a.Vector, b.Vector) && slices.Equal(a.Grid, b.Grid)
}

// formOf tells by the library's generic decoder which key a frame's vector or grid has; 0 if it has none.
func formOf(t testing.TB, frame []byte) int {
	t.Helper()
	var m map[int]cbor.RawMessage
	if err := cbor.Unmarshal(frame, &m); err != nil {
		t.Fatal(err)
	}
	form := 0
	for key := keyVector; key <= keyPacked; key++ {
		if m[key] != nil {
			if form != 0 {
				t.Fatalf("frame %x has keys %d and %d", frame[:min(len(frame), 40)], form, key)
			}
			form = key
		}
	}
	return form
}

func usesPlanes(t testing.TB, frame []byte) bool {
	t.Helper()
	form := formOf(t, frame)
	if form != keyVector && form != keyPlanes {
		t.Fatalf("frame %x has no vector", frame[:min(len(frame), 40)])
	}
	return form == keyPlanes
}

// A frame by the library's own encoder, in core deterministic form: what Append must give for plain vectors.
func reference(t *testing.T, f *admm.Message) []byte {
	t.Helper()
	type float32LE []byte
	type int32LE []byte
	tags := cbor.NewTagSet()
	required := cbor.TagOptions{EncTag: cbor.EncTagRequired}
	err := errors.Join(tags.Add(required, reflect.TypeFor[float32LE](), 85),
		tags.Add(required, reflect.TypeFor[int32LE](), 78))
	if err != nil {
		t.Fatal(err)
	}
	mode, err := cbor.CoreDetEncOptions().EncModeWithTags(tags)
	if err != nil {
		t.Fatal(err)
	}
	var vector float32LE
	for _, x := range f.Vector {
		w := math.Float32bits(x)
		vector = append(vector, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	var grid int32LE
	for _, x := range f.Grid {
		grid = append(grid, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
	}
	var held *int
	var incarnation *uint64
	var part *uint8
	instance := uint64(f.Generation)<<48 + f.Incarnation
	kind, resent := f.Kind, f.Resent
	switch f.Kind {
	case admm.ProbeReply:
		held, incarnation, kind, resent = &f.Held, &instance, admm.Probe, true
	case admm.Probe:
		held, incarnation = &f.Held, &instance
	case admm.StateRequest:
		incarnation, part = &instance, (*uint8)(&f.Part)
	case admm.StateResponse:
		held, incarnation, part = &f.Held, &instance, (*uint8)(&f.Part)
	}
	b, err := mode.Marshal(struct {
		Version     int       `cbor:"1,keyasint"`
		Kind        int       `cbor:"2,keyasint"`
		Round       int       `cbor:"3,keyasint"`
		Resent      bool      `cbor:"4,keyasint,omitempty"`
		Vector      float32LE `cbor:"5,keyasint,omitempty"`
		Grid        int32LE   `cbor:"7,keyasint,omitempty"`
		Held        *int      `cbor:"9,keyasint,omitempty"`
		Incarnation *uint64   `cbor:"10,keyasint,omitempty"`
		Part        *uint8    `cbor:"11,keyasint,omitempty"`

		Own         []byte `cbor:"12,keyasint,omitempty"`
		Proof       []byte `cbor:"13,keyasint,omitempty"`
		Other       []byte `cbor:"14,keyasint,omitempty"`
		Ledger      []byte `cbor:"15,keyasint,omitempty"`
		Countersign []byte `cbor:"16,keyasint,omitempty"`
		Offer       []byte `cbor:"17,keyasint,omitempty"`
		Stops       []byte `cbor:"18,keyasint,omitempty"`
	}{1, int(kind), f.Round, resent, vector, grid, held, incarnation, part, f.Signed.Own, f.Signed.Proof, f.Signed.Other,
		f.Signed.Ledger, f.Signed.Countersign, f.Signed.Offer, f.Signed.Stops})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAppendIsCoreDeterministicCBOR(t *testing.T) {
	for _, round := range []int{0, 1, 23, 24, 255, 256, 65535, 65536, maxRound} {
		for _, resent := range []bool{false, true} {
			probe := admm.Probe
			if resent {
				probe = admm.ProbeReply
			}
			for _, dim := range []int{1, 5, 6, 10, 63, 64, 1000, 16383, 16384} {
				for _, f := range []*admm.Message{
					{Kind: admm.EdgeMessage, Round: round, Resent: resent, Vector: anyFinite(dim, 1)},
					{Kind: admm.Release, Round: round, Resent: resent, Vector: anyFinite(dim, 1)},
					{Kind: admm.Release, Round: round, Resent: resent, Grid: anyInts(dim, 1)},
				} {
					if got, want := mustAppend(t, newCodec(t, dim), f), reference(t, f); !bytes.Equal(got, want) {
						t.Errorf("%s of round %d, dimension %d: %x..., want %x...", f.Kind, round, dim, got[:16], want[:16])
					}
				}
			}
			for _, f := range []*admm.Message{
				{Kind: admm.Done, Round: round, Resent: resent},
				{Kind: probe, Round: round, Held: maxRound - round, Generation: 0xffff, Incarnation: 0xffffffffffff},
				{Kind: probe, Round: round},
				{Kind: admm.StateRequest, Round: round, Resent: resent, Incarnation: 7},
				{Kind: admm.StateRequest, Round: round, Resent: resent, Generation: 0xffff, Incarnation: 0xffffffffffff,
					Part: admm.ResponderBase},
				{Kind: admm.StateResponse, Round: round, Resent: resent, Held: maxRound - round, Generation: 0xffff,
					Incarnation: 0xffffffffffff},
				{Kind: admm.StateResponse, Round: round, Resent: resent, Held: 1, Part: admm.ResponderZ},
			} {
				if got, want := mustAppend(t, newCodec(t, 3), f), reference(t, f); !bytes.Equal(got, want) {
					t.Errorf("%s of round %d: %x, want %x", f.Kind, round, got, want)
				}
			}
		}
	}
}

// Every frame comes back bit by bit, within the bound, and whatever was encoded or decoded before.
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
	for name, v := range vectors {
		t.Run(name, func(t *testing.T) {
			c := newCodec(t, len(v))
			var got admm.Message
			for _, f := range []*admm.Message{
				{Kind: admm.EdgeMessage, Round: 0, Vector: v},
				{Kind: admm.EdgeMessage, Round: maxRound, Resent: true, Vector: v},
				{Kind: admm.Done, Round: 5},
				{Kind: admm.Done, Round: 70000, Resent: true},
				{Kind: admm.Release, Round: 9, Vector: v},
				{Kind: admm.Probe, Round: 12, Held: 11},
				{Kind: admm.ProbeReply, Held: maxRound},
				{Kind: admm.EdgeMessage, Round: 1, Vector: v},
			} {
				b := mustAppend(t, c, f)
				if len(b) > MaxFrame(len(v)) {
					t.Errorf("%d bytes, above MaxFrame = %d", len(b), MaxFrame(len(v)))
				}
				sent := slices.Clone(b)
				if err := c.Decode(b, &got); err != nil {
					t.Fatal(err)
				}
				clear(b) // nothing of the frame may be in use any more
				if !sameFrame(&got, f) {
					t.Errorf("round %d: another frame came back", f.Round)
				}
				if fresh := mustAppend(t, newCodec(t, len(v)), &got); !bytes.Equal(fresh, sent) {
					t.Errorf("round %d: a fresh codec writes other bytes", f.Round)
				}
			}
		})
	}
}

// One codec, many vectors: no frame depends on the one before it.
func TestFramesAreIndependent(t *testing.T) {
	const dim = 3000
	c := newCodec(t, dim)
	vectors := [][]float32{normals(dim, 1), anyFinite(dim, 2), make([]float32, dim), normals(dim, 3), normals(dim, 1)}
	for i, v := range vectors {
		f := &admm.Message{Kind: admm.EdgeMessage, Vector: v}
		b := mustAppend(t, c, f)
		if !bytes.Equal(b, mustAppend(t, newCodec(t, dim), f)) {
			t.Errorf("vector %d: the encoding depends on what was encoded before", i)
		}
		var got admm.Message
		if err := newCodec(t, dim).Decode(b, &got); err != nil || !sameFrame(&got, f) {
			t.Errorf("vector %d: decoding needs what was decoded before: %v", i, err)
		}
	}
}

// Compression is used where it pays, and only there.
func TestPlanesChosen(t *testing.T) {
	for _, c := range []struct {
		name     string
		v        []float32
		planes   bool
		min, max float64 // ratio of the plain frame's length to the frame's
	}{
		{"10 normals", normals(10, 1), false, 1, 1},
		{"10,000 normals", normals(10_000, 1), true, 1.15, 1.25},
		{"100,000 normals", normals(100_000, 1), true, 1.15, 1.25},
		{"nothing to gain", anyFinite(10_000, 1), false, 1, 1},
		{"zeros", make([]float32, 10_000), true, 1000, 1e9},
	} {
		f := &admm.Message{Kind: admm.EdgeMessage, Round: 1, Vector: c.v}
		b := mustAppend(t, newCodec(t, len(c.v)), f)
		ratio := float64(len(reference(t, f))) / float64(len(b))
		if usesPlanes(t, b) != c.planes || ratio < c.min || ratio > c.max {
			t.Errorf("%s: planes %v, %.3f times shorter; want %v, %g to %g", c.name, !c.planes, ratio, c.planes, c.min, c.max)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		f    admm.Message
		want string
	}{
		{"no kind", admm.Message{Vector: []float32{1, 2}}, "wire: frame: kind: found 0, wanted 1..8"},
		{"kind 9", admm.Message{Kind: 9}, "kind: found 9"},
		{"probe resent", admm.Message{Kind: admm.Probe, Resent: true}, "resent: found true, wanted none with kind probe"},
		{"reply resent", admm.Message{Kind: admm.ProbeReply, Resent: true},
			"resent: found true, wanted none with kind probe reply"},
		{"incarnation above", admm.Message{Kind: admm.Probe, Incarnation: 1 << 48},
			"incarnation: found 281474976710656, wanted 0..281474976710655"},
		{"double without proof", admm.Message{Kind: admm.Conflict, Signed: admm.Signed{Other: []byte{1}}},
			"proof: found nothing, wanted it with kind conflict"},
		{"own of a done", admm.Message{Kind: admm.Done, Signed: admm.Signed{Own: []byte{1}}},
			"own: found 1 bytes, wanted none with kind done"},
		{"proof of a release", admm.Message{Kind: admm.Release, Vector: []float32{1, 2},
			Signed: admm.Signed{Proof: []byte{1}}}, "proof: found 1 bytes, wanted none with kind release"},
		{"long own", admm.Message{Kind: admm.Probe, Signed: admm.Signed{Own: make([]byte, 257)}},
			"own: found 257 bytes, wanted at most 256"},
		{"all of them long", admm.Message{Kind: admm.Probe,
			Signed: admm.Signed{Own: make([]byte, 200), Proof: make([]byte, 200), Other: make([]byte, 200)}},
			"found 600 bytes, wanted at most 448 together"},
		{"round below", admm.Message{Kind: admm.Done, Round: -1}, "round: found -1, wanted 0..2147483647"},
		{"short vector", admm.Message{Kind: admm.EdgeMessage, Vector: []float32{1}}, "vector: found 1 coordinates, wanted 2"},
		{"long vector", admm.Message{Kind: admm.EdgeMessage, Vector: []float32{1, 2, 3}},
			"vector: found 3 coordinates, wanted 2"},
		{"no vector", admm.Message{Kind: admm.EdgeMessage},
			"vector: found neither it nor planes nor a grid, wanted one of them with kind message"},
		{"vector with done", admm.Message{Kind: admm.Done, Vector: []float32{1, 2}},
			"vector: found 2 coordinates, wanted none with kind done"},
		{"NaN", admm.Message{Kind: admm.EdgeMessage, Vector: []float32{0, nan}},
			"vector: found NaN at coordinate 1, wanted a finite number"},
		{"Inf", admm.Message{Kind: admm.EdgeMessage, Vector: []float32{inf, 0}},
			"vector: found +Inf at coordinate 0, wanted a finite number"},
		{"-Inf", admm.Message{Kind: admm.EdgeMessage, Vector: []float32{-inf, 0}}, "vector: found -Inf at coordinate 0"},
		{"grid with message", admm.Message{Kind: admm.EdgeMessage, Vector: []float32{1, 2}, Grid: []int32{1, 2}},
			"grid: found 2 coordinates, wanted none with kind message"},
		{"grid with done", admm.Message{Kind: admm.Done, Grid: []int32{1}},
			"grid: found 1 coordinates, wanted none with kind done"},
		{"grid with probe", admm.Message{Kind: admm.Probe, Grid: []int32{1}},
			"grid: found 1 coordinates, wanted none with kind probe"},
		{"vector with probe", admm.Message{Kind: admm.Probe, Vector: []float32{1}},
			"vector: found 1 coordinates, wanted none with kind probe"},
		{"empty release", admm.Message{Kind: admm.Release},
			"vector: found neither it nor planes nor a grid, wanted one of them with kind release"},
		{"short release", admm.Message{Kind: admm.Release, Vector: []float32{1}}, "vector: found 1 coordinates, wanted 2"},
		{"long grid", admm.Message{Kind: admm.Release, Grid: []int32{1, 2, 3}}, "grid: found 3 coordinates, wanted 2"},
		{"release of both", admm.Message{Kind: admm.Release, Vector: []float32{1, 2}, Grid: []int32{1, 2}},
			"vector: found one and grid as well, wanted one of them"},
		{"NaN in a release", admm.Message{Kind: admm.Release, Vector: []float32{0, nan}},
			"vector: found NaN at coordinate 1"},
		{"held with release", admm.Message{Kind: admm.Release, Grid: []int32{1, 2}, Held: 1},
			"held: found 1, wanted none with kind release"},
		{"held below", admm.Message{Kind: admm.Probe, Held: -1}, "held: found -1, wanted 0..2147483647"},
		{"vector with state request", admm.Message{Kind: admm.StateRequest, Part: admm.RequesterZ, Vector: []float32{1, 2}},
			"vector: found 2 coordinates, wanted none with kind state request"},
		{"held with state request", admm.Message{Kind: admm.StateRequest, Held: 1},
			"held: found 1, wanted none with kind state request"},
		{"part of nothing", admm.Message{Kind: admm.StateRequest, Part: 6}, "part: found 6, wanted 0..5"},
		{"part with probe", admm.Message{Kind: admm.Probe, Part: 1}, "part: found 1, wanted none with kind probe"},
		{"incarnation with done", admm.Message{Kind: admm.Done, Incarnation: 1},
			"incarnation: found 0 and 1, wanted none with kind done"},
		{"vector with a standing", admm.Message{Kind: admm.StateResponse, Vector: []float32{1, 2}},
			"vector: found 2 coordinates, wanted none with kind state response"},
		{"grid for z", admm.Message{Kind: admm.StateResponse, Part: admm.ResponderZ, Grid: []int32{1, 2}},
			"grid: found 2 coordinates, wanted none with kind state response"},
		{"vector for a place", admm.Message{Kind: admm.StateResponse, Part: admm.RequesterBase, Vector: []float32{1, 2}},
			"vector: found 2 coordinates, wanted none with kind state response"},
		{"both", admm.Message{Kind: admm.StateResponse, Part: admm.SentRelease, Vector: []float32{1, 2}, Grid: []int32{1, 2}},
			"vector: found one and grid as well, wanted one of them"},
		{"a short z", admm.Message{Kind: admm.StateResponse, Part: admm.RequesterZ, Vector: []float32{1}},
			"vector: found 1 coordinates, wanted 2"},
		{"all at once", admm.Message{Kind: admm.EdgeMessage, Round: -7},
			"round: found -7, wanted 0..2147483647\nvector: found neither"},
	} {
		dst := []byte("before")
		got, err := newCodec(t, 2).Append(dst, &c.f)
		if string(got) != "before" {
			t.Errorf("%s: dst became %q", c.name, got)
		}
		checkError(t, c.name, err, c.want)
	}
}

func TestNewCodecRefuses(t *testing.T) {
	for _, dim := range []int{0, -1, MaxDim + 1} {
		_, err := NewCodec(dim)
		checkError(t, fmt.Sprint(dim), err, fmt.Sprintf("wire: dimension: found %d, wanted 1..268435456", dim))
	}
}

// Append leaves what is before its frame alone, and does not move a buffer that is large enough.
func TestAppendUsesDst(t *testing.T) {
	for name, v := range map[string][]float32{"plain": anyFinite(500, 1), "planes": normals(500, 1),
		"zeros": make([]float32, 500)} {
		c := newCodec(t, len(v))
		f := &admm.Message{Kind: admm.EdgeMessage, Round: 3, Vector: v}
		want := mustAppend(t, c, f)
		dst := make([]byte, 3, 3+MaxFrame(len(v)))
		copy(dst, "abc")
		got, err := c.Append(dst, f)
		if err != nil {
			t.Fatal(err)
		}
		if string(got[:3]) != "abc" || !bytes.Equal(got[3:], want) {
			t.Errorf("%s: appended bytes differ", name)
		}
		if &got[0] != &dst[0] {
			t.Errorf("%s: a buffer with MaxFrame to spare was left", name)
		}
	}
}

// The steady state allocates nothing, however long the vector.
func TestAllocations(t *testing.T) {
	const dim = 10_000
	for _, c := range []struct {
		f    admm.Message
		form int
	}{
		{admm.Message{Kind: admm.EdgeMessage, Vector: anyFinite(dim, 1)}, keyVector},
		{admm.Message{Kind: admm.EdgeMessage, Vector: normals(dim, 1)}, keyPlanes},
		{admm.Message{Kind: admm.Release, Grid: anyInts(dim, 1)}, keyGrid},
		{admm.Message{Kind: admm.Release, Grid: gridNormals(dim, 1, 1)}, keyPacked},
		{admm.Message{Kind: admm.Release, Grid: gridNormals(dim, 40, 1)}, keyPacked},
		{admm.Message{Kind: admm.Probe, Held: 4}, 0},
	} {
		codec := newCodec(t, dim)
		buf := make([]byte, 0, MaxFrame(dim))
		f, got := &c.f, &admm.Message{Vector: make([]float32, dim), Grid: make([]int32, dim)}
		vector, grid := &got.Vector[0], &got.Grid[0]
		both := func() {
			var err error
			if buf, err = codec.Append(buf[:0], f); err != nil {
				t.Fatal(err)
			}
			if err := codec.Decode(buf, got); err != nil {
				t.Fatal(err)
			}
		}
		both()
		if formOf(t, buf) != c.form {
			t.Fatalf("%s: another form than %d was chosen", f.Kind, c.form)
		}
		runs := 50
		if raceDetector {
			runs = 5
		}
		if n := testing.AllocsPerRun(runs, both); n > 0 && !raceDetector {
			t.Errorf("%s of form %d: %v allocations for a frame there and back", f.Kind, c.form, n)
		}
		if &got.Vector[:1][0] != vector || &got.Grid[:1][0] != grid {
			t.Errorf("%s of form %d: Decode left storage that was large enough", f.Kind, c.form)
		}
		if n := allocated(func() {
			for range runs {
				both()
			}
		}) / uint64(runs); n > 2048 && !raceDetector {
			t.Errorf("%s of form %d: %d bytes allocated for a frame there and back", f.Kind, c.form, n)
		}
	}
}

// One goroutine may encode while another decodes; the race detector watches.
func TestAppendBesideDecode(t *testing.T) {
	const dim = 2000
	c := newCodec(t, dim)
	f := &admm.Message{Kind: admm.EdgeMessage, Round: 1, Vector: normals(dim, 1)}
	frame := mustAppend(t, c, f)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 50 {
			if b, err := c.Append(nil, f); err != nil || !bytes.Equal(b, frame) {
				t.Error("another frame", err)
			}
		}
	})
	wg.Go(func() {
		var got admm.Message
		for range 50 {
			if err := c.Decode(frame, &got); err != nil || !sameFrame(&got, f) {
				t.Error("another frame", err)
			}
		}
	})
	wg.Wait()
}

func BenchmarkCodec(b *testing.B) {
	const dim = 100_000
	for _, bench := range []struct {
		name string
		f    admm.Message
	}{
		{"plain", admm.Message{Kind: admm.EdgeMessage, Vector: anyFinite(dim, 1)}},
		{"planes", admm.Message{Kind: admm.EdgeMessage, Vector: normals(dim, 1)}},
		{"grid", admm.Message{Kind: admm.Release, Grid: anyInts(dim, 1)}},
		{"packed", admm.Message{Kind: admm.Release, Grid: gridNormals(dim, 40, 1)}},
		{"pairs", admm.Message{Kind: admm.Release, Grid: gridNormals(dim, 1, 1)}},
	} {
		c, got := newCodec(b, dim), &admm.Message{}
		frame := mustAppend(b, c, &bench.f)
		b.Run("append/"+bench.name, func(b *testing.B) {
			b.SetBytes(4 * dim)
			for b.Loop() {
				frame, _ = c.Append(frame[:0], &bench.f)
			}
		})
		b.Run("decode/"+bench.name, func(b *testing.B) {
			b.SetBytes(4 * dim)
			for b.Loop() {
				if err := c.Decode(frame, got); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What was signed travels as it is, with every kind that may have it, and an old frame's storage is used again.
func TestSignedFieldsRoundTrip(t *testing.T) {
	b := func(n int, v byte) []byte { return bytes.Repeat([]byte{v}, n) }
	c := newCodec(t, 3)
	var got admm.Message
	for _, f := range []*admm.Message{
		{Kind: admm.EdgeMessage, Round: 1, Vector: []float32{1, 2, 3}, Signed: admm.Signed{Own: b(196, 1)}},
		{Kind: admm.Release, Round: 2, Grid: []int32{1 << 30, -1 << 30, 1<<30 + 1}, Signed: admm.Signed{Own: b(23, 1)}},
		{Kind: admm.Probe, Round: 3, Held: 2, Incarnation: 9,
			Signed: admm.Signed{Own: b(196, 2), Proof: b(196, 3), Ledger: b(16, 4)}},
		{Kind: admm.ProbeReply, Round: 3, Held: 2, Incarnation: 9, Signed: admm.Signed{Proof: b(192, 3), Other: b(256, 4)}},
		{Kind: admm.ProbeReply, Round: maxRound, Held: maxRound, Generation: 1<<16 - 1, Incarnation: 1<<48 - 1,
			Signed: admm.Signed{Proof: b(192, 3), Other: b(256, 4), Offer: b(102, 5)}},
		{Kind: admm.Done, Round: 4, Signed: admm.Signed{Proof: b(24, 5), Countersign: b(64, 6)}},
		{Kind: admm.StateResponse, Round: 4, Held: 1, Incarnation: 1, Part: admm.SentRelease, Vector: []float32{1, 2, 3},
			Signed: admm.Signed{Proof: b(196, 7)}},
		{Kind: admm.Conflict, Round: 4, Signed: admm.Signed{Proof: b(196, 8), Other: b(196, 9)}},
		{Kind: admm.Release, Round: 5, Grid: []int32{1 << 30, -1 << 30, 1<<30 + 1}, Signed: admm.Signed{Own: b(196, 1), Stops: b(72, 2)}},
		{Kind: admm.Done, Round: 5, Signed: admm.Signed{Proof: b(196, 1), Countersign: b(64, 2), Stops: b(8*72, 2)}},
		{Kind: admm.ProbeReply, Round: maxRound, Held: maxRound, Generation: 1<<16 - 1, Incarnation: 1<<48 - 1,
			Signed: admm.Signed{Proof: b(192, 3), Other: b(256, 4), Offer: b(102, 5), Stops: b(8*72, 6)}},
		{Kind: admm.Done, Round: 4},
	} {
		frame := mustAppend(t, c, f)
		if want := reference(t, f); !bytes.Equal(frame, want) {
			t.Errorf("%s: %x, want %x", f.Kind, frame, want)
		}
		if len(frame) > MaxFrame(3) {
			t.Errorf("%s: %d bytes, above %d", f.Kind, len(frame), MaxFrame(3))
		}
		if err := c.Decode(frame, &got); err != nil {
			t.Fatalf("%s: %v", f.Kind, err)
		}
		clear(frame)
		if again := mustAppend(t, c, &got); !bytes.Equal(again, mustAppend(t, c, f)) {
			t.Errorf("%s: came back as %+v", f.Kind, got)
		}
	}
}
