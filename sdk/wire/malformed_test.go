package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/spade-dfl/spade-edge/sdk/admm"
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

// enc encodes a value with the library; a raw stands for itself.
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

// pairs builds a map from keys and values in turn, in that order.
func pairs(kv ...any) []byte {
	b := []byte{0xa0 | byte(len(kv)/2)}
	for _, x := range kv {
		b = append(b, enc(x)...)
	}
	return b
}

func vector(v ...float32) cbor.Tag {
	var b []byte
	for _, x := range v {
		w := math.Float32bits(x)
		b = append(b, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	return cbor.Tag{Number: 85, Content: b}
}

func grid(v ...int32) cbor.Tag {
	b := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(x))
	}
	return cbor.Tag{Number: 78, Content: b}
}

var nan, inf = float32(math.NaN()), float32(math.Inf(1))

// malformedFrames is one frame for each way of being wrong, at dimension 2, with what the error must say.
var malformedFrames = []struct {
	name  string
	frame []byte
	want  string
}{
	{"nothing", nil, "found nothing, wanted a map"},
	{"number", enc(7), "found 7, wanted a map"},
	{"array", enc([]int{1, 2}), "found an array of length 2, wanted a map"},
	{"null", enc(nil), "found null, wanted a map"},
	{"tagged map", enc(cbor.Tag{Number: 55799, Content: cbor.RawMessage(pairs(1, 1, 2, 2, 3, 0))}),
		"found tag 55799, wanted a map"},
	{"empty map", pairs(), "version: found nothing, wanted an integer in 1..1"},
	{"trailing byte", append(pairs(1, 1, 2, 2, 3, 0), 0), "extraneous data"},
	{"two frames", append(pairs(1, 1, 2, 2, 3, 0), pairs(1, 1, 2, 2, 3, 0)...), "extraneous data"},
	{"cut in the vector", pairs(1, 1, 2, 1, 3, 0, 5, vector(1, 2))[:14], "unexpected EOF"},
	{"cut after a key", pairs(1, 1, 2, 2, 3, 0)[:6], "unexpected EOF"},
	{"indefinite map", []byte{0xbf, 1, 1, 2, 2, 3, 0, 0xff}, "indefinite-length map isn't allowed"},
	{"indefinite byte string", pairs(1, 1, 2, 1, 3, 0, 5, raw{0xd8, 85, 0x5f, 0x48, 0, 0, 0, 0, 0, 0, 0, 0, 0xff}),
		"indefinite-length byte string isn't allowed"},
	{"indefinite array", pairs(1, 1, 2, raw{0x9f, 0xff}, 3, 0), "indefinite-length array isn't allowed"},
	{"reserved head", pairs(1, raw{0x1c}, 2, 2, 3, 0), "not one well-formed item"},
	{"nesting", pairs(1, raw{0x81, 0x81, 0x81, 0x81, 0x01}, 2, 2, 3, 0), "exceeded max nested level 4"},
	{"long array", pairs(1, make([]int, 17), 2, 2, 3, 0), "exceeded max number of elements 16"},
	{"long map", append([]byte{0xb1}, make([]byte, 34)...), "exceeded max number of key-value pairs 16"},
	{"bignum", pairs(1, raw{0xc2, 0x41, 0x01}, 2, 2, 3, 0), "bignum"},
	{"duplicate key", pairs(1, 1, 2, 2, 3, 0, 2, 2), "kind: found key 2 twice, wanted it once"},
	{"duplicate vector", pairs(1, 1, 2, 1, 3, 0, 5, vector(1, 2), 5, vector(1, 2)), "vector: found key 5 twice"},
	{"key 19", pairs(1, 1, 2, 2, 3, 0, 19, 1), "found an unknown key, 19, as number 4 of the map, wanted keys 1..18"},
	{"stops a number", pairs(1, 1, 2, 2, 3, 0, 18, 1), "stops: found 1, wanted a byte string"},
	{"stops empty", pairs(1, 1, 2, 2, 3, 0, 18, []byte{}), "stops: found 0 bytes, wanted 1..576"},
	{"stops too long", pairs(1, 1, 2, 2, 3, 0, 18, make([]byte, 9*72)), "stops: found 648 bytes, wanted 1..576"},
	{"stops in part", pairs(1, 1, 2, 2, 3, 0, 18, make([]byte, 73)), "stops: found 73 bytes, wanted 72 for each"},
	{"stops of a request", pairs(1, 1, 2, 5, 3, 0, 10, 1, 11, 1, 18, make([]byte, 72)),
		"stops: found a byte string of length 72, wanted none with kind state request"},
	{"offer of a done", pairs(1, 1, 2, 2, 3, 0, 17, make([]byte, 102)), "offer: found a byte string of length 102, wanted none with kind done"},
	{"short offer", pairs(1, 1, 2, 4, 3, 0, 9, 0, 10, 0, 17, make([]byte, 101)), "offer: found 101 bytes, wanted 102"},
	{"own a number", pairs(1, 1, 2, 4, 3, 0, 9, 0, 10, 0, 12, 1), "own: found 1, wanted a byte string"},
	{"own empty", pairs(1, 1, 2, 4, 3, 0, 9, 0, 10, 0, 12, []byte{}), "own: found 0 bytes, wanted 1..256"},
	{"own of a done", pairs(1, 1, 2, 2, 3, 0, 12, []byte{1}),
		"own: found a byte string of length 1, wanted none with kind done"},
	{"countersign of a probe", pairs(1, 1, 2, 4, 3, 0, 9, 0, 10, 0, 16, []byte{1}),
		"countersign: found a byte string of length 1, wanted none with kind probe"},
	{"ledger too long", pairs(1, 1, 2, 4, 3, 0, 9, 0, 10, 0, 15, make([]byte, 257)),
		"ledger: found 257 bytes, wanted 1..256"},
	{"double without other", pairs(1, 1, 2, 7, 3, 0, 13, []byte{1}), "other: found nothing, wanted it with kind conflict"},
	{"part with done", pairs(1, 1, 2, 2, 3, 0, 11, 1), "part: found 1, wanted none with kind done"},
	{"incarnation with done", pairs(1, 1, 2, 2, 3, 0, 10, 1), "incarnation: found 1, wanted none with kind done"},
	{"probe without incarnation", pairs(1, 1, 2, 4, 3, 0, 9, 0), "incarnation: found nothing, wanted it with kind probe"},
	{"key 0", pairs(0, 1, 1, 1, 2, 2, 3, 0), "found an unknown key, 0, as number 1 of the map"},
	{"key -1", pairs(1, 1, -1, 2, 3, 0), "found an unknown key, -1, as number 2 of the map"},
	{"huge key", pairs(1, 1, 2, 2, 3, 0, uint64(math.MaxUint64), 0),
		"found an unknown key, 18446744073709551615, as number 4"},
	{"text key", pairs(1, 1, "kind", 2, 3, 0), "found an unknown key, a text string of length 4"},
	{"digit as text key", pairs("1", 1, 2, 2, 3, 0), "found an unknown key, a text string of length 1"},
	{"name as text key", pairs("Version", 1, 2, 2, 3, 0), "found an unknown key, a text string of length 7"},
	{"byte string key", pairs(1, 1, raw{0x41, '2'}, 2, 3, 0), "found an unknown key, a byte string"},
	{"float key", pairs(1.0, 1, 2, 2, 3, 0), "found an unknown key, a floating-point number"},
	{"tagged key", pairs(raw{0xd9, 0xd9, 0xf7, 1}, 1, 2, 2, 3, 0), "found an unknown key, tag 55799, as number 1"},
	{"overlong key", pairs(raw{0x18, 1}, 1, 2, 2, 3, 0), "found 8 bytes, wanted 7"},
	{"overlong map head", append([]byte{0xb8, 3}, pairs(1, 1, 2, 2, 3, 0)[1:]...), "found 8 bytes, wanted 7"},
	{"no version", pairs(2, 2, 3, 0), "version: found nothing"},
	{"no kind", pairs(1, 1, 3, 0), "kind: found nothing"},
	{"no round", pairs(1, 1, 2, 2), "round: found nothing"},
	{"no vector", pairs(1, 1, 2, 1, 3, 0), "vector: found neither it nor planes"},
	{"version 0", pairs(1, 0, 2, 2, 3, 0), "version: found 0, wanted an integer in 1..1"},
	{"version 2", pairs(1, 2, 2, 2, 3, 0), "version: found 2, wanted an integer in 1..1"},
	{"version null", pairs(1, nil, 2, 2, 3, 0), "version: found null"},
	{"version in a self-described tag", pairs(1, raw{0xd9, 0xd9, 0xf7, 1}, 2, 2, 3, 0), "found 10 bytes, wanted 7"},
	{"version in a tag", pairs(1, raw{0xd8, 85, 1}, 2, 2, 3, 0), "version: found tag 85"},
	{"version overlong", pairs(1, raw{0x18, 1}, 2, 2, 3, 0),
		"version: found a value with the overlong or broken head 0x1801"},
	{"kind 0", pairs(1, 1, 2, 0, 3, 0), "kind: found 0, wanted an integer in 1..7"},
	{"kind 8", pairs(1, 1, 2, 8, 3, 0), "kind: found 8, wanted an integer in 1..7"},
	{"state request without incarnation", pairs(1, 1, 2, 5, 3, 0, 11, 0),
		"incarnation: found nothing, wanted it with kind state request"},
	{"state request without part", pairs(1, 1, 2, 5, 3, 0, 10, 0),
		"part: found nothing, wanted it with kind state request"},
	{"state request for nothing known", pairs(1, 1, 2, 5, 3, 0, 10, 0, 11, 6), "part: found 6, wanted an integer in 0..5"},
	{"held with state request", pairs(1, 1, 2, 5, 3, 0, 9, 0, 10, 0, 11, 0),
		"held: found 0, wanted none with kind state request"},
	{"vector with state request", pairs(1, 1, 2, 5, 3, 0, 10, 0, 11, 2, 5, vector(1, 2)),
		"vector: found tag 85, wanted none with kind state request"},
	{"part with probe", pairs(1, 1, 2, 4, 3, 0, 9, 0, 10, 0, 11, 0), "part: found 0, wanted none with kind probe"},
	{"state response without held", pairs(1, 1, 2, 6, 3, 0, 10, 0, 11, 0), "held: found nothing"},
	{"vector with a standing", pairs(1, 1, 2, 6, 3, 0, 9, 0, 10, 0, 11, 0, 5, vector(1, 2)),
		"vector: found tag 85, wanted none with kind state response"},
	{"grid for z", pairs(1, 1, 2, 6, 3, 0, 9, 0, 10, 0, 11, 3, 7, grid(1, 2)),
		"grid: found tag 78, wanted none with kind state response"},
	{"vector for a place", pairs(1, 1, 2, 6, 3, 0, 9, 0, 10, 0, 11, 4, 5, vector(1, 2)),
		"vector: found tag 85, wanted none with kind state response"},
	{"release both ways", pairs(1, 1, 2, 6, 3, 0, 9, 0, 10, 0, 11, 1, 5, vector(1, 2), 7, grid(1, 2)),
		"vector: found one and grid as well"},
	{"kind text", pairs(1, 1, 2, "done", 3, 0), "kind: found a text string of length 4"},
	{"kind float", pairs(1, 1, 2, 2.0, 3, 0), "kind: found a floating-point number"},
	{"kind true", pairs(1, 1, 2, true, 3, 0), "kind: found true"},
	{"kind map", pairs(1, 1, 2, map[int]int{1: 1}, 3, 0), "kind: found a map of 1 pairs"},
	{"round negative", pairs(1, 1, 2, 2, 3, -1), "round: found -1, wanted an integer in 0..2147483647"},
	{"round most negative", pairs(1, 1, 2, 2, 3, raw{0x3b, 255, 255, 255, 255, 255, 255, 255, 255}),
		"round: found -18446744073709551616"},
	{"round too high", pairs(1, 1, 2, 2, 3, uint32(1<<31)), "round: found 2147483648, wanted"},
	{"round absurd", pairs(1, 1, 2, 2, 3, uint64(math.MaxUint64)), "round: found 18446744073709551615, wanted"},
	{"round float", pairs(1, 1, 2, 2, 3, 0.5), "round: found a floating-point number"},
	{"resent false", pairs(1, 1, 2, 2, 3, 0, 4, false), "resent: found false, wanted true or no such field"},
	{"resent 1", pairs(1, 1, 2, 2, 3, 0, 4, 1), "resent: found 1, wanted true"},
	{"resent null", pairs(1, 1, 2, 2, 3, 0, 4, nil), "resent: found null, wanted true"},
	{"vector with done", pairs(1, 1, 2, 2, 3, 0, 5, vector(1, 2)), "vector: found tag 85, wanted none with kind done"},
	{"planes with done", pairs(1, 1, 2, 2, 3, 0, 6, []byte{1, 0, 1, 0, 1, 0, 1, 0}),
		"planes: found a byte string of length 8, wanted none with kind done"},
	{"both forms", pairs(1, 1, 2, 1, 3, 0, 5, vector(1, 2), 6, []byte{1, 0}), "vector: found one and planes as well"},
	{"vector null", pairs(1, 1, 2, 1, 3, 0, 5, nil), "vector: found null, wanted tag 85"},
	{"vector untagged", pairs(1, 1, 2, 1, 3, 0, 5, make([]byte, 8)),
		"vector: found a byte string of length 8, wanted tag 85"},
	{"vector big-endian", pairs(1, 1, 2, 1, 3, 0, 5, cbor.Tag{Number: 81, Content: make([]byte, 8)}),
		"vector: found tag 81, wanted tag 85"},
	{"vector tagged twice", pairs(1, 1, 2, 1, 3, 0, 5, cbor.Tag{Number: 85, Content: vector(1, 2)}),
		"vector: found tag 85, wanted a byte string"},
	{"vector overlong tag", pairs(1, 1, 2, 1, 3, 0, 5, raw{0xd9, 0, 85, 0x48, 0, 0, 0, 0, 0, 0, 0, 0}),
		"vector: found a value with the overlong or broken head"},
	{"vector overlong length", pairs(1, 1, 2, 1, 3, 0, 5, raw{0xd8, 85, 0x58, 8, 0, 0, 0, 0, 0, 0, 0, 0}),
		"vector: found a value with the overlong or broken head"},
	{"vector array", pairs(1, 1, 2, 1, 3, 0, 5, []float32{1, 2}), "vector: found an array of length 2, wanted tag 85"},
	{"vector of text", pairs(1, 1, 2, 1, 3, 0, 5, cbor.Tag{Number: 85, Content: "abcdefgh"}),
		"vector: found a text string of length 8, wanted a byte string"},
	{"vector empty", pairs(1, 1, 2, 1, 3, 0, 5, cbor.Tag{Number: 85, Content: []byte{}}),
		"vector: found 0 bytes, wanted 8"},
	{"vector short", pairs(1, 1, 2, 1, 3, 0, 5, vector(1)),
		"vector: found 4 bytes, wanted 8, 4 for each of 2 coordinates"},
	{"vector long", pairs(1, 1, 2, 1, 3, 0, 5, vector(1, 2, 3)), "vector: found 12 bytes, wanted 8"},
	{"vector uneven", pairs(1, 1, 2, 1, 3, 0, 5, cbor.Tag{Number: 85, Content: make([]byte, 9)}),
		"vector: found 9 bytes, wanted 8"},
	{"vector with NaN", pairs(1, 1, 2, 1, 3, 0, 5, vector(1, nan)),
		"vector: found NaN at coordinate 1, wanted a finite number"},
	{"vector with Inf", pairs(1, 1, 2, 1, 3, 0, 5, vector(inf, 1)), "vector: found +Inf at coordinate 0"},
	{"vector with -Inf", pairs(1, 1, 2, 1, 3, 0, 5, vector(-inf, 1)), "vector: found -Inf at coordinate 0"},
	{"planes as text", pairs(1, 1, 2, 1, 3, 0, 6, "abc"), "planes: found a text string of length 3, wanted a byte string"},
	{"planes tagged", pairs(1, 1, 2, 1, 3, 0, 6, vector(1)), "planes: found tag 85, wanted a byte string"},
	{"planes not shorter", pairs(1, 1, 2, 1, 3, 0, 6, []byte{1, 0, 1, 0, 1, 0, 1, 0}),
		"planes: found 8 bytes, wanted fewer than the 8 of the plain vector"},
	{"planes empty", pairs(1, 1, 2, 1, 3, 0, 6, []byte{}), "planes: plane 0, block 0: found the end, wanted a block"},
	{"grid with message", pairs(1, 1, 2, 1, 3, 0, 7, grid(1, 2)), "grid: found tag 78, wanted none with kind message"},
	{"packed with message", pairs(1, 1, 2, 1, 3, 0, 8, []byte{0, 0}),
		"packed: found a byte string of length 2, wanted none with kind message"},
	{"grid with done", pairs(1, 1, 2, 2, 3, 0, 7, grid(1, 2)), "grid: found tag 78, wanted none with kind done"},
	{"grid with probe", pairs(1, 1, 2, 4, 3, 0, 9, 0, 10, 0, 7, grid(1, 2)),
		"grid: found tag 78, wanted none with kind probe"},
	{"vector with probe", pairs(1, 1, 2, 4, 3, 0, 9, 0, 10, 0, 5, vector(1, 2)),
		"vector: found tag 85, wanted none with kind probe"},
	{"empty release", pairs(1, 1, 2, 3, 3, 0),
		"vector: found neither it nor planes nor a grid, wanted one of them with kind release"},
	{"vector and grid", pairs(1, 1, 2, 3, 3, 0, 5, vector(1, 2), 7, grid(1, 2)),
		"vector: found one and grid as well, wanted one of them"},
	{"planes and packed", pairs(1, 1, 2, 3, 3, 0, 6, []byte{1}, 8, []byte{0, 0}), "planes: found one and packed as well"},
	{"grid and packed", pairs(1, 1, 2, 3, 3, 0, 8, []byte{0, 0}, 7, grid(1, 2)), "grid: found one and packed as well"},
	{"duplicate grid", pairs(1, 1, 2, 3, 3, 0, 7, grid(1, 2), 7, grid(1, 2)), "grid: found key 7 twice"},
	{"duplicate held", pairs(1, 1, 2, 4, 3, 0, 9, 1, 9, 1), "held: found key 9 twice"},
	{"grid null", pairs(1, 1, 2, 3, 3, 0, 7, nil), "grid: found null, wanted tag 78"},
	{"grid untagged", pairs(1, 1, 2, 3, 3, 0, 7, make([]byte, 8)), "grid: found a byte string of length 8, wanted tag 78"},
	{"grid of floats", pairs(1, 1, 2, 3, 3, 0, 7, vector(1, 2)), "grid: found tag 85, wanted tag 78"},
	{"vector of integers", pairs(1, 1, 2, 3, 3, 0, 5, grid(1, 2)), "vector: found tag 78, wanted tag 85"},
	{"grid big-endian", pairs(1, 1, 2, 3, 3, 0, 7, cbor.Tag{Number: 74, Content: make([]byte, 8)}),
		"grid: found tag 74, wanted tag 78"},
	{"grid overlong length", pairs(1, 1, 2, 3, 3, 0, 7, raw{0xd8, 78, 0x58, 8, 0, 0, 0, 0, 0, 0, 0, 0}),
		"grid: found a value with the overlong or broken head"},
	{"grid short", pairs(1, 1, 2, 3, 3, 0, 7, grid(1)), "grid: found 4 bytes, wanted 8, 4 for each of 2 coordinates"},
	{"grid long", pairs(1, 1, 2, 3, 3, 0, 7, grid(1, 2, 3)), "grid: found 12 bytes, wanted 8"},
	{"grid of 1 GiB", pairs(1, 1, 2, 3, 3, 0, 7, raw{0xd8, 78, 0x5a, 0x40, 0, 0, 0, 0, 0}), "not one well-formed item"},
	{"packed of 1 GiB", pairs(1, 1, 2, 3, 3, 0, 8, raw{0x5a, 0x40, 0, 0, 0, 0, 0}), "not one well-formed item"},
	{"packed not shorter", pairs(1, 1, 2, 3, 3, 0, 8, make([]byte, 8)),
		"packed: found 8 bytes, wanted fewer than the 8 of the plain grid"},
	{"packed tagged", pairs(1, 1, 2, 3, 3, 0, 8, grid(1)), "packed: found tag 78, wanted a byte string"},
	{"packed empty", pairs(1, 1, 2, 3, 3, 0, 8, []byte{}), "packed: block 0: found the end, wanted a block"},
	{"no held", pairs(1, 1, 2, 4, 3, 0), "held: found nothing, wanted it with kind probe"},
	{"held negative", pairs(1, 1, 2, 4, 3, 0, 9, -1), "held: found -1, wanted an integer in 0..2147483647"},
	{"held too high", pairs(1, 1, 2, 4, 3, 0, 9, uint32(1<<31)), "held: found 2147483648, wanted"},
	{"held overlong", pairs(1, 1, 2, 4, 3, 0, 9, raw{0x18, 1}),
		"held: found a value with the overlong or broken head 0x1801"},
	{"held with release", pairs(1, 1, 2, 3, 3, 0, 9, 1, 7, grid(1, 2)), "held: found 1, wanted none with kind release"},
	{"held with done", pairs(1, 1, 2, 2, 3, 0, 9, 0), "held: found 0, wanted none with kind done"},
	{"too long", append(pairs(1, 1, 2, 2, 3, 0), make([]byte, 1400)...),
		"found 1407 bytes, wanted at most 1352 for dimension 2"},
	{"a hello", mustHello(), "kind: found a text string of length 1"},
}

