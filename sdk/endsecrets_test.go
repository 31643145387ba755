package sdk_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// TestEndedForGoodForgetsSecrets checks that a node that can never continue deletes the private half of its one-time key.
// A node that may continue, even if only after a retired key is removed from the fleet file, keeps it.
func TestEndedForGoodForgetsSecrets(t *testing.T) {
	const retired = "the key before"
	proof := func(key string, r signed.Statement) func(w *tinytest.World) *admm.Message {
		return func(w *tinytest.World) *admm.Message {
			r.Sign(memberKey(key), scopeOf(w, "a"))
			return &admm.Message{Kind: admm.Probe, Held: r.Round, Incarnation: 9, Signed: admm.Signed{Proof: r.Append(nil)}}
		}
	}
	double := func(key string) func(w *tinytest.World) *admm.Message {
		return func(w *tinytest.World) *admm.Message {
			one, two := signed.Statement{Kind: signed.Release, Round: 1}, signed.Statement{Kind: signed.Release, Round: 1, Value: [32]byte{1}}
			one.Sign(memberKey(key), scopeOf(w, "a"))
			two.Sign(memberKey(key), scopeOf(w, "a"))
			return &admm.Message{Kind: admm.Conflict, Round: 1, Signed: admm.Signed{Proof: one.Append(nil), Other: two.Append(nil)}}
		}
	}
	for name, c := range map[string]struct {
		send func(w *tinytest.World) *admm.Message
		want error
		kept bool
	}{
		"a clone":                   {double("a"), trust.ErrClone, false},
		"a clone, retired key":      {double(retired), trust.ErrClone, true},
		"set back":                  {proof("a", signed.Statement{Kind: signed.Release, Round: 3}), state.ErrRollback, true},
		"quarantine of every edge":  {func(w *tinytest.World) *admm.Message { m := notice(w.Fleet, "b", "a", "b"); return &m }, trust.ErrQuarantine, false},
		"interrupted, nothing said": {nil, context.Canceled, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				var cfg sdk.Config
				w := &tinytest.World{Fleet: sharedPair(), Samples: samples[:2]}
				w.Change = func(_ int, c *sdk.Config) {
					store := must(state.Open(dir))(t)
					c.Store, c.Secret, c.Noise = store, nil, nil
					sign(c)
					c.Keys = func(member string) []ed25519.PublicKey {
						if member == "a" {
							return append(memberKeys("a"), memberKeys(retired)...)
						}
						return memberKeys(member)
					}
					cfg = *c
				}
				n := must(w.Start("a"))(t)
				p := must(w.Play("b"))(t)
				defer func() { _ = errors.Join(w.Close(), cfg.Store.Close()) }()
				kept := func() bool {
					key := must(cfg.PairKeys.Find(fleetOf(&cfg).PairKeys[0], fleetOf(&cfg).Hash()))(t)
					return key != nil
				}
				if !kept() {
					t.Fatal("a new run has no private half")
				}
				ctx, stop := context.WithCancel(t.Context())
				over := make(chan error, 1)
				go func() { over <- n.Run(ctx) }()
				if _, _, err := p.Await(t.Context(), admm.Probe); err != nil {
					t.Fatal(err)
				}
				if c.send == nil {
					stop()
				} else if err := p.Send(t.Context(), "a", c.send(w)); err != nil {
					t.Fatal(err)
				}
				if err := <-over; !errors.Is(err, c.want) || kept() != c.kept {
					t.Errorf("it ends with %v, and secrets are kept: %v, want %v", err, kept(), c.kept)
				}
				stop()
				if c.want != trust.ErrClone && c.want != trust.ErrQuarantine {
					return
				}
				again, err := sdk.New(cfg)
				if err == nil {
					err = again.Run(t.Context())
				}
				if !errors.Is(err, c.want) || kept() != c.kept {
					t.Errorf("started again it ends with %v, and secrets are kept: %v, want %v", err, kept(), c.kept)
				}
			})
		})
	}
}

func scopeOf(w *tinytest.World, member string) signed.Scope {
	return signed.NewScope(w.Fleet.Run, w.Fleet.Hash(), member)
}

func sharedPair() *sdk.Fleet {
	f := only(2, sharedRing())
	f.Privacy.Colluders = 0 // with a colluder no noise would be shared
	return f
}

// notice returns a member's message that tells a neighbor that the member continues without the neighbor.
func notice(f *sdk.Fleet, from, to, signer string) admm.Message {
	n := signed.Statement{Kind: signed.Notice, Round: 4, Value: signed.NewScope(f.Run, f.Hash(), to)}
	n.Sign(memberKey(signer), signed.NewScope(f.Run, f.Hash(), from))
	return admm.Message{Kind: admm.Conflict, Round: 4, Signed: admm.Signed{Proof: n.Append(nil), Other: []byte("a \x1b lie")}}
}
