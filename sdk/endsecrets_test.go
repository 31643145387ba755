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
)

// TestEndedForGoodForgetsSecrets checks that a node that can never continue deletes the private half of its one-time key.
// A node that may continue, even if only after a retired key is removed from the fleet file, keeps it.
func TestEndedForGoodForgetsSecrets(t *testing.T) {
	const retired = "the key before"
	proof := func(key string, r signed.Statement) func(p *puppet) *admm.Message {
		return func(p *puppet) *admm.Message {
			r.Sign(memberKey(key), p.scope("a"))
			return &admm.Message{Kind: admm.Probe, Held: r.Round, Incarnation: 9, Signed: admm.Signed{Proof: r.Append(nil)}}
		}
	}
	double := func(key string) func(p *puppet) *admm.Message {
		return func(p *puppet) *admm.Message {
			one, two := signed.Statement{Kind: signed.Release, Round: 1}, signed.Statement{Kind: signed.Release, Round: 1, Value: [32]byte{1}}
			one.Sign(memberKey(key), p.scope("a"))
			two.Sign(memberKey(key), p.scope("a"))
			return &admm.Message{Kind: admm.Conflict, Round: 1, Signed: admm.Signed{Proof: one.Append(nil), Other: two.Append(nil)}}
		}
	}
	for name, c := range map[string]struct {
		send func(p *puppet) *admm.Message
		want error
		kept bool
	}{
		"a clone":                   {double("a"), sdk.ErrClone, false},
		"a clone, retired key":      {double(retired), sdk.ErrClone, true},
		"set back":                  {proof("a", signed.Statement{Kind: signed.Release, Round: 3}), state.ErrRollback, true},
		"quarantine of every edge":  {func(p *puppet) *admm.Message { m := notice(p.f, "b", "a", "b"); return &m }, sdk.ErrQuarantine, false},
		"interrupted, nothing said": {nil, context.Canceled, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				var cfg sdk.Config
				p, n := newPuppet(t, func(c *sdk.Config) {
					*fleetOf(c) = *pairOf(true)
					store, err := state.Open(dir)
					if err != nil {
						t.Fatal(err)
					}
					c.Store = store
					pairUp(c)
					c.Keys = func(member string) []ed25519.PublicKey {
						if member == "a" {
							return append(memberKeys("a"), memberKeys(retired)...)
						}
						return memberKeys(member)
					}
					cfg = *c
				})
				defer cfg.Store.Close()
				kept := func() bool {
					key, err := cfg.PairKeys.Find(fleetOf(&cfg).PairKeys[0], fleetOf(&cfg).Hash())
					if err != nil {
						t.Fatal(err)
					}
					return key != nil
				}
				if !kept() {
					t.Fatal("a new run has no private half")
				}
				ctx, stop := context.WithCancel(t.Context())
				over := make(chan error, 1)
				go func() { over <- n.Run(ctx) }()
				p.await(admm.Probe)
				if c.send == nil {
					stop()
				} else {
					p.send(c.send(p))
				}
				if err := <-over; !errors.Is(err, c.want) || kept() != c.kept {
					t.Errorf("it ends with %v, and secrets are kept: %v, want %v", err, kept(), c.kept)
				}
				stop()
				if c.want != sdk.ErrClone && c.want != sdk.ErrQuarantine {
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