func mustHello() []byte {
	b, err := EncodeHello(Hello{Run: "r", From: "a", To: "b", Codec: frameVersion})
	if err != nil {
		panic(err)
	}
	return b
}

func TestDecodeRefuses(t *testing.T) {
	c := newCodec(t, 2)
	for _, m := range malformedFrames {
		var f admm.Message
		checkError(t, m.name, c.Decode(m.frame, &f), m.want)
	}
	// The same codec still reads a sound frame, with its fields in any order.
	var f admm.Message
	if err := c.Decode(pairs(5, vector(1, 2), 3, 9, 1, 1, 2, 1), &f); err != nil ||
		!sameFrame(&f, &admm.Message{Kind: admm.EdgeMessage, Round: 9, Vector: []float32{1, 2}}) {
		t.Errorf("%+v, %v", f, err)
	}
}

// Cut anywhere, a frame is refused.
func TestDecodeRefusesEveryPrefix(t *testing.T) {
	for _, sent := range []*admm.Message{
		{Kind: admm.EdgeMessage, Round: 300, Resent: true, Vector: anyFinite(50, 1)},
		{Kind: admm.EdgeMessage, Round: 300, Resent: true, Vector: normals(500, 1)},
		{Kind: admm.Release, Round: 300, Resent: true, Grid: anyInts(50, 1)},
		{Kind: admm.Release, Round: 300, Resent: true, Grid: withOutliers(40)},
		{Kind: admm.Release, Round: 300, Resent: true, Grid: withOutliers(2000)},
		{Kind: admm.Release, Round: 300, Resent: true, Grid: gridNormals(2001, 1, 1)},
		{Kind: admm.ProbeReply, Round: 300, Held: 300},
		{Kind: admm.StateRequest, Round: 300, Generation: 0x1000, Part: admm.RequesterZ},
		{Kind: admm.StateResponse, Round: 300, Held: 301, Generation: 0x1000, Part: admm.RequesterZ,
			Vector: anyFinite(50, 1)},
		{Kind: admm.StateResponse, Round: 300, Held: 301, Generation: 0x1000, Part: admm.ResponderBase,
			Grid: withOutliers(40)},
	} {
		c := newCodec(t, max(1, len(sent.Vector)+len(sent.Grid)))
		frame := mustAppend(t, c, sent)
		var f admm.Message
		for n := range frame {
			if c.Decode(frame[:n], &f) == nil {
				t.Errorf("%d of %d bytes were taken for a frame", n, len(frame))
			}
		}
	}
}

