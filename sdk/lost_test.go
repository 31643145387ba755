package sdk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// TestDeviceWithoutStateEnds checks the rule for a device that has lost its state: it ends, without a
// release, as soon as one neighbor shows a release that the device has signed or, without keys, claims to hold one. It also ends
// if this neighbor continues without it. A claim without a proof ends nobody.
func TestDeviceWithoutStateEnds(t *testing.T) {
	reply := func(p *puppet, ask admm.Message, proof []byte) {
		p.send(&admm.Message{Kind: admm.ProbeReply, Round: 3, Held: 3, Incarnation: ask.Incarnation, Signed: admm.Signed{Proof: proof}})
	}
	for name, c := range map[string]struct {
		keys bool
		say  func(p *puppet, ask admm.Message, proof []byte)
		ends bool
	}{
		"a reply":      {true, reply, true},
		"a bare reply": {true, func(p *puppet, ask admm.Message, _ []byte) { reply(p, ask, nil) }, false},
		"a word":       {false, func(p *puppet, ask admm.Message, _ []byte) { reply(p, ask, nil) }, true},
		"a stale word": {false, func(p *puppet, ask admm.Message, _ []byte) { ask.Incarnation++; reply(p, ask, nil) }, false},
		"a probe": {true, func(p *puppet, _ admm.Message, proof []byte) {
			p.send(&admm.Message{Kind: admm.Probe, Held: 3, Signed: admm.Signed{Proof: proof}})
		}, true},
		"a notice": {true, func(p *puppet, _ admm.Message, proof []byte) {
			m := notice(p.f, "b", "a", "b")
			m.Held, m.Signed.Own = 3, proof
			p.send(&m)
		}, true},
		"a notice without keys": {false, func(p *puppet, _ admm.Message, _ []byte) {
			m := notice(p.f, "b", "a", "b")
			m.Held = 3
			p.send(&m)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, n := newPuppet(t, func(cfg *sdk.Config) {
					cfg.Linger = time.Minute
					if !c.keys {
						cfg.Key, cfg.Keys = nil, nil
					}
				})
				ctx, stop := context.WithCancel(t.Context())
				over := make(chan error, 1)
				go func() { over <- n.Run(ctx) }()
				ask := p.await(admm.Probe)
				lost := signed.Statement{Kind: signed.Release, Round: 3, Value: [32]byte{7}}
				lost.Sign(memberKey("a"), p.scope("a"))
				c.say(p, ask, lost.Append(nil))
				synctest.Wait()
				stop()
				err := <-over
				if errors.Is(err, state.ErrLost) != c.ends || n.Status().Round != 0 {
					t.Errorf("%v, %+v", err, n.Status())
				}
				if c.ends && (!strings.Contains(err.Error(), `"b" holds release 3 of this node, but this device has lost its state of the run`) ||
					!strings.Contains(err.Error(), "the others continue without it")) {
					t.Error(err)
				}
			})
		})
	}
}

// TestNoticeShowsTheLastRelease checks that a node which continues without a neighbor shows the neighbor what it holds.
// Otherwise a device without a state, whose other neighbors hold nothing, would make its releases again.
func TestNoticeShowsTheLastRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, n := newPuppet(t, func(cfg *sdk.Config) { cfg.Linger = time.Hour })
		defer p.meet(n)()
		made, m := p.release(nil, 1)
		p.send(m)
		for p.await(admm.Release).Round < 2 {
		}
		dropped := notice(p.f, "b", "a", "b")
		p.send(&dropped)
		p.await(admm.Conflict)
		time.Sleep(time.Minute)
		p.send(&admm.Message{Kind: admm.Probe, Incarnation: 99})
		again := p.await(admm.Conflict)
		shown, err := signed.Parse(again.Signed.Own, signed.Release)
		if err != nil || shown != *made || again.Held != 1 {
			t.Errorf("the new device sees %+v, %v; want %+v", shown, err, *made)
		}
	})
}
