package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// sampleSnapshot has every field, at dimension 3.
func sampleSnapshot() *Snapshot {
	c := &Snapshot{
		Member: "gateway-a", Build: "spade-edge/1", Filter: []byte{1, 0, 255}, Ledger: "sha256:00ff",
		State: admm.State{
			Round: 42, X: []float32{1, -2.5, 0}, Grid: []int32{16, -40, 0}, Delta: []int32{1, math.MinInt32, math.MaxInt32},
			Mean: []float32{0.5, -1, float32(math.Copysign(0, -1))}, Last: []float32{0.25, 1, 0.75, 0.5},
			Edges: []admm.EdgeState{
				{Z: []float32{1, 2, 3}, PeerZ: []float32{4, 5, 6}, Base: []int32{7, 8, 9}, Heard: 300},
				{Z: []float32{math.MaxFloat32, math.SmallestNonzeroFloat32, -1}},
			},
			Queries: 123_456_789_012, Failed: 3,
		},
		Peers: []Peer{{Name: "gateway-b"}, {Name: "名前"}},
	}
	for i := range c.Fleet {
		c.Fleet[i] = byte(i * 7)
	}
	return c
}

// leastSnapshot has no more than it must have.
func leastSnapshot() *Snapshot {
	return &Snapshot{Member: "a", Build: "b", State: admm.State{X: []float32{0}}}
}

// recoveredSnapshot is the sample at a device that took over from another.
func recoveredSnapshot() *Snapshot {
	c := sampleSnapshot()
	c.Generation, c.State.Recovered = 2, 41
	c.State.Edges[1].Generation = 1
	return c
}

// largeSnapshot has every field, of dim coordinates.
func largeSnapshot(dim, edges, samples int) *Snapshot {
	c := sampleSnapshot()
	c.State.X, c.State.Mean, c.State.Last = normals(dim, 1), normals(dim, 2), normals(samples, 3)
	c.Generation, c.State.Recovered = math.MaxUint16, c.State.Round
	c.State.Grid, c.State.Delta = anyInts(dim, 1), gridNormals(dim, 40, 2)
	c.State.Edges, c.Peers = make([]admm.EdgeState, edges), make([]Peer, edges)
	for i := range c.State.Edges {
		c.Peers[i].Name = fmt.Sprintf("client-%d", i)
		c.State.Edges[i] = admm.EdgeState{
			Z: normals(dim, 4), PeerZ: normals(dim, 5), Base: anyInts(dim, 6), Heard: 7, Generation: uint16(1 + i),
			Moved: normals(dim, 7), Cut: 0.25, Quarantine: i, Quiet: 0.5,
		}
	}
	return c
}