// Faults inside the planes, at dimension 100.
func TestDecodeRefusesPlanes(t *testing.T) {
	const dim = 100
	repeat := func(b ...byte) (p []byte) {
		for _, x := range b {
			p = append(p, blockRepeat, x)
		}
		return p
	}
	for _, m := range []struct {
		name   string
		planes []byte
		want   string
	}{
		{"unknown form", append(repeat(0, 0), 3, 0), "planes: plane 2, block 0: found a block of form 3, wanted 0, 1 or 2"},
		{"three planes", repeat(0, 0, 0), "planes: plane 3, block 0: found the end, wanted a block"},
		{"five planes", repeat(0, 0, 0, 0, 0), "planes: found 2 bytes after the last block, wanted none"},
		{"repeat cut", append(repeat(0), blockRepeat), "planes: plane 1, block 0: found the end, wanted the byte to repeat"},
		{"raw cut", append([]byte{blockRaw}, make([]byte, 99)...),
			"planes: plane 0, block 0: found 99 raw bytes, wanted 100"},
		{"length cut", []byte{blockHuff0, 1}, "found the end, wanted the length"},
		{"length beyond the end", []byte{blockHuff0, 9, 0, 1, 2, 3}, "found a compressed length of 9, wanted at most 3"},
		{"length of no use", append([]byte{blockHuff0, 98, 0}, make([]byte, 200)...),
			"found a compressed length of 98, wanted at most 97"},
		{"empty huff0", []byte{blockHuff0, 0, 0}, "compressed block: "},
		{"huff0 of nonsense", append([]byte{blockHuff0, 20, 0}, bytes.Repeat([]byte{0xa5}, 20)...), "compressed block: "},
		{"NaN", repeat(0, 0, 0xc0, 0x7f), "vector: found NaN at coordinate 0"},
		{"Inf", repeat(0, 0, 0x80, 0x7f), "vector: found +Inf at coordinate 0"},
	} {
		var f admm.Message
		checkError(t, m.name, newCodec(t, dim).Decode(pairs(1, 1, 2, 1, 3, 0, 6, m.planes), &f), m.want)
	}
	var f admm.Message
	if err := newCodec(t, dim).Decode(pairs(1, 1, 2, 1, 3, 0, 6, repeat(0, 0, 0xc0, 0xbf)), &f); err != nil ||
		!sameBits(f.Vector, repeated(-1.5, dim)) {
		t.Errorf("sound planes: %v, %v", f.Vector, err)
	}
}

