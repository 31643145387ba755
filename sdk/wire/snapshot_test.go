package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
)

func sampleSnapshot() *Snapshot {
	c := &Snapshot{
		Member: "gateway-a", Build: "spade-edge/1", Ledger: "sha256:00ff", Failure: []byte("no loss\x00"),
		State: admm.State{
			Round: 42, X: []float32{1, -2.5, 0}, Grid: []int32{16, -40, 0}, Delta: []int32{1, math.MinInt32, math.MaxInt32},
			Last: []float32{0.25, 1, 0.75, 0.5},
			Edges: []admm.EdgeState{
				{Z: []float32{1, 2, 3}, PeerZ: []float32{4, 5, 6}, Base: []int32{7, 8, 9}, Heard: 300},
				{Z: []float32{math.MaxFloat32, math.SmallestNonzeroFloat32, -1}},
			},
			Queries: 123_456_789_012, Failed: 3,
		},
		Peers: []Peer{{Name: "gateway-b"}, {Name: "名前"}},
		Data:  Data{Key: [32]byte{1}, Digest: [32]byte{31: 2}, Changed: []int32{3, 40}},
	}
	for i := range c.Fleet {
		c.Fleet[i] = byte(i * 7)
	}
	return c
}

// leastSnapshot returns a snapshot with only the required fields.
func leastSnapshot() *Snapshot {
	return &Snapshot{Member: "a", Build: "b", State: admm.State{X: []float32{0}}}
}

