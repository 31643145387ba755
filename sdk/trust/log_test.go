package trust_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// members returns the logs of two neighbors, 0 and 1, which accept each other's keys.
func members() (a, b *trust.Log) {
	key := func(name string) ed25519.PrivateKey {
		return ed25519.NewKeyFromSeed(bytes.Repeat([]byte(name), ed25519.SeedSize))
	}
	keys := func(name string) []ed25519.PublicKey {
		return []ed25519.PublicKey{key(name).Public().(ed25519.PublicKey)}
	}
	fleet, names := [32]byte{1}, []string{"a", "b", "c"}
	a, b = trust.NewLog("trial-7", fleet, names, 0, []int{1}), trust.NewLog("trial-7", fleet, names, 1, []int{0})
	a.Key, a.Keys, b.Key, b.Keys = key("a"), keys, key("b"), keys
	return a, b
}

// released returns the message in which the log's member sends a release.
func released(l *trust.Log, to, round int, x ...float32) *admm.Message {
	if err := l.Sign(&admm.State{Round: round, X: x}); err != nil {
		panic(err)
	}
	m := &admm.Message{Kind: admm.Release, To: to, Round: round, Vector: x}
	l.Attach(m)
	return m
}

// A member signs its releases. A neighbor checks the releases, and later proves that it holds one of them.
func Example() {
	a, b := members()
	for round := 1; round <= 2; round++ {
		err := b.Release(b.Peers[0], released(a, 1, round, float32(round)))
		fmt.Println(err)
	}
	reply := &admm.Message{Kind: admm.ProbeReply, To: 0, Held: 2}
	b.Attach(reply)
	shown, err := a.Proof(reply, reply.Held)
	fmt.Println("b holds release", shown.Round, err)
	// Output:
	// <nil>
	// <nil>
	// b holds release 2 <nil>
}

// TestCountersignatureIsOfTheNewestRelease checks that a repeated Done has the countersignature of the newest release
// that the sender holds.
func TestCountersignatureIsOfTheNewestRelease(t *testing.T) {
	a, b := members()
	var all [][]byte
	for round := 1; round <= 2; round++ {
		if err := b.Release(b.Peers[0], released(a, 1, round, float32(round))); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			done := &admm.Message{Kind: admm.Done, To: 0, Held: round}
			b.Attach(done)
			if err := a.Own.Of(round).VerifyHeld(a.Scope, a.Keys("b"), done.Signed.Countersign); err != nil {
				t.Error(err)
			}
			all = append(all, done.Signed.Countersign)
		}
	}
	if !bytes.Equal(all[0], all[1]) || bytes.Equal(all[1], all[2]) || !bytes.Equal(all[2], all[3]) {
		t.Errorf("countersignatures %x", all)
	}
}