// A block that claims another length than it has, by sound huff0 for a plane of a smaller or larger vector.
func TestDecodeRefusesPlanesOfOtherDimension(t *testing.T) {
	frame := mustAppend(t, newCodec(t, 1000), &admm.Message{Kind: admm.EdgeMessage, Vector: normals(1000, 1)})
	if !usesPlanes(t, frame) {
		t.Fatal("a plain frame; this test shows nothing")
	}
	for _, dim := range []int{900, 996, 999, 1001, 1004, 1100} {
		var f admm.Message
		checkError(t, "planes of 1000", newCodec(t, dim).Decode(frame, &f), "planes: ")
	}
}

// After a frame that was refused, a codec reads and writes the next as ever.
func TestCodecSurvivesFaults(t *testing.T) {
	const dim = 1000
	c, f := newCodec(t, dim), &admm.Message{Kind: admm.EdgeMessage, Vector: normals(dim, 1)}
	frame := mustAppend(t, c, f)
	var got admm.Message
	for at := 0; at < len(frame); at += 5 {
		bad := slices.Clone(frame)
		bad[at] ^= 0x5a
		_ = c.Decode(bad, &got) // a flipped mantissa is sound, most else is not
		if err := c.Decode(frame, &got); err != nil || !sameFrame(&got, f) {
			t.Fatalf("after a fault at byte %d: %v", at, err)
		}
	}
	if !bytes.Equal(mustAppend(t, c, f), frame) {
		t.Error("another encoding after faults")
	}
}