// largeSnapshot returns a snapshot of dim coordinates that has every field.
func largeSnapshot(dim, edges, samples int) *Snapshot {
	c := sampleSnapshot()
	c.State.X, c.State.Last = normals(dim, 1), normals(samples, 3)
	c.State.Grid, c.State.Delta = anyInts(dim, 1), gridNormals(dim, 40, 2)
	c.State.Edges, c.Peers = make([]admm.EdgeState, edges), make([]Peer, edges)
	for i := range c.State.Edges {
		c.Peers[i].Name = fmt.Sprintf("client-%d", i)
		c.State.Edges[i] = admm.EdgeState{
			Z: normals(dim, 4), PeerZ: normals(dim, 5), Base: anyInts(dim, 6), Heard: 7,
			Quarantine: i, Flow: normals(dim, 8),
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

func TestSnapshotRoundTrip(t *testing.T) {
	var got Snapshot
	for name, c := range map[string]*Snapshot{
		"sample":     sampleSnapshot(),
		"least":      leastSnapshot(),
		"large":      largeSnapshot(1000, 4, 77),
		"many edges": largeSnapshot(1, 300, 1),
		"limits": {
			Member: strings.Repeat("ä", 32), Build: strings.Repeat("b", 64),
			State: admm.State{Round: maxRound, X: specials, Queries: math.MaxInt64, Failed: math.MaxInt64,
				Edges: []admm.EdgeState{{Z: specials, Heard: maxRound, Quarantine: maxRound}}},
			Peers:  []Peer{{Name: strings.Repeat("p", 64), Signed: make([]byte, 2*maxField)}},
			Ledger: strings.Repeat("l", maxLedger),
		},
		"signed": {
			Member: "a", Build: "b", Signed: bytes.Repeat([]byte{7}, maxField),
			State: admm.State{Round: 3, X: []float32{1},
				Edges: []admm.EdgeState{{Z: []float32{1}}, {Z: []float32{2}}}},
			Peers: []Peer{{Name: "p", Signed: []byte{1}}, {Name: "q"}},
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
			clear(b) // the snapshot must not refer to the input
			if again := mustSnapshot(t, &got); !bytes.Equal(again, kept) {
				t.Errorf("%+v came back, want %+v", got, c)
			}
		})
	}
}

// TestMaxSnapshot checks that MaxSnapshot exceeds the length of the longest snapshot by only a few bytes, and that it
// returns the largest int if its bound does not fit an int.
func TestMaxSnapshot(t *testing.T) {
	c := largeSnapshot(20_000, 3, 70_000)
	c.Member, c.Build = strings.Repeat("m", 64), strings.Repeat("b", 64)
	c.Ledger, c.Signed = strings.Repeat("l", maxLedger), make([]byte, maxField)
	c.Data.Changed = make([]int32, MaxChanged)
	c.Failure = make([]byte, MaxFailure)
	for i := range c.State.Edges {
		c.State.Edges[i].Quarantine = math.MaxInt32
		c.Peers[i].Name, c.Peers[i].Signed = strings.Repeat("p", 64), make([]byte, 2*maxField)
	}
	n, most := len(mustSnapshot(t, c)), MaxSnapshot(20_000, 3, 70_000)
	if n > most || n < most-32 {
		t.Errorf("%d bytes, the bound is %d", n, most)
	}
	if n := MaxSnapshot(MaxDim, math.MaxInt32, MaxDim); math.MaxInt == math.MaxInt32 && n != math.MaxInt || n < 0 {
		t.Errorf("bound of the largest: %d", n)
	}
}

// All snapshots of a run have the same size, whatever their numbers, as long as the data does not change.
func TestSnapshotSize(t *testing.T) {
	c := sampleSnapshot()
	n := len(mustSnapshot(t, c))
	for _, v := range []int64{0, 23, 24, 255, 256, 65536, maxRound} {
		c.State.Round, c.State.Queries, c.State.Failed = int(v), v*5, v/2
		c.State.Edges[0].Heard, c.State.Edges[1].Heard = int(v), maxRound-int(v)
		copy(c.State.X, normals(3, uint64(v)))
		copy(c.State.Delta, anyInts(3, uint64(v)))
		if got := len(mustSnapshot(t, c)); got != n {
			t.Errorf("round %d: %d bytes, want %d", v, got, n)
		}
	}
}

func TestDataInWords(t *testing.T) {
	for want, d := range map[string]Data{
		"":                                  {},
		"the data changed before release 3": {Digest: [32]byte{1}, Changed: []int32{3}},
		"the data, which the oracle does not identify, may have changed before releases 3, 7": {Changed: []int32{3, 7}},
		"the data changed before releases 5" + strings.Repeat(", 5", 255) + " (and perhaps between the last two of these)": {
			Digest: [32]byte{1}, Changed: slices.Repeat([]int32{5}, MaxChanged)},
	} {
		if got := d.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAppendSnapshotUsesDst checks that the encoding is appended to a buffer that has room, and that the buffer stays as it
// is after an error.
func TestAppendSnapshotUsesDst(t *testing.T) {
	c := largeSnapshot(1000, 4, 77)
	buf := append(make([]byte, 0, 3+MaxSnapshot(1000, 4, 77)), "abc"...)
	b, err := AppendSnapshot(buf, c)
	if err != nil || &b[0] != &buf[0] || string(b[:3]) != "abc" {
		t.Fatalf("a buffer with MaxSnapshot to spare was left, or %v", err)
	}
	c.Peers = c.Peers[:1]
	b, err = AppendSnapshot(buf, c)
	if string(b) != "abc" {
		t.Errorf("dst became %q", b)
	}
	checkError(t, "peers", err, "wire: snapshot: peers: found 1, wanted 4")
}

// checkpointPairs returns the keys and values of a valid snapshot of dimension 2, some of them replaced or, with nil,
// omitted.
func checkpointPairs(replace map[int]any) []byte {
	fields := map[int]any{1: number8(1), 2: make([]byte, 32), 3: "a", 4: "b", 5: number8(9), 6: floatBytes(1, 2),
		7: []byte{}, 8: []byte{}, 9: []byte{}, 10: raw{0x80}, 11: number8(0), 12: number8(0),
		13: "", 14: []byte{}, 15: []byte{}, 16: make([]byte, 32), 17: make([]byte, 32), 18: []byte{}}
	return withKeys(fields, replace)
}

func withKeys(fields, replace map[int]any) []byte {
	for k, v := range replace {
		if fields[k] = v; v == nil {
			delete(fields, k)
		}
	}
	var kv []any
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		kv = append(kv, k, fields[k])
	}
	return pairs(kv...)
}

func number8(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

func floatBytes(v ...float32) []byte {
	b, _ := floats{v, new([]byte)}.MarshalBinary()
	return b
}

// malformedSnapshots has a snapshot of dimension 2 for each error of its own, with the expected message. Those of CBOR are in
// malformedFrames.
var malformedSnapshots = []struct {
	name string
	b    []byte
	want string
}{
	{"version 2", checkpointPairs(map[int]any{1: number8(2)}), "version: found 2, wanted 1"},
	{"fleet short", checkpointPairs(map[int]any{2: make([]byte, 31)}), "wanted deterministic CBOR"},
	{"x uneven", checkpointPairs(map[int]any{6: make([]byte, 7)}), "found 7 bytes, wanted a multiple of 4"},
	{"x of 1 GiB", checkpointPairs(map[int]any{6: raw{0x5a, 0x40, 0, 0, 0}}), "unexpected EOF"},
	{"a million edges", checkpointPairs(map[int]any{10: raw{0x9a, 0, 0x0f, 0, 0}}), "cbor: exceeded max number of elements 131072 for CBOR array"},
	{"empty edge", checkpointPairs(map[int]any{10: raw{0x81, 0xa0}}), "wanted deterministic CBOR"},
	{"failed cut", checkpointPairs(map[int]any{12: raw{0x48, 0, 0}}), "unexpected EOF"},
	{"digest long", checkpointPairs(map[int]any{17: make([]byte, 33)}), "wanted deterministic CBOR"},
}

func TestDecodeSnapshotRefuses(t *testing.T) {
	for _, m := range malformedSnapshots {
		var c Snapshot
		var err error
		if n := allocated(func() { err = DecodeSnapshot(m.b, &c) }); n > uint64(64<<10+8*len(m.b)) {
			t.Errorf("%s: %d bytes allocated for an input of %d", m.name, n, len(m.b))
		}
		checkError(t, m.name, err, m.want)
	}
	var c Snapshot
	if err := DecodeSnapshot(checkpointPairs(nil), &c); err != nil || c.State.Round != 9 ||
		!sameBits(c.State.X, []float32{1, 2}) {
		t.Errorf("sound: %+v, %v", c, err)
	}
	// A snapshot that is truncated anywhere is rejected.
	b := mustSnapshot(t, sampleSnapshot())
	for n := range b {
		if DecodeSnapshot(b[:n], &c) == nil {
			t.Errorf("%d of %d bytes were accepted as a snapshot", n, len(b))
		}
	}
}

// FuzzDecodeSnapshot checks that DecodeSnapshot does not panic, and that an accepted snapshot survives a second round trip
// unchanged.
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
		first := mustSnapshot(t, &c)
		var again Snapshot
		if err := DecodeSnapshot(first, &again); err != nil || !bytes.Equal(mustSnapshot(t, &again), first) {
			t.Fatalf("%x came back as %x, %v", b, first, err)
		}
	})
}
