package sealed

import (
	"crypto/ed25519"
	"testing"
	"time"
)

func member(name string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, name)
	return ed25519.NewKeyFromSeed(seed)
}

func public(name string) ed25519.PublicKey { return member(name).Public().(ed25519.PublicKey) }

// TestRing checks that a repeated frame goes into its previous place, and a new frame into the least recently used
// place.
func TestRing(t *testing.T) {
	r := ring{repeatMin: 1, repeatMax: 4}
	now := time.Now()
	frame := func(i byte) [32]byte { return [32]byte{i} }
	for i := range byte(window) {
		n, due := r.find(frame(i), now)
		if n != int(i) || !due || r.again(n, frame(i)) != 0 {
			t.Fatalf("frame %d goes to place %d, due %v", i, n, due)
		}
		r.stored(n, frame(i), now)
	}
	for _, c := range []struct {
		frame byte
		after time.Duration
		place int
		due   bool
	}{{1, 0, 1, false}, {1, 1, 1, true}, {1, 1, 1, false}, {1, 2, 1, true}, {1, 3, 1, false}, {1, 4, 1, true},
		{1, 3, 1, false}, {1, 4, 1, true}, {0, 1, 0, true}, {9, 0, 2, true}, {2, 0, 3, true}} {
		n, due := r.find(frame(c.frame), now.Add(c.after))
		if n != c.place || due != c.due {
			t.Errorf("frame %d after %d: place %d, due %v, want %d and %v", c.frame, c.after, n, due, c.place, c.due)
		}
		if due {
			r.stored(n, frame(c.frame), now)
		}
	}
	if gap := r.again(1, frame(1)); gap != 4 {
		t.Errorf("frame 1 is due after %d, want 4", gap)
	}
	r.heard()
	if _, due := r.find(frame(1), now.Add(1)); !due {
		t.Error("a peer that is awake is made to wait")
	}
	r.expire()
	n, due := r.find(frame(2), now)
	if !due {
		t.Error("what may be gone is not laid again")
	}
	r.stored(n, frame(2), now)
	if _, due := r.find(frame(2), now); due {
		t.Error("what has been laid again is laid once more at once")
	}
}
