//go:build unix

package program

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// pusher is a member without data. All coordinates of its release of a round have the value place(round). It answers
// its neighbor like a node.
type pusher struct {
	*insider
	place func(round int) int32
	chain []signed.Statement // by round, from the start
}

func (p *pusher) frame(round int) *admm.Message {
	m := p.file.Fleet.Method
	f := &admm.Message{Kind: admm.Release, Round: round}
	if round <= m.Rounds {
		by := p.place(round)
		if round > 1 {
			by -= p.place(round - 1)
		}
		f.Grid = slices.Repeat([]int32{by}, p.file.Fleet.Dim)
	} else {
		f.Vector = make([]float32, p.file.Fleet.Dim)
	}
	for len(p.chain) <= round {
		next := signed.Statement{Kind: signed.Release, Round: len(p.chain)}
		if next.Round > 1 {
			next.Prev = p.chain[next.Round-1].ID(p.scope(p.name))
		}
		if next.Round == round {
			if next.Value = signed.Digest(nil, f.Grid); round > m.Rounds {
				next.Value = signed.Digest(f.Vector, nil)
			}
		}
		next.Sign(p.key, p.scope(p.name))
		p.chain = append(p.chain, next)
	}
	f.Signed.Own = p.chain[round].Append(nil)
	return f
}

// speak answers a until the transport is closed.
func (p *pusher) speak(ctx context.Context) {
	send := func(f *admm.Message) {
		if codec, err := wire.NewCodec(p.file.Fleet.Dim); err == nil {
			if b, err := codec.Append(nil, f); err == nil {
				_ = p.tr.Send(ctx, "a", b) // a requests lost frames again
			}
		}
	}
	last := p.file.Fleet.Method.Rounds + p.file.Fleet.Method.Cooldown
	for {
		_, frame, err := p.Recv(ctx)
		if err != nil {
			return
		}
		var f admm.Message
		if codec, err := wire.NewCodec(p.file.Fleet.Dim); err != nil || codec.Decode(frame, &f) != nil {
			continue
		}
		switch {
		case f.Kind == admm.Probe:
			answer := &admm.Message{Kind: admm.ProbeReply, Epoch: f.Epoch, Incarnation: f.Incarnation, Round: len(p.chain) - 1}
			if r := p.last["a"]; r.Round > 0 {
				answer.Held, answer.Signed.Proof = r.Round, r.Append(nil)
			}
			send(answer)
		case f.Kind != admm.Release:
			continue
		}
		for round := max(1, f.Round); round <= min(f.Round+1, last); round++ {
			send(p.frame(round))
		}
	}
}

// A neighbor pushes the public center of a node's releases to the edge of the grid and beyond. The node quarantines it
// and, without another neighbor, ends before it reserves a release. After a restart it neither releases nor spends
// anything: 3 times, or SPADE_LOOKS times. A neighbor within the bounds is accepted.
func TestAttackEdgeOfTheGrid(t *testing.T) {
	onlyLong(t, "SPADE_LOOKS")
	t.Parallel()
	const within = "to and fro, a step of the noise"
	t.Run("all", func(t *testing.T) {
		for name, place := range map[string]func(round int) int32{
			"straight out":       func(round int) int32 { return 1<<29 - 1 + int32(round)<<20 },
			"out and around":     func(round int) int32 { return int32(round) << 29 },
			"to and fro":         func(round int) int32 { return (1<<30 - 1) * int32(1-round%2*2) },
			"to and fro, less":   func(round int) int32 { return (1<<29 + 1<<26) * int32(1-round%2*2) },
			"to and fro, little": func(round int) int32 { return 1 << 24 * int32(1-round%2*2) },
			"to the last steps":  func(round int) int32 { return 1<<30 - 1<<8 - int32(round) },
			within:               func(round int) int32 { return 1 << 8 * int32(1-round%2*2) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if ended := pushOut(t, place); ended == (name == within) {
					t.Errorf("the node has ended: %v", ended)
				}
			})
		}
	})
}

func pushOut(t *testing.T, place func(round int) int32) bool {
	t.Helper()
	tr := newAttacked(t, "ab", func(f *sdk.Fleet) {
		f.Method.Rounds, f.Method.Cooldown, f.Method.Eta = 30, 2, []float64{1}
		f.Method.Gain = 0.99
		f.Wire.GridBits, f.Wire.Payload = 8, sdk.PayloadRelease
	})
	tr.edit(t, "a.json", `"state":`, `"linger_seconds": 0.2, "state":`)
	in, _ := tr.newMouth(t, "b")
	p := &pusher{insider: in, place: place, chain: make([]signed.Statement, 1)}
	go p.speak(t.Context())
	const words = "every edge of this node is in quarantine"
	a := start(t, "run", tr.path("a.json"), "-json")
	for deadline := time.Now().Add(2 * time.Minute); !a.ended() && in.sawOnce(t, "a") < 32; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the node stands still:\n%s", a.log)
		}
	}
	if !a.ended() {
		a.kill()
		if n := tr.spent(t, "a"); n != 30 {
			t.Errorf("%d releases in the ledger", n)
		}
		return false
	}
	a.refused(t, cli.ExitMismatch, words)
	seen, spent := in.sawOnce(t, "a"), tr.spent(t, "a")
	if made := len(tr.released(t, 0)); made != spent || seen > made || seen < made-1 {
		t.Errorf("%d releases made, %d in the ledger, and %d seen", made, spent, seen)
	}
	for range times(t, "SPADE_LOOKS", 3) {
		start(t, "run", tr.path("a.json"), "-json").refused(t, cli.ExitMismatch, words)
	}
	made := tr.released(t, 0)
	if n := tr.spent(t, "a"); n != spent || len(made) != spent || in.sawOnce(t, "a") > len(made) {
		t.Errorf("%d releases in the ledger after %d, and %d were made", n, spent, len(made))
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	t.Logf("ended after %d releases; seen are those of %v", spent, fmt.Sprint(slices.Sorted(maps.Keys(in.seen["a"]))))
	return true
}
