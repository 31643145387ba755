package wire

import (
	"bytes"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// TestLength checks that Length agrees with Append at every length of a CBOR head, and that no frame is longer than
// MaxFrame.
func TestLength(t *testing.T) {
	for _, round := range []int{0, 1, 23, 24, 255, 256, 65535, 65536, maxRound} {
		for _, n := range []int{1, 5, 6, 23, 24, 63, 64, 255, 256} {
			own := admm.Signed{Own: make([]byte, n)}
			for _, f := range []*admm.Message{
				{Kind: admm.Release, Round: round, Vector: anyFinite(16*n, 1), Signed: own},
				{Kind: admm.Release, Round: round, Resent: true, Grid: anyInts(16*n, 1)},
				{Kind: admm.Done, Round: round, Signed: admm.Signed{Proof: make([]byte, n), Countersign: make([]byte, n)}},
				{Kind: admm.Probe, Round: round, Held: maxRound - round, Incarnation: signed.MaxIncarnation, Signed: own},
				{Kind: admm.ProbeReply, Round: round, Signed: admm.Signed{Other: make([]byte, maxOther)}},
				{Kind: admm.Conflict, Round: round, Held: round, Signed: admm.Signed{Proof: make([]byte, n), Other: make([]byte, n)}},
			} {
				if b := mustAppend(t, newCodec(t, 16*n), f); len(b) > MaxFrame(16*n) {
					t.Errorf("%s of round %d: %d bytes, above %d", f.Kind, round, len(b), MaxFrame(16*n))
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
