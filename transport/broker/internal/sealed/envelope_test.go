package sealed

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// TestExchangeKeys checks that ExchangePrivate and ExchangePublic return the two halves of one X25519 key pair.
func TestExchangeKeys(t *testing.T) {
	for _, name := range []string{"a", "b", "another", "one more"} {
		private := endpoint.ExchangePrivate(member(name))
		got, err := endpoint.ExchangePublic(public(name))
		if err != nil {
			t.Fatal(err)
		}
		if !got.Equal(private.PublicKey()) {
			t.Errorf("%s: the halves do not belong together", name)
		}
	}
}

// TestBadKeys checks that invalid keys are refused, including keys for which anyone can forge signatures.
func TestBadKeys(t *testing.T) {
	for _, text := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000080",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"00",
	} {
		key, _ := hex.DecodeString(text)
		if _, err := endpoint.ExchangePublic(key); err == nil {
			t.Errorf("%s is taken for a key", text)
		}
	}
}

// sealed returns an envelope from member a to member b with the given piece, and the edge from a to b. The envelope is
// sealed for the members named in keys.
func sealed(t testing.TB, piece []byte, keys ...string) ([]byte, edge) {
	t.Helper()
	e := newEdge("run", "a", "b")
	var to []*ecdh.PublicKey
	for _, k := range keys {
		p, err := endpoint.ExchangePublic(public(k))
		if err != nil {
			t.Fatal(err)
		}
		to = append(to, p)
	}
	h := header{Kind: kindFrame, Fleet: [32]byte{7}, Process: 3, Number: 9, Total: 1, Length: uint32(len(piece))}
	b, err := seal(&e, h, member("a"), to, piece)
	if err != nil {
		t.Fatal(err)
	}
	return b, e
}

func unseal(b []byte, e edge, sender, receiver string) ([]byte, error) {
	v, err := parse(slices.Clone(b))
	if err != nil {
		return nil, err
	}
	if err := v.verify(&e, []ed25519.PublicKey{public(sender)}); err != nil {
		return nil, err
	}
	return v.open(&e, endpoint.ExchangePrivate(member(receiver)))
}

// TestSealOpen checks that an envelope sealed for one or two keys can be opened with each of these keys and with no
// other key.
func TestSealOpen(t *testing.T) {
	for _, piece := range [][]byte{{}, []byte("x"), bytes.Repeat([]byte("frame"), 10_000)} {
		for _, keys := range [][]string{{"b"}, {"b", "next"}, {"next", "b"}} {
			b, e := sealed(t, piece, keys...)
			if want := len(piece) + overhead - (maxKeys-len(keys))*lenWrapped; len(b) != want {
				t.Errorf("%d bytes are %d in an envelope, want %d", len(piece), len(b), want)
			}
			if len(piece) > 1 && bytes.Contains(b, piece[:min(len(piece), 16)]) {
				t.Error("the piece can be read")
			}
			for _, key := range keys {
				got, err := unseal(b, e, "a", key)
				if err != nil || !bytes.Equal(got, piece) {
					t.Errorf("for %v, opened by %s: %v", keys, key, err)
				}
			}
			if _, err := unseal(b, e, "a", "stranger"); !errors.Is(err, ErrSealed) {
				t.Errorf("opened by a stranger: %v", err)
			}
		}
	}
}

// TestSealedTwice checks that sealing the same frame twice produces different envelopes.
func TestSealedTwice(t *testing.T) {
	one, _ := sealed(t, []byte("the same"), "b")
	two, _ := sealed(t, []byte("the same"), "b")
	if bytes.Equal(one[lenHeader-32:], two[lenHeader-32:]) || bytes.Equal(one[lenHeader:lenHeader+lenWrapped],
		two[lenHeader:lenHeader+lenWrapped]) {
		t.Error("two envelopes share a key")
	}
}