// If a member signs two different releases of one round, the second one is a contradiction. A release that does not
// continue the sender's previous release is a fork. A release without a valid signature for its round and member is
// rejected and not stored.
func TestReleasesThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		change func(other *trust.Log, m *admm.Message)
		want   string
	}{
		"another one": {func(_ *trust.Log, m *admm.Message) {
			again, _ := members()
			*m = *released(again, 1, 1, 5)
		}, "was copied or rolled back"},
		"another past": {func(_ *trust.Log, m *admm.Message) {
			again, _ := members()
			released(again, 1, 1, 5)
			*m = *released(again, 1, 2, 6)
		}, "does not continue the sender's signed release 1"},
		"no signature":  {func(_ *trust.Log, m *admm.Message) { m.Signed.Own = nil }, "is not signed"},
		"another round": {func(_ *trust.Log, m *admm.Message) { m.Round = 3 }, "signed as release 2"},
		"other numbers": {func(_ *trust.Log, m *admm.Message) { m.Vector[0]++ }, "differs from the content that the sender has signed"},
		"of somebody else": {func(b *trust.Log, m *admm.Message) {
			s := signed.Statement{Kind: signed.Release, Round: m.Round, Value: signed.Digest(m.Vector, nil)}
			s.Sign(b.Key, b.Scope)
			m.Signed.Own = s.Append(nil)
		}, "none of the member's keys"},
	} {
		a, b := members()
		if err := b.Release(b.Peers[0], released(a, 1, 1, 1)); err != nil {
			t.Fatal(err)
		}
		m := released(a, 1, 2, 2)
		c.change(b, m)
		err := b.Release(b.Peers[0], m)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(b.Peers[0].Held) != 1 {
			t.Errorf("%s: %v, %d held, want %q", name, err, len(b.Peers[0].Held), c.want)
		}
		if two := (*trust.Contradiction)(nil); errors.As(err, &two) {
			e := signed.NewEvidence("a", &two.First, &two.Second)
			if err := e.Verify("trial-7", [32]byte{1}, b.Keys("a")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A neighbor that starts names its ledger, and receives a later state of this ledger. If no later state is known, the
// neighbor receives the newest state of another of its ledgers.
func TestLedgersAreShown(t *testing.T) {
	_, b := members()
	heads, err := state.OpenHeads(filepath.Join(t.TempDir(), "heads"))
	if err != nil {
		t.Fatal(err)
	}
	b.Heads = heads
	a, _ := members()
	of := func(id byte, seq uint64) signed.Head {
		return signed.Head{ID: [16]byte{id}, Seq: seq, Hash: [32]byte{1}}
	}
	before := signed.NewScope("before", [32]byte{2}, "a")
	r := signed.Statement{Kind: signed.Release, Round: 9, Ledger: of(1, 9)}
	r.Sign(a.Key, before)
	if err := heads.Learn(b.Keys("a"), signed.Earlier{Scope: before, Statement: r}); err != nil {
		t.Fatal(err)
	}
	forked := of(1, 12)
	forked.Hash[0]++
	for name, c := range map[string]struct {
		shown signed.Head
		want  *signed.Head
	}{
		"a ledger that was set back, and went on": {forked, &signed.Head{ID: [16]byte{1}, Seq: 9, Hash: [32]byte{1}}},
		"an older state": {of(1, 4), &signed.Head{ID: [16]byte{1}, Seq: 9, Hash: [32]byte{1}}},
		"the same state": {of(1, 9), nil},
		"another ledger": {of(3, 0), &signed.Head{ID: [16]byte{1}, Seq: 9, Hash: [32]byte{1}}},
	} {
		peer := b.Peers[0]
		peer.Shown = c.shown
		peer.Earlier, _ = b.Earlier(peer)
		m := &admm.Message{Kind: admm.ProbeReply, To: 0}
		b.Attach(m)
		e, err := signed.ParseEarlier(m.Signed.Other)
		if c.want == nil {
			if len(m.Signed.Other) > 0 {
				t.Errorf("%s: shown %+v", name, e.Ledger)
			}
		} else if err != nil || e.Ledger != *c.want {
			t.Errorf("%s: shown %+v, %v", name, e.Ledger, err)
		}
	}
}

// TestNumbersOfLedgersAreApart checks that sequence numbers of different ledgers are not compared.
func TestNumbersOfLedgersAreApart(t *testing.T) {
	a, b := members()
	heads, err := state.OpenHeads(filepath.Join(t.TempDir(), "heads"))
	if err != nil {
		t.Fatal(err)
	}
	b.Heads = heads
	before := signed.NewScope("before", [32]byte{}, "a")
	r := signed.Statement{Kind: signed.Release, Round: 9, Ledger: signed.Head{ID: [16]byte{2}, Seq: 50}}
	r.Sign(a.Key, before)
	if err := heads.Learn(b.Keys("a"), signed.Earlier{Scope: before, Statement: r}); err != nil {
		t.Fatal(err)
	}
	peer := b.Peers[0]
	own := signed.Statement{Kind: signed.Release, Round: 3, Ledger: signed.Head{ID: [16]byte{1}, Seq: 1000}}
	peer.Held, peer.Shown = peer.Held.Add(own), signed.Head{ID: [16]byte{2}, Seq: 10}
	if shown, _ := b.Earlier(peer); shown == nil {
		t.Error("ledger 2 was set back from 50 to 10, and is not shown that")
	}
}

// TestClaimsToHaveMade checks that a probe proves the release that the sender claims to have made last.
func TestClaimsToHaveMade(t *testing.T) {
	a, b := members()
	own := released(a, 1, 3, 1).Signed.Own
	for round, want := range map[int]string{2: "but has signed release 3", 3: "", 4: "but has signed release 3"} {
		err := b.Made(b.Peers[0], &admm.Message{Kind: admm.Probe, Round: round, Signed: admm.Signed{Own: own}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("release %d: %v, want %q", round, err, want)
		}
	}
	if err := b.Made(b.Peers[0], &admm.Message{Kind: admm.Probe, Round: 3}); err == nil {
		t.Error("a claim without a signature")
	}
}