// Decode never panics, and what it takes comes back from a second trip unchanged.
func FuzzDecode(f *testing.F) {
	for _, m := range malformedFrames {
		f.Add(m.frame, 2)
	}
	for _, v := range [][]float32{specials, normals(100, 1), make([]float32, 10),
		append(make([]float32, 60), normals(60, 2)...)} {
		c, err := NewCodec(len(v))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(mustAppend(f, c, &admm.Message{Kind: admm.EdgeMessage, Round: 1000, Resent: true, Vector: v}), len(v))
		f.Add(mustAppend(f, c, &admm.Message{Kind: admm.Done, Round: 3}), len(v))
		f.Add(mustAppend(f, c, &admm.Message{Kind: admm.StateRequest, Round: 3, Generation: 0x4, Part: admm.ResponderZ}),
			len(v))
		f.Add(mustAppend(f, c, &admm.Message{Kind: admm.StateResponse, Round: 3, Held: 4, Generation: 0x4,
			Part: admm.ResponderZ, Vector: v}), len(v))
		f.Add(mustAppend(f, c, &admm.Message{Kind: admm.StateResponse, Round: 3, Held: 4, Part: admm.RequesterBase,
			Grid: make([]int32, len(v))}), len(v))
	}
	for _, g := range grids() {
		c, err := NewCodec(len(g))
		if err != nil {
			f.Fatal(err)
		}
		if len(g) <= 5000 {
			f.Add(mustAppend(f, c, &admm.Message{Kind: admm.Release, Round: 1000, Grid: g}), len(g))
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

// The planes alone, where the fuzzer need not find its way through a frame first.
func FuzzPlanes(f *testing.F) {
	for _, v := range [][]float32{normals(100, 1), make([]float32, 10), normals(700, 2)} {
		var w packer
		if b, ok := w.planes(nil, v, 4*len(v)); ok {
			f.Add(b, len(v))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, dim int) {
		if dim < 1 || dim > 2*blockSize {
			return
		}
		var r unpacker
		v := make([]float32, dim)
		if r.planes(v, b) != nil {
			return
		}
		var w packer
		again, ok := w.planes(nil, v, 5*dim+100)
		back := make([]float32, dim)
		if !ok || r.planes(back, again) != nil || !sameBits(v, back) {
			t.Fatal("the planes that were read do not come back")
		}
	})
}