func mustSnapshot(t testing.TB, c *Snapshot) []byte {
	t.Helper()
	b, err := AppendSnapshot(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A generic decoder reads a checkpoint and finds what the package comment says.
func TestSnapshotIsCBOR(t *testing.T) {
	type array = cbor.Tag
	ints := func(v []int32) array { return grid(v...) }
	floats := func(v []float32) array { return vector(v...) }
	c := sampleSnapshot()
	want := map[any]any{
		uint64(1): uint64(1), uint64(2): c.Fleet[:], uint64(3): c.Member, uint64(4): c.Build,
		uint64(5): uint64(c.State.Round),
		uint64(6): floats(c.State.X), uint64(7): ints(c.State.Grid), uint64(8): ints(c.State.Delta),
		uint64(9): floats(c.State.Mean), uint64(10): floats(c.State.Last),
		uint64(11): []any{
			map[any]any{uint64(1): c.Peers[0].Name, uint64(2): uint64(c.State.Edges[0].Heard),
				uint64(3): floats(c.State.Edges[0].Z), uint64(4): floats(c.State.Edges[0].PeerZ),
				uint64(5): ints(c.State.Edges[0].Base)},
			map[any]any{uint64(1): c.Peers[1].Name, uint64(2): uint64(c.State.Edges[1].Heard),
				uint64(3): floats(c.State.Edges[1].Z)},
		},
		uint64(12): uint64(c.State.Queries), uint64(13): uint64(c.State.Failed), uint64(14): c.Filter, uint64(15): c.Ledger,
	}
	var got any
	if err := cbor.Unmarshal(mustSnapshot(t, c), &got); err != nil || !reflect.DeepEqual(got, any(want)) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

func TestSnapshotRoundTrip(t *testing.T) {
	var got Snapshot
	for name, c := range map[string]*Snapshot{
		"sample":     sampleSnapshot(),
		"least":      leastSnapshot(),
		"large":      largeSnapshot(1000, 4, 77),
		"many edges": largeSnapshot(1, 300, 1),
		"limits": {
			Member: strings.Repeat("ä", 32), Build: strings.Repeat("b", 64),
			State:  admm.State{Round: maxRound, X: specials, Queries: math.MaxInt64, Failed: math.MaxInt64},
			Filter: make([]byte, maxFilter), Ledger: strings.Repeat("l", maxLedger),
		},
		"signed": {
			Member: "a", Build: "b", Signed: bytes.Repeat([]byte{7}, maxField),
			State: admm.State{Round: 3, X: []float32{1},
				Edges: []admm.EdgeState{{Z: []float32{1}, Generation: 1}, {Z: []float32{2}}}},
			Peers: []Peer{{Name: "p", Signed: []byte{1}}, {Name: "q"}},
		},
		"ended early": {
			Member: "a", Build: "b", State: admm.State{Round: 3, X: []float32{1}, End: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := mustSnapshot(t, c)
			if most := MaxSnapshot(len(c.State.X), len(c.State.Edges), len(c.State.Last)); len(b) > most {
				t.Errorf("%d bytes, above MaxSnapshot = %d", len(b), most)
			}
			kept := bytes.Clone(b)
			if err := DecodeSnapshot(b, &got); err != nil {
				t.Fatal(err)
			}
			clear(b) // nothing of the input may be in use any more
			if !reflect.DeepEqual(&got, c) {
				t.Errorf("%+v came back, want %+v", got, c)
			}
			if again := mustSnapshot(t, &got); !bytes.Equal(again, kept) {
				t.Error("other bytes the second time")
			}
		})
	}
}

// MaxSnapshot is reached but for a few bytes of heads, and is the highest int where an int is too small.
func TestMaxSnapshot(t *testing.T) {
	c := largeSnapshot(20_000, 3, 70_000)
	c.Member, c.Build = strings.Repeat("m", 64), strings.Repeat("b", 64)
	c.Filter, c.Ledger, c.Signed = make([]byte, maxFilter), strings.Repeat("l", maxLedger), make([]byte, maxField)
	for i := range c.State.Edges {
		c.State.Edges[i].Quarantine = math.MaxInt32
		c.Peers[i].Name, c.Peers[i].Signed, c.State.Edges[i].Generation = strings.Repeat("p", 64), make([]byte, 2*maxField),
			math.MaxUint16
	}
	n, most := len(mustSnapshot(t, c)), MaxSnapshot(20_000, 3, 70_000)
	if n > most || n < most-32 {
		t.Errorf("%d bytes, the bound is %d", n, most)
	}
	if n := MaxSnapshot(MaxDim, math.MaxInt32, MaxDim); math.MaxInt == math.MaxInt32 && n != math.MaxInt || n < 0 {
		t.Errorf("bound of the largest: %d", n)
	}
}

// Whatever the numbers are, checkpoints of a run are of one size.
func TestSnapshotSize(t *testing.T) {
	c := sampleSnapshot()
	n := len(mustSnapshot(t, c))
	for _, v := range []int64{0, 23, 24, 255, 256, 65536, maxRound} {
		c.State.Round, c.State.Queries, c.State.Failed = int(v), v*5, v/2
		copy(c.State.X, normals(3, uint64(v)))
		copy(c.State.Delta, anyInts(3, uint64(v)))
		if got := len(mustSnapshot(t, c)); got != n {
			t.Errorf("round %d: %d bytes, want %d", v, got, n)
		}
	}
}

// Decode uses the storage that it finds, and neither way allocates once it is there.
func TestSnapshotAllocations(t *testing.T) {
	c := largeSnapshot(1000, 4, 77)
	buf := make([]byte, 3, 3+MaxSnapshot(1000, 4, 77))
	copy(buf, "abc")
	b, err := AppendSnapshot(buf, c)
	if err != nil || &b[0] != &buf[0] || string(b[:3]) != "abc" {
		t.Fatalf("a buffer with MaxSnapshot to spare was left, or %v", err)
	}
	var got Snapshot
	both := func() {
		if b, err = AppendSnapshot(buf, c); err != nil {
			t.Fatal(err)
		}
		if err := DecodeSnapshot(b[3:], &got); err != nil {
			t.Fatal(err)
		}
	}
	both()
	if n := testing.AllocsPerRun(20, both); n > 0 && !raceDetector {
		t.Errorf("%v allocations for a checkpoint there and back", n)
	}
}

func TestAppendSnapshotRefuses(t *testing.T) {
	for _, m := range []struct {
		name   string
		change func(*Snapshot)
		want   string
	}{
		{"no member", func(c *Snapshot) { c.Member = "" },
			"wire: snapshot: member: found an empty string, wanted 1..64 bytes"},
		{"long build", func(c *Snapshot) { c.Build = strings.Repeat("x", 65) }, "build: found 65 bytes, wanted 1..64"},
		{"round below", func(c *Snapshot) { c.State.Round = -1 }, "round: found -1, wanted 0..2147483647"},
		{"no x", func(c *Snapshot) { c.State.X = nil }, "length of x: found 0, wanted 1..268435456"},
		{"NaN in x", func(c *Snapshot) { c.State.X[1] = nan }, "x: found NaN at coordinate 1, wanted a finite number"},
		{"short grid", func(c *Snapshot) { c.State.Grid = c.State.Grid[:2] }, "length of grid: found 2, wanted 3..3"},
		{"long delta", func(c *Snapshot) { c.State.Delta = make([]int32, 4) }, "length of delta: found 4, wanted 3..3"},
		{"short mean", func(c *Snapshot) { c.State.Mean = c.State.Mean[:1] }, "length of mean: found 1, wanted 3..3"},
		{"Inf in mean", func(c *Snapshot) { c.State.Mean[0] = -inf }, "mean: found -Inf at coordinate 0"},
		{"Inf in last", func(c *Snapshot) { c.State.Last[3] = inf }, "last: found +Inf at coordinate 3"},
		{"no peer", func(c *Snapshot) { c.Peers[1].Name = "" }, "edge 1: peer: found an empty string"},
		{"no z", func(c *Snapshot) { c.State.Edges[0].Z = nil }, "edge 0: length of z: found 0, wanted 3..3"},
		{"long moved", func(c *Snapshot) { c.State.Edges[0].Moved = make([]float32, 4) },
			"edge 0: length of moved: found 4, wanted 3..3"},
		{"NaN cut", func(c *Snapshot) { c.State.Edges[0].Cut = float32(nan) },
			"edge 0: bits of cut: found 2143289344, wanted 0..2139095039"},
		{"negative quiet", func(c *Snapshot) { c.State.Edges[1].Quiet = -2 },
			"edge 1: bits of quiet: found 3221225472, wanted 0..2139095039"},
		{"long peer z", func(c *Snapshot) { c.State.Edges[0].PeerZ = make([]float32, 4) },
			"edge 0: length of peer z: found 4, wanted 3..3"},
		{"short peer grid", func(c *Snapshot) { c.State.Edges[0].Base = make([]int32, 1) },
			"edge 0: length of peer grid: found 1, wanted 3..3"},
		{"heard below", func(c *Snapshot) { c.State.Edges[1].Heard = -1 }, "edge 1: heard: found -1, wanted 0..2147483647"},
		{"queries below", func(c *Snapshot) { c.State.Queries = -1 }, "queries: found -1, wanted 0..9223372036854775807"},
		{"failed below", func(c *Snapshot) { c.State.Failed = math.MinInt64 }, "failed: found -9223372036854775808"},
		{"long filter", func(c *Snapshot) { c.Filter = make([]byte, maxFilter+1) },
			"length of filter: found 65537, wanted 0..65536"},
		{"peers", func(c *Snapshot) { c.Peers = c.Peers[:1] }, "peers: found 1, wanted 2..2"},
		{"recovered later", func(c *Snapshot) { c.Generation, c.State.Recovered = 1, 43 },
			"recovered: found 43, wanted 0..42"},
		{"recovered by the first", func(c *Snapshot) { c.State.Recovered = 3 }, "recovered: found 3, wanted 0..0"},
		{"long ledger", func(c *Snapshot) { c.Ledger = strings.Repeat("x", 257) },
			"length of ledger: found 257, wanted 0..256"},
		{"broken ledger", func(c *Snapshot) { c.Ledger = "\xff" }, `ledger: found "\xff", wanted valid UTF-8`},
		{"two at once", func(c *Snapshot) { c.State.Round, c.State.Failed = -1, -2 },
			"round: found -1, wanted 0..2147483647\nfailed: found -2"},
		{"two vectors", func(c *Snapshot) { c.State.X[0], c.State.Edges[1].Z[0] = nan, inf },
			"x: found NaN at coordinate 0, wanted a finite number\nedge 1: z: found +Inf"},
	} {
		c := sampleSnapshot()
		m.change(c)
		got, err := AppendSnapshot([]byte("before"), c)
		if string(got) != "before" {
			t.Errorf("%s: dst became %q", m.name, got)
		}
		checkError(t, m.name, err, m.want)
	}
}

// head64 starts an integer of eight bytes.
const head64 = 27

// eight is an integer in eight bytes.
func eight(n byte) raw { return raw{head64, 0, 0, 0, 0, 0, 0, 0, n} }

// checkpointPairs is a sound checkpoint of dimension 2 as keys and values, with some of them replaced or, with a nil,
// left out.
func checkpointPairs(replace map[int]any) []byte {
	fields := map[int]any{1: 1, 2: make([]byte, 32), 3: "a", 4: "b", 5: eight(9), 6: vector(1, 2), 11: raw{0x80},
		12: eight(0), 13: eight(0)}
	for k, v := range replace {
		if fields[k] = v; v == nil {
			delete(fields, k)
		}
	}
	var kv []any
	for k := range 30 {
		if v, ok := fields[k]; ok {
			kv = append(kv, k, v)
		}
	}
	return pairs(kv...)
}

// edge is a checkpoint with one edge of these keys and values.
func edge(kv ...any) []byte {
	return checkpointPairs(map[int]any{11: raw(append([]byte{0x81}, pairs(kv...)...))})
}

// number8 is an unsigned integer of eight bytes, whatever its value.
func number8(n uint64) raw { return raw(binary.BigEndian.AppendUint64([]byte{27}, n)) }

// malformedSnapshots is one checkpoint for each way of being wrong, at dimension 2, with what the error must say.
var malformedSnapshots = []struct {
	name string
	b    []byte
	want string
}{
	{"nothing", nil, "wire: snapshot: map: found nothing, wanted a map"},
	{"array", enc([]int{1}), "map: found an array of length 1, wanted a map"},
	{"indefinite", append([]byte{0xbf}, checkpointPairs(nil)[1:]...),
		"map: found a value with the overlong or broken head"},
	{"overlong map", append([]byte{0xb8, 9}, checkpointPairs(nil)[1:]...),
		"map: found a value with the overlong or broken head"},
	{"map of 1 GiB", []byte{0xba, 0x40, 0, 0, 0}, "map: found a map of 1073741824 pairs, wanted a map of 19 or less"},
	{"empty map", pairs(), "version: found nothing, wanted the key 1"},
	{"frame", pairs(1, 1, 2, 2, 3, 0), "fleet: found 2, wanted a byte string of 32 or less"},
	{"trailing byte", append(checkpointPairs(nil), 0), "map: found 1 bytes after the last field, wanted none"},
	{"a pair too few", append([]byte{0xa8}, checkpointPairs(nil)[1:]...),
		"map: found 8 pairs in its head, wanted the 9 that follow"},
	{"a pair too many", append([]byte{0xaa}, checkpointPairs(nil)[1:]...),
		"map: found 10 pairs in its head, wanted the 9 that follow"},
	{"key 0", checkpointPairs(map[int]any{0: 0}), "version: found 0, wanted the key 1"},
	{"key 20", checkpointPairs(map[int]any{20: 0}), "found 10 pairs in its head"},
	{"end short", checkpointPairs(map[int]any{19: 1}), "end: found 1, wanted an integer of eight bytes"},
	{"signed a number", checkpointPairs(map[int]any{18: 0}), "signed: found 0, wanted a byte string of 256 or less"},
	{"signed empty", checkpointPairs(map[int]any{18: []byte{}}), "signed: found 0 bytes, wanted 1..256"},
	{"signed too long", checkpointPairs(map[int]any{18: make([]byte, 257)}), "wanted a byte string of 256 or less"},
	{"generation short", checkpointPairs(map[int]any{16: 1}), "generation: found 1, wanted an integer of eight bytes"},
	{"generation 0", checkpointPairs(map[int]any{16: number8(0)}),
		"generation: found 0, wanted 1..65535 or no such field"},
	{"generation above", checkpointPairs(map[int]any{16: number8(1 << 16)}),
		"generation: found 65536, wanted at most 65535"},
	{"recovered 0", checkpointPairs(map[int]any{16: number8(1), 17: number8(0)}),
		"recovered: found 0, wanted 1..9 or no such field"},
	{"recovered later", checkpointPairs(map[int]any{16: number8(1), 17: number8(10)}),
		"recovered: found 10, wanted at most 9"},
	{"recovered by the first", checkpointPairs(map[int]any{17: number8(1)}),
		"recovered: found 1, wanted none in generation 0"},
	{"other order", pairs(2, make([]byte, 32), 1, 1), "version: found 2, wanted the key 1"},
	{"duplicate", pairs(1, 1, 2, make([]byte, 32), 2, make([]byte, 32)), "member: found 2, wanted the key 3"},
	{"overlong key", pairs(raw{0x18, 1}, 1), "version: found a value with the overlong or broken head 0x1801"},
	{"version 2", checkpointPairs(map[int]any{1: 2}), "version: found 2, wanted 1"},
	{"version 0", checkpointPairs(map[int]any{1: 0}), "version: found 0, wanted 1"},
	{"version text", checkpointPairs(map[int]any{1: "1"}), "version: found a text string of length 1"},
	{"no fleet", checkpointPairs(map[int]any{2: nil}), "fleet: found 3, wanted the key 2"},
	{"fleet short", checkpointPairs(map[int]any{2: make([]byte, 31)}), "fleet: found 31 bytes, wanted 32..32"},
	{"fleet long", checkpointPairs(map[int]any{2: make([]byte, 33)}),
		"fleet: found a byte string of length 33, wanted a byte string of 32 or less"},
	{"no member", checkpointPairs(map[int]any{3: nil}), "member: found 4, wanted the key 3"},
	{"member empty", checkpointPairs(map[int]any{3: ""}), "member: found 0 bytes, wanted 1..64"},
	{"member long", checkpointPairs(map[int]any{3: strings.Repeat("x", 65)}), "member: found a text string of length 65"},
	{"member broken", checkpointPairs(map[int]any{3: raw{0x61, 0xff}}), `member: found "\xff", wanted valid UTF-8`},
	{"build bytes", checkpointPairs(map[int]any{4: []byte("b")}),
		"build: found a byte string of length 1, wanted a text string"},
	{"round short", checkpointPairs(map[int]any{5: 9}), "round: found 9, wanted an integer of eight bytes"},
	{"round too high", checkpointPairs(map[int]any{5: raw{head64, 0, 0, 0, 0, 0x80, 0, 0, 0}}),
		"round: found 2147483648, wanted at most 2147483647"},
	{"no x", checkpointPairs(map[int]any{6: nil}), "x: found 11, wanted the key 6"},
	{"x empty", checkpointPairs(map[int]any{6: cbor.Tag{Number: 85, Content: []byte{}}}),
		"x: found 0 bytes, wanted 4..1073741824"},
	{"x uneven", checkpointPairs(map[int]any{6: cbor.Tag{Number: 85, Content: make([]byte, 9)}}),
		"x: found 9 bytes, wanted 4 a number"},
	{"x of integers", checkpointPairs(map[int]any{6: grid(1, 2)}), "x: found tag 78, wanted tag 85"},
	{"x untagged", checkpointPairs(map[int]any{6: make([]byte, 8)}), "x: found a byte string of length 8, wanted a tag"},
	{"x with NaN", checkpointPairs(map[int]any{6: vector(1, nan)}), "x: found NaN at coordinate 1"},
	{"x of 1 GiB", checkpointPairs(map[int]any{6: raw{0xd8, 85, 0x5a, 0x40, 0, 0, 0}}),
		"x: found the end after 22 bytes, wanted 1073741824"},
	{"x of more", checkpointPairs(map[int]any{6: raw{0xd8, 85, 0x5a, 0x40, 0, 0, 4}}),
		"x: found a byte string of length 1073741828, wanted a byte string of 1073741824 or less"},
	{"grid short", checkpointPairs(map[int]any{7: grid(1)}), "grid: found 4 bytes, wanted 8..8"},
	{"grid of floats", checkpointPairs(map[int]any{7: vector(1, 2)}), "grid: found tag 85, wanted tag 78"},
	{"grid null", checkpointPairs(map[int]any{7: raw{0xf6}}), "grid: found null, wanted a tag"},
	{"delta long", checkpointPairs(map[int]any{8: grid(1, 2, 3)}), "delta: found a byte string of length 12"},
	{"mean short", checkpointPairs(map[int]any{9: vector(1)}), "mean: found 4 bytes, wanted 8..8"},
	{"mean with Inf", checkpointPairs(map[int]any{9: vector(inf, 1)}), "mean: found +Inf at coordinate 0"},
	{"last empty", checkpointPairs(map[int]any{10: cbor.Tag{Number: 85, Content: []byte{}}}),
		"last: found 0 bytes, wanted 4..1073741824"},
	{"no edges", checkpointPairs(map[int]any{11: nil}), "edges: found 12, wanted the key 11"},
	{"edges map", checkpointPairs(map[int]any{11: raw{0xa0}}), "edges: found a map of 0 pairs, wanted an array"},
	{"1 Gi edges", checkpointPairs(map[int]any{11: raw{0x9a, 0x40, 0, 0, 0}}),
		"edges: found an array of length 1073741824, wanted an array of"},
	{"edges beyond the end", checkpointPairs(map[int]any{11: raw{0x82}}),
		"edges: found an array of length 2, wanted an array of 1 or less"},
	{"edge number", checkpointPairs(map[int]any{11: raw{0x81, 0}}), "edge 0: map: found 0, wanted a map"},
	{"edge without peer", edge(2, vector(1, 2)), "edge 0: peer: found 2, wanted the key 1"},
	{"edge without z", edge(1, "p", 2, number8(0)), "edge 0: z: found 12, wanted the key 3"},
	{"edge z short", edge(1, "p", 2, number8(0), 3, vector(1)), "edge 0: z: found 4 bytes, wanted 8..8"},
	{"edge peer z long", edge(1, "p", 2, number8(0), 3, vector(1, 2), 4, vector(1, 2, 3)),
		"edge 0: peer z: found a byte string of length 12"},
	{"edge peer grid of floats", edge(1, "p", 2, number8(0), 3, vector(1, 2), 5, vector(1, 2)),
		"edge 0: peer grid: found tag 85, wanted tag 78"},
	{"edge heard too high", edge(1, "p", 2, number8(1<<31), 3, vector(1, 2)), "edge 0: heard: found 2147483648"},
	{"edge generation 0", edge(1, "p", 2, number8(0), 3, vector(1, 2), 6, number8(0)),
		"edge 0: generation: found 0, wanted 1..65535 or no such field"},
	{"edge cut 0", edge(1, "p", 2, number8(0), 3, vector(1, 2), 9, number8(0)),
		"edge 0: cut: found 0, wanted 1..2139095039 or no such field"},
	{"edge cut infinite", edge(1, "p", 2, number8(0), 3, vector(1, 2), 9, number8(0x7f800000)), "edge 0: cut: found 2139095040"},
	{"edge quiet 0", edge(1, "p", 2, number8(0), 3, vector(1, 2), 11, number8(0)),
		"edge 0: quiet: found 0, wanted 1..2139095039 or no such field"},
	{"edge quiet infinite", edge(1, "p", 2, number8(0), 3, vector(1, 2), 11, number8(0x7f800000)), "edge 0: quiet: found 2139095040"},
	{"edge with key 12", edge(1, "p", 2, number8(0), 3, vector(1, 2), 12, 0),
		"edge 0: map: found 4 pairs in its head, wanted the 3 that follow"},
	{"edge signed a number", edge(1, "p", 2, number8(0), 3, vector(1, 2), 7, 0),
		"edge 0: signed: found 0, wanted a byte string of 512 or less"},
	{"edge of other order", edge(1, "p", 2, number8(0), 3, vector(1, 2), 5, grid(1, 2), 4, vector(1, 2)),
		"edge 0: map: found 5 pairs in its head, wanted the 4 that follow"},
	{"queries negative", checkpointPairs(map[int]any{12: -1}), "queries: found -1, wanted an integer of eight bytes"},
	{"queries too high", checkpointPairs(map[int]any{12: uint64(1 << 63)}),
		"queries: found 9223372036854775808, wanted at most 9223372036854775807"},
	{"no failed", checkpointPairs(map[int]any{13: nil}), "failed: found nothing, wanted the key 13"},
	{"failed cut", checkpointPairs(map[int]any{13: raw{head64, 0, 0}}),
		"failed: found a value with the overlong or broken head"},
	{"filter empty", checkpointPairs(map[int]any{14: []byte{}}), "filter: found 0 bytes, wanted 1..65536"},
	{"filter long", checkpointPairs(map[int]any{14: make([]byte, maxFilter+1)}),
		"filter: found a byte string of length 65537"},
	{"filter of 1 GiB", checkpointPairs(map[int]any{14: raw{0x5a, 0x40, 0, 0, 0}}),
		"filter: found a byte string of length 1073741824"},
	{"ledger empty", checkpointPairs(map[int]any{15: ""}), "ledger: found 0 bytes, wanted 1..256"},
	{"ledger long", checkpointPairs(map[int]any{15: strings.Repeat("x", 257)}),
		"ledger: found a text string of length 257"},
	{"ledger broken", checkpointPairs(map[int]any{15: raw{0x61, 0xff}}), `ledger: found "\xff", wanted valid UTF-8`},
}

func TestDecodeSnapshotRefuses(t *testing.T) {
	for _, m := range malformedSnapshots {
		var c Snapshot
		var err error
		if n := allocated(func() { err = DecodeSnapshot(m.b, &c) }); n > 64<<10 {
			t.Errorf("%s: %d bytes allocated for an input of %d", m.name, n, len(m.b))
		}
		checkError(t, m.name, err, m.want)
	}
	var c Snapshot
	if err := DecodeSnapshot(checkpointPairs(nil), &c); err != nil || c.State.Round != 9 ||
		!sameBits(c.State.X, []float32{1, 2}) {
		t.Errorf("sound: %+v, %v", c, err)
	}
	// A checkpoint cut anywhere, or followed by anything.
	b := mustSnapshot(t, sampleSnapshot())
	for n := range b {
		if DecodeSnapshot(b[:n], &c) == nil {
			t.Errorf("%d of %d bytes were taken for a checkpoint", n, len(b))
		}
	}
}

// DecodeSnapshot never panics, and AppendSnapshot gives back the bytes of what it takes.
func FuzzDecodeSnapshot(f *testing.F) {
	for _, m := range malformedSnapshots {
		f.Add(m.b)
	}
	f.Add(mustSnapshot(f, sampleSnapshot()))
	f.Add(mustSnapshot(f, leastSnapshot()))
	f.Add(mustSnapshot(f, largeSnapshot(40, 3, 11)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Snapshot
		if DecodeSnapshot(b, &c) != nil {
			return
		}
		again, err := AppendSnapshot(nil, &c)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x came back as %x, %v", b, again, err)
		}
		if most := MaxSnapshot(len(c.State.X), len(c.State.Edges), len(c.State.Last)); len(b) > most {
			t.Fatalf("%d bytes taken, above MaxSnapshot = %d", len(b), most)
		}
	})
}

func BenchmarkSnapshot(b *testing.B) {
	// Five vectors of a million coordinates: x, mean, grid, delta and one z.
	c := largeSnapshot(1_000_000, 1, 1000)
	c.Peers[0].Name, c.State.Edges[0] = "p", admm.EdgeState{Z: c.State.Edges[0].Z}
	buf := mustSnapshot(b, c)
	b.Run("append", func(b *testing.B) {
		b.SetBytes(int64(len(buf)))
		for b.Loop() {
			buf, _ = AppendSnapshot(buf[:0], c)
		}
	})
	b.Run("decode", func(b *testing.B) {
		var got Snapshot
		b.SetBytes(int64(len(buf)))
		for b.Loop() {
			if err := DecodeSnapshot(buf, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("copy", func(b *testing.B) { // what memory allows
		other := slices.Clone(buf)
		b.SetBytes(int64(len(buf)))
		for b.Loop() {
			copy(other, buf)
		}
	})
}
