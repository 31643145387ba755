package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

func checkError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want %q", name, want)
	} else if !strings.HasPrefix(err.Error(), "wire: ") || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %q does not say %q", name, err, want)
	}
}

// raw is an encoded item that may be malformed.
type raw []byte

// enc encodes a value with the CBOR library. It returns a value of type raw unchanged.
func enc(v any) []byte {
	if r, ok := v.(raw); ok {
		return r
	}
	b, err := cbor.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// pairs builds a map from alternating keys and values, in that order.
func pairs(kv ...any) []byte {
	b := []byte{0xa0 | byte(len(kv)/2)}
	for _, x := range kv {
		b = append(b, enc(x)...)
	}
	return b
}

// vector returns the uncompressed encoding of a vector, as in a frame.
func vector(v ...float32) []byte {
	var b []byte
	for plane := range 4 {
		b = append(b, blockRaw)
		for _, x := range v {
			b = append(b, byte(math.Float32bits(x)>>(8*plane)))
		}
	}
	return b
}

// grid returns the uncompressed encoding of a grid, as in a frame.
func grid(v ...int32) []byte {
	b := []byte{gridPlain}
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

var nan, inf = float32(math.NaN()), float32(math.Inf(1))

// malformedFrames has one frame for each error, at dimension 2, with the expected message.
var malformedFrames = []struct {
	name  string
	frame []byte
	want  string
}{
	{"nothing", nil, "EOF"},
	{"number", enc(7), "cbor: cannot unmarshal positive integer into Go value of type wire.frame"},
	{"null", enc(nil), "wanted deterministic CBOR"},
	{"empty map", pairs(), "wanted deterministic CBOR"},
	{"trailing byte", append(pairs(1, 1, 2, 1, 3, 0), 0), "extraneous data"},
	{"cut in the vector", pairs(1, 1, 2, 2, 3, 0, 5, vector(1, 2))[:14], "unexpected EOF"},
	{"indefinite map", []byte{0xbf, 1, 1, 2, 2, 3, 0, 0xff}, "indefinite-length map isn't allowed"},
	{"nesting", pairs(1, raw{0x81, 0x81, 0x81, 0x81, 0x01}, 2, 1, 3, 0), "exceeded max nested level 4"},
	{"long array", pairs(1, make([]int, 17), 2, 1, 3, 0), "cbor: cannot unmarshal array into Go struct field wire.frame.1 of type uint64"},
	{"duplicate key", pairs(1, 1, 2, 1, 3, 0, 2, 1), "cbor: found duplicate map key 2 at map element index 3"},
	{"key 13", pairs(1, 1, 2, 1, 3, 0, 13, 1), "cbor: found unknown field at map element index 3"},
	{"own empty", pairs(1, 1, 2, 3, 3, 0, 7, 0, 8, 0, 9, []byte{}), "wanted deterministic CBOR"},
	{"text key", pairs(1, 1, "kind", 2, 3, 0), "cbor: found unknown field at map element index 1"},
	{"overlong key", pairs(raw{0x18, 1}, 1, 2, 1, 3, 0), "wanted deterministic CBOR"},
	{"no version", pairs(2, 1, 3, 0), "wanted deterministic CBOR"},
	{"version 0", pairs(1, 0, 2, 1, 3, 0), "version: found 0, wanted 1"},
	{"version 2", pairs(1, 2, 2, 1, 3, 0), "version: found 2, wanted 1"},
	{"version in a tag", pairs(1, raw{0xd8, 85, 1}, 2, 1, 3, 0), "cbor: CBOR tag isn't allowed"},
	{"kind 0", pairs(1, 1, 2, 0, 3, 0), "kind: found 0, wanted a known kind"},
	{"kind 5", pairs(1, 1, 2, 5, 3, 0, 7, 0, 8, 0), "kind: found 5, wanted a known kind"}, // a probe reply is a probe
	{"kind 257", pairs(1, 1, 2, 257, 3, 0), "kind: found 257, wanted a known kind"},       // 1 in the lowest byte
	{"probe of an incarnation too high", pairs(1, 1, 2, 3, 3, 0, 7, 0, 8, uint64(1<<48)),
		"incarnation: found 281474976710656, wanted at most 281474976710655"},
	{"probe of the highest incarnation", pairs(1, 1, 2, 3, 3, 0, 7, 0, 8, uint64(math.MaxUint64)), "incarnation: found 18446744073709551615, wanted at most"},
	{"kind text", pairs(1, 1, 2, "done", 3, 0), "cbor: cannot unmarshal UTF-8 text string into Go struct field wire.frame.2 of type uint64"},
	{"round negative", pairs(1, 1, 2, 1, 3, -1), "cbor: cannot unmarshal negative integer into Go struct field wire.frame.3 of type uint64"},
	{"round too high", pairs(1, 1, 2, 1, 3, uint32(1<<31)), "round: found 2147483648, wanted"},
	{"round absurd", pairs(1, 1, 2, 1, 3, uint64(math.MaxUint64)), "round: found 18446744073709551615, wanted at most 2147483647"},
	{"resent false", pairs(1, 1, 2, 1, 3, 0, 4, false), "wanted deterministic CBOR"},
	{"resent null", pairs(1, 1, 2, 1, 3, 0, 4, nil), "wanted deterministic CBOR"},
	{"vector short", pairs(1, 1, 2, 2, 3, 0, 5, vector(1)),
		"vector: plane 2, block 0: found 1 bytes in a block of form 0, wanted at least 2"},
	{"vector long", pairs(1, 1, 2, 2, 3, 0, 5, vector(1, 2, 3)), "vector: plane 3, block 0: found a block of form 128, wanted 0, 1 or 2"},
	{"vector with NaN", pairs(1, 1, 2, 2, 3, 0, 5, vector(1, nan)),
		"vector: found NaN at coordinate 1, wanted a finite number"},
	{"vector with Inf", pairs(1, 1, 2, 2, 3, 0, 5, vector(inf, 1)), "vector: found +Inf at coordinate 0"},
	{"vector empty", pairs(1, 1, 2, 2, 3, 0, 5, []byte{}), "wanted deterministic CBOR"},
	{"grid short", pairs(1, 1, 2, 2, 3, 0, 6, grid(1)), "grid: block 0: found 4 plain bytes, wanted 8"},
	{"grid long", pairs(1, 1, 2, 2, 3, 0, 6, grid(1, 2, 3)), "grid: found 4 bytes after the last block, wanted none"},
	{"grid of 1 GiB", pairs(1, 1, 2, 2, 3, 0, 6, raw{0x5a, 0x40, 0, 0, 0, 0, 0}), "unexpected EOF"},
	{"grid empty", pairs(1, 1, 2, 2, 3, 0, 6, []byte{}), "wanted deterministic CBOR"},
	{"held too high", pairs(1, 1, 2, 3, 3, 0, 7, uint32(1<<31), 8, 0), "held: found 2147483648, wanted at most 2147483647"},
	{"too long", append(pairs(1, 1, 2, 1, 3, 0), make([]byte, 9200)...),
		"found 9207 bytes, wanted at most 2209 for dimension 2"},
	{"other order", pairs(1, 1, 3, 0, 2, 1), "wanted deterministic CBOR"},
	{"a hello", mustHello(leastHello), "cbor: cannot unmarshal UTF-8 text string into Go struct field wire.frame.2 of type uint64"},
}

func TestDecodeRefuses(t *testing.T) {
	c := newCodec(t, 2)
	for _, m := range malformedFrames {
		var f admm.Message
		checkError(t, m.name, c.Decode(m.frame, &f), m.want)
	}
	// The same codec still decodes a valid frame.
	var f admm.Message
	if err := c.Decode(pairs(1, 1, 2, 2, 3, 9, 5, vector(1, 2)), &f); err != nil ||
		!sameFrame(&f, &admm.Message{Kind: admm.Release, Round: 9, Vector: []float32{1, 2}}) {
		t.Errorf("%+v, %v", f, err)
	}
}

// frameFields lists the fields that only some kinds have: a valid encoded value of each, and how to set it in a
// message.
var frameFields = []struct {
	key   int
	name  string
	value any
	set   func(*admm.Message)
}{
	{4, "resent", true, func(m *admm.Message) { m.Resent = true }},
	{5, "vector", vector(1, 2), func(m *admm.Message) { m.Vector = []float32{1, 2} }},
	{6, "grid", grid(1, 2), func(m *admm.Message) { m.Grid = []int32{1, 2} }},
	{7, "held", 3, func(m *admm.Message) { m.Held = 3 }},
	{8, "incarnation", 4, func(m *admm.Message) { m.Incarnation = 4 }},
	{9, "own", []byte{1}, func(m *admm.Message) { m.Signed.Own = []byte{1} }},
	{10, "proof", []byte{2}, func(m *admm.Message) { m.Signed.Proof = []byte{2} }},
	{11, "other", []byte{3}, func(m *admm.Message) { m.Signed.Other = []byte{3} }},
	{12, "countersign", []byte{5}, func(m *admm.Message) { m.Signed.Countersign = []byte{5} }},
}

// TestFieldsOfKinds checks that, for each kind, Append and Decode allow exactly the fields that the table in FORMAT.md
// lists.
func TestFieldsOfKinds(t *testing.T) {
	for _, kind := range []struct {
		kind      admm.Kind
		onWire    int
		must, may []int
	}{
		{admm.Done, 1, nil, []int{4, 10, 12}},
		{admm.Release, 2, []int{5}, []int{4, 9}},
		{admm.Release, 2, []int{6}, []int{4, 9}},
		{admm.Probe, 3, []int{7, 8}, []int{9, 10, 11}},
		{admm.ProbeReply, 3, []int{4, 7, 8}, []int{9, 10, 11}},
		{admm.Conflict, 4, []int{10, 11}, []int{4, 7, 9}},
	} {
		// try decodes a frame that has the fields with the given keys and, unless decodeOnly is set, encodes the same
		// message. The error must contain want; an empty want means no error.
		try := func(keys []int, want string, decodeOnly bool) {
			t.Helper()
			name := fmt.Sprintf("%s with %v", kind.kind, keys)
			fields, m := map[int]any{1: 1, 2: kind.onWire, 3: 8}, admm.Message{Kind: kind.kind, Round: 8}
			for _, f := range frameFields {
				if !slices.Contains(keys, f.key) {
					continue
				}
				if fields[f.key] = f.value; f.key != 4 || kind.kind != admm.ProbeReply {
					f.set(&m)
				}
			}
			var got, again admm.Message
			c := newCodec(t, 2)
			err := c.Decode(withKeys(fields, nil), &got)
			if want != "" {
				checkError(t, name, err, want)
				if !decodeOnly {
					_, err = c.Append(nil, &m)
					checkError(t, name+", encoded", err, want)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, m) {
				t.Errorf("%s: decoded as %+v, %v, want %+v", name, got, err, m)
			}
			if err := c.Decode(mustAppend(t, c, &m), &again); err != nil || !reflect.DeepEqual(again, m) {
				t.Errorf("%s: came back as %+v, %v, want %+v", name, again, err, m)
			}
		}
		try(kind.must, "", false)
		try(slices.Concat(kind.must, kind.may), "", false)
		either := kind.kind == admm.Release
		for _, f := range frameFields {
			payload := either && (f.key == 5 || f.key == 6)
			with := append(slices.Clone(kind.must), f.key)
			switch {
			case f.key == 4 && kind.onWire == 3: // this field turns a probe into a probe reply, and vice versa
			case slices.Contains(kind.must, f.key):
				want := fmt.Sprintf("%s: not found, wanted in every frame of kind %s", f.name, kind.kind)
				if payload {
					want = "vector: found 0 bytes, and grid 0, wanted exactly one of the two fields"
				}
				without := slices.DeleteFunc(slices.Clone(kind.must), func(k int) bool { return k == f.key })
				try(without, want, f.key == 7 || f.key == 8) // every message has these two fields, even as 0
			case slices.Contains(kind.may, f.key):
				try(with, "", false)
			case payload:
				try(with, "wanted exactly one of the two fields", false)
			default:
				try(with, fmt.Sprintf("%s: found in a frame of kind %s, wanted the field absent", f.name, kind.kind), false)
			}
		}
	}
}

// TestDecodeRefusesParts checks that Decode refuses a frame that was cut anywhere, and a release of another dimension.
func TestDecodeRefusesParts(t *testing.T) {
	for _, sent := range []*admm.Message{
		{Kind: admm.Release, Round: 300, Resent: true, Vector: anyFinite(50, 1)},
		{Kind: admm.Release, Round: 300, Resent: true, Vector: normals(500, 1)},
		{Kind: admm.Release, Round: 300, Resent: true, Grid: anyInts(50, 1)},
		{Kind: admm.Release, Round: 300, Resent: true, Grid: withOutliers(40)},
		{Kind: admm.Release, Round: 300, Resent: true, Grid: withOutliers(2000)},
		{Kind: admm.Release, Round: 300, Resent: true, Grid: gridNormals(2001, 40, 1)},
		{Kind: admm.ProbeReply, Round: 300, Held: 300},
	} {
		n := len(sent.Vector) + len(sent.Grid)
		frame := mustAppend(t, newCodec(t, max(1, n)), sent)
		var f admm.Message
		for cut, c := 0, newCodec(t, max(1, n)); cut < len(frame); cut++ {
			if c.Decode(frame[:cut], &f) == nil {
				t.Errorf("%d of %d bytes were accepted as a frame", cut, len(frame))
			}
		}
		for _, dim := range []int{n / 2, n - 8, n - 1, n + 8, 2 * n} {
			if n > 0 {
				checkError(t, "another dimension", newCodec(t, dim).Decode(frame, &f), ": ")
			}
		}
	}
}

// FuzzDecode checks that Decode does not panic, and that an accepted frame survives a second round trip unchanged.
func FuzzDecode(f *testing.F) {
	for _, m := range malformedFrames {
		f.Add(m.frame, 2)
	}
	for _, v := range [][]float32{specials, normals(100, 1), make([]float32, 10),
		append(make([]float32, 60), normals(60, 2)...)} {
		c := newCodec(f, len(v))
		f.Add(mustAppend(f, c, &admm.Message{Kind: admm.Release, Round: 1000, Resent: true, Vector: v}), len(v))
		f.Add(mustAppend(f, c, &admm.Message{Kind: admm.Done, Round: 3}), len(v))
		f.Add(mustAppend(f, c, &admm.Message{Kind: admm.Release, Round: 3, Vector: v,
			Signed: admm.Signed{Own: make([]byte, signed.Size)}}), len(v))
	}
	for _, g := range grids() {
		if len(g) <= 5000 {
			f.Add(mustAppend(f, newCodec(f, len(g)), &admm.Message{Kind: admm.Release, Round: 1000, Grid: g}), len(g))
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte, dim int) {
		if dim > 1<<20 {
			return
		}
		c, err := NewCodec(dim)
		if err != nil {
			return
		}
		var first, second admm.Message
		if c.Decode(frame, &first) != nil {
			return
		}
		b := mustAppend(t, c, &first)
		if len(frame) > MaxFrame(dim) || len(b) > MaxFrame(dim) {
			t.Fatalf("frames of %d and %d bytes, above %d", len(frame), len(b), MaxFrame(dim))
		}
		if err := c.Decode(b, &second); err != nil || !sameFrame(&first, &second) {
			t.Fatalf("second trip: %v", err)
		}
	})
}