// TestFlippedBits checks that an envelope is refused if any of its bits is flipped.
func TestFlippedBits(t *testing.T) {
	b, e := sealed(t, []byte("a frame"), "b", "next")
	for i := range 8 * len(b) {
		bad := slices.Clone(b)
		bad[i/8] ^= 1 << (i % 8)
		if _, err := unseal(bad, e, "a", "b"); err == nil {
			t.Fatalf("bit %d of byte %d was changed, and nobody noticed", i%8, i/8)
		}
	}
	for n := range b {
		if _, err := parse(b[:n]); err == nil {
			t.Fatalf("%d of %d bytes are taken for all", n, len(b))
		}
	}
	if _, err := parse(append(b, 0)); err == nil {
		t.Error("a byte more is not noticed")
	}
}

// TestMovedEnvelopes checks that an envelope is valid only for its own run and edge, and that the error states why it
// is refused.
func TestMovedEnvelopes(t *testing.T) {
	b, e := sealed(t, []byte("a frame"), "b")
	for _, c := range []struct {
		name   string
		e      edge
		sender string
		want   error
	}{
		{"another run", newEdge("other", "a", "b"), "a", ErrRun},
		{"another sender", newEdge("run", "c", "b"), "c", ErrCrossed},
		{"another receiver", newEdge("run", "a", "c"), "a", ErrCrossed},
		{"the way back", newEdge("run", "b", "a"), "b", ErrCrossed},
		{"another key", e, "c", ErrSignature},
	} {
		if _, err := unseal(b, c.e, c.sender, "b"); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	// This edge has the same tags as the real one. The envelope must be refused because it is also bound to the names.
	forged := newEdge("run", "a", "b")
	forged.run = "run with the same tag"
	if _, err := unseal(b, forged, "a", "b"); !errors.Is(err, ErrSignature) {
		t.Errorf("a run with the same tag: %v", err)
	}
}

// TestStolenEnvelope checks that a member cannot send another member's envelope as its own.
func TestStolenEnvelope(t *testing.T) {
	b, _ := sealed(t, []byte("a frame"), "b")
	theft := newEdge("run", "thief", "b")
	copy(b[18:26], theft.fromTag[:])
	v, err := parse(b)
	if err != nil {
		t.Fatal(err)
	}
	copy(v.signature, ed25519.Sign(member("thief"), digest(theft.bound(v.head), v.sealed)))
	if _, err := unseal(b, theft, "thief", "b"); !errors.Is(err, ErrSealed) {
		t.Errorf("a frame that the thief cannot read: %v", err)
	}
}

// TestPieces checks that frames of many lengths are reassembled from pieces that arrive in any order and more than
// once.
func TestPieces(t *testing.T) {
	for _, length := range []int{2, 3, 10, 11, 12, 100} {
		for total := 2; total <= length; total++ {
			if (total-1)*pieceSize(length, total) >= length {
				continue // a frame is never cut into so many pieces
			}
			frame := make([]byte, length)
			for i := range frame {
				frame[i] = byte(i + 1)
			}
			var a assembly
			var got []byte
			for i := range 2 * total {
				h := header{Process: 1, Number: 1, Index: uint16((7*i + 3) % total), Total: uint16(total), Length: uint32(length)}
				if total%7 == 0 {
					h.Index = uint16(i % total)
				}
				from, to := h.piece()
				if got = a.add(h, frame[from:to]); got != nil {
					break
				}
			}
			if !bytes.Equal(got, frame) {
				t.Errorf("%d bytes in %d pieces: %v", length, total, got)
			}
			if len(a.partials) != 0 {
				t.Error("a whole frame is kept")
			}
		}
	}
}

// TestPiecesLost checks that incomplete frames are eventually discarded.
func TestPiecesLost(t *testing.T) {
	var a assembly
	for n := range uint64(10) {
		if a.add(header{Process: 1, Number: n, Total: 2, Length: 2}, []byte{1}) != nil {
			t.Fatal("half a frame is whole")
		}
	}
	if len(a.partials) != partialsKept {
		t.Errorf("%d halves are kept, want %d", len(a.partials), partialsKept)
	}
	if got := a.add(header{Process: 1, Number: 9, Index: 1, Total: 2, Length: 2}, []byte{2}); !bytes.Equal(got,
		[]byte{1, 2}) {
		t.Errorf("the newest is %v", got)
	}
}

// TestReplays checks that the type replays recognizes repeated frames of several processes, in any order of arrival, as
// far back as its record goes.
func TestReplays(t *testing.T) {
	var w replays
	if !w.mark(1, 5) || w.mark(1, 3) {
		t.Error("which frame is the first of a process is not known")
	}
	for number, want := range map[uint64]bool{1: false, 3: true, 4: false, 5: true, 6: false, 5000: false} {
		if got := w.seen(1, number); got != want {
			t.Errorf("number %d was seen: %v", number, got)
		}
	}
	w.mark(1, 5+numbersKept)
	if !w.seen(1, 5) || !w.seen(1, 4) {
		t.Error("what is too old to be known is taken for new")
	}
	if w.seen(1, 6) || w.seen(1, 3+numbersKept) {
		t.Error("what has not come is taken for a repeat")
	}
	for n := uint64(6); n < 5+numbersKept; n++ {
		if w.seen(1, n) {
			t.Fatalf("%d is taken for a repeat", n)
		}
		w.mark(1, n)
		if !w.seen(1, n) {
			t.Fatalf("%d is taken for new", n)
		}
	}
	for id := uint64(2); id < 2+processesKept; id++ {
		if !w.mark(id, 1) {
			t.Error("a new process is not noticed")
		}
	}
	if len(w.processes) != processesKept || w.find(1) != nil {
		t.Error("the oldest process is not the one that was forgotten")
	}
}

// FuzzParse passes arbitrary bytes to parse, as a malicious broker could. parse must not panic, and the piece of each
// envelope that it accepts must fit into its frame.
func FuzzParse(f *testing.F) {
	for _, n := range []int{0, 1, 100} {
		b, _ := sealed(f, make([]byte, n), "b", "next")
		f.Add(b)
	}
	f.Add([]byte{})
	f.Add([]byte(strings.Repeat("\x01", 300)))
	own := endpoint.ExchangePrivate(member("b"))
	e := newEdge("run", "a", "b")
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parse(b)
		if err != nil {
			return
		}
		from, to := v.piece()
		if from > to || to > int(v.Length) || to-from != len(v.sealed)-tagSize || v.Index >= v.Total {
			t.Fatalf("piece %d of %d is %d to %d of %d", v.Index, v.Total, from, to, v.Length)
		}
		if v.verify(&e, []ed25519.PublicKey{public("a")}) == nil {
			if _, err := v.open(&e, own); err != nil {
				t.Fatal("signed, and cannot be opened")
			}
		}
		if piece, err := v.open(&e, own); err == nil && v.Total > 1 {
			var a assembly
			a.add(v.header, piece)
		}
	})
}

// TestPieceCount checks that Pieces returns the correct number for frames up to the maximum length, even on 32-bit
// machines.
func TestPieceCount(t *testing.T) {
	for _, c := range []struct{ length, size, want int }{{0, MaxPiece, 1}, {1, MaxPiece, 1}, {MaxPiece, MaxPiece, 1},
		{MaxPiece + 1, MaxPiece, 2}, {endpoint.LargestMaxFrame, MaxPiece, 4096}, {maxPieces, 1, maxPieces}, {maxPieces + 1, 1, 0},
		{1, 0, 0}, {1, -5, 0}} {
		if n, err := Pieces(c.length, c.size); n != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%d bytes in pieces of %d: %d, %v, want %d", c.length, c.size, n, err, c.want)
		}
	}
}
