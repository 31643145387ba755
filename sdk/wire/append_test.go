package wire

import (
	"bytes"
	"sync"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// reference encodes a frame with the CBOR library's own encoder, in core deterministic form. For incompressible numbers
// Append must return the same bytes.
func reference(t *testing.T, f *admm.Message) []byte {
	t.Helper()
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	var plainVector, plainGrid []byte
	if f.Vector != nil {
		plainVector = vector(f.Vector...)
	}
	if f.Grid != nil {
		plainGrid = grid(f.Grid...)
	}
	var held *int
	var incarnation *uint64
	kind, resent := f.Kind, f.Resent
	switch f.Kind {
	case admm.ProbeReply:
		held, incarnation, kind, resent = &f.Held, &f.Incarnation, admm.Probe, true
	case admm.Probe:
		held, incarnation = &f.Held, &f.Incarnation
	case admm.Conflict:
		if f.Held > 0 {
			held = &f.Held
		}
	}
	b, err := mode.Marshal(struct {
		Version     int     `cbor:"1,keyasint"`
		Kind        int     `cbor:"2,keyasint"`
		Round       int     `cbor:"3,keyasint"`
		Resent      bool    `cbor:"4,keyasint,omitempty"`
		Vector      []byte  `cbor:"5,keyasint,omitempty"`
		Grid        []byte  `cbor:"6,keyasint,omitempty"`
		Held        *int    `cbor:"7,keyasint,omitempty"`
		Incarnation *uint64 `cbor:"8,keyasint,omitempty"`

		Own         []byte `cbor:"9,keyasint,omitempty"`
		Proof       []byte `cbor:"10,keyasint,omitempty"`
		Other       []byte `cbor:"11,keyasint,omitempty"`
		Countersign []byte `cbor:"12,keyasint,omitempty"`
	}{1, int(kind), f.Round, resent, plainVector, plainGrid, held, incarnation, f.Signed.Own, f.Signed.Proof, f.Signed.Other,
		f.Signed.Countersign})
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
				{Kind: probe, Round: round, Held: maxRound - round, Incarnation: 0xffffffffffff},
				{Kind: probe, Round: round},
			} {
				if got, want := mustAppend(t, newCodec(t, 3), f), reference(t, f); !bytes.Equal(got, want) {
					t.Errorf("%s of round %d: %x, want %x", f.Kind, round, got, want)
				}
			}
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		f    admm.Message
		want string
	}{
		{"no kind", admm.Message{Vector: []float32{1, 2}}, "wire: frame: kind: found 0, wanted a known kind"},
		{"kind 12", admm.Message{Kind: 12}, "kind: found 12"},
		{"probe resent", admm.Message{Kind: admm.Probe, Resent: true}, "resent: found in a frame of kind probe, wanted the field absent"},
		{"incarnation above", admm.Message{Kind: admm.Probe, Incarnation: 1 << 48},
			"incarnation: found 281474976710656, wanted at most 281474976710655"},
		{"long own", admm.Message{Kind: admm.Probe, Signed: admm.Signed{Own: make([]byte, 257)}},
			"own: found 257 bytes, wanted at most 256"},
		{"all of them long", admm.Message{Kind: admm.Probe,
			Signed: admm.Signed{Own: make([]byte, 200), Proof: make([]byte, 200), Other: make([]byte, 1768)}},
			"found 2168 bytes in total, wanted at most 2146"},
		{"round below", admm.Message{Kind: admm.Done, Round: -1}, "round: found 18446744073709551615, wanted at most 2147483647"},
		{"short vector", admm.Message{Kind: admm.Release, Vector: []float32{1}}, "vector: found 1 coordinates, wanted 2"},
		{"long vector", admm.Message{Kind: admm.Release, Vector: []float32{1, 2, 3}},
			"vector: found 3 coordinates, wanted 2"},
		{"NaN", admm.Message{Kind: admm.Release, Vector: []float32{0, nan}},
			"vector: found NaN at coordinate 1, wanted a finite number"},
		{"Inf", admm.Message{Kind: admm.Release, Vector: []float32{inf, 0}},
			"vector: found +Inf at coordinate 0, wanted a finite number"},
		{"grid with done", admm.Message{Kind: admm.Done, Grid: []int32{1}},
			"grid: found 1 coordinates, wanted 2"},
		{"long grid", admm.Message{Kind: admm.Release, Grid: []int32{1, 2, 3}}, "grid: found 3 coordinates, wanted 2"},
		{"held below", admm.Message{Kind: admm.Probe, Held: -1}, "held: found 18446744073709551615, wanted at most 2147483647"},
	} {
		dst := []byte("before")
		got, err := newCodec(t, 2).Append(dst, &c.f)
		if string(got) != "before" {
			t.Errorf("%s: dst became %q", c.name, got)
		}
		checkError(t, c.name, err, c.want)
		_, err = newCodec(t, 2).Length(&c.f)
		checkError(t, c.name, err, c.want)
	}
}

// Append leaves the bytes before its frame unchanged, and does not move a buffer that is large enough.
func TestAppendUsesDst(t *testing.T) {
	for name, v := range map[string][]float32{"plain": anyFinite(500, 1), "planes": normals(500, 1),
		"zeros": make([]float32, 500)} {
		c := newCodec(t, len(v))
		f := &admm.Message{Kind: admm.Release, Round: 3, Vector: v}
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

// One goroutine may encode while another goroutine decodes; the race detector checks this.
func TestAppendBesideDecode(t *testing.T) {
	const dim = 2000
	c := newCodec(t, dim)
	f := &admm.Message{Kind: admm.Release, Round: 1, Vector: normals(dim, 1)}
	frame := mustAppend(t, c, f)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 50 {
			if b, err := c.Append(nil, f); err != nil || !bytes.Equal(b, frame) {
				t.Error("the frame differs", err)
			}
		}
	})
	wg.Go(func() {
		var got admm.Message
		for range 50 {
			if err := c.Decode(frame, &got); err != nil || !sameFrame(&got, f) {
				t.Error("the frame differs", err)
			}
		}
	})
	wg.Wait()
}
