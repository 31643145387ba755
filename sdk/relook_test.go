package sdk_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// denied returns a world of "b" and a neighbor "a" that denies having seen any node before, to make nodes use their data a
// second time. The world has no keys; change completes the configuration of each process of "b", and looks counts its
// releases. It is for a bubble of package synctest.
func denied(t *testing.T, change func(c *sdk.Config)) (w *tinytest.World, looks *atomic.Int64) {
	f := only(2, privateRing())
	looks = new(atomic.Int64)
	w = &tinytest.World{Fleet: f, Samples: samples[:2], Link: messages(t, f, func(_ tinytest.Packet, m admm.Message) []admm.Message {
		if m.Kind == admm.Release {
			looks.Add(1)
		}
		return []admm.Message{m}
	})}
	w.Change = func(_ int, c *sdk.Config) {
		c.Key, c.Keys, c.Noise = nil, nil, nil
		change(c)
	}
	a := must(w.Play("a"))(t)
	go func() {
		for {
			_, ask, err := a.Await(t.Context(), admm.Probe)
			if err != nil || a.Send(t.Context(), "b", &admm.Message{Kind: admm.ProbeReply, Incarnation: ask.Incarnation}) != nil {
				return
			}
		}
	}()
	return w, looks
}

func newLedger(t *testing.T, limit *dpmech.Limit) (path string, l *state.Ledger) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ledger")
	return path, must(state.CreateLedger(path, "d", dpmech.Client, limit, state.NeverUsed))(t)
}

// TestNoSecondLook checks that a node without a store never releases the same data twice, even if a neighbor claims
// that nothing was sent: the node learns from its ledger that an earlier incarnation made a release. The same holds for
// a second node with the same name that was created before the first node ran.
func TestNoSecondLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ledger := newLedger(t, nil)
		defer ledger.Close()
		var cfg sdk.Config
		w, looks := denied(t, func(c *sdk.Config) { c.Ledger = ledger; cfg = *c })
		first := must(w.Start("b"))(t)
		twin := must(sdk.New(cfg))(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- first.Run(ctx) }()
		synctest.Wait()
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) || looks.Load() == 0 {
			t.Fatalf("after %d releases: %v", looks.Load(), err)
		}
		ctx, stop = context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := twin.Run(ctx); !errors.Is(err, state.ErrRollback) ||
			!strings.Contains(err.Error(), "another node with the same name") {
			t.Errorf("a twin: %v", err)
		}
		if _, err := sdk.New(cfg); !errors.Is(err, state.ErrRollback) || !strings.Contains(err.Error(), "this device has lost its state of the run") {
			t.Errorf("the next incarnation: %v", err)
		}
		if n := ledger.Head().Seq; n != 1 {
			t.Errorf("the ledger counts %d releases", n)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestLedgerComesLater checks that a ledger added after a run has begun also counts the releases that the run made
// before.
func TestLedgerComesLater(t *testing.T) {
	t.Parallel()
	f := only(1, privateRing())
	dir := t.TempDir()
	_, ledger := newLedger(t, nil)
	defer ledger.Close()
	ctx, stop := context.WithCancel(t.Context())
	cfg := sdk.Config{Fleet: f, Name: "a", Samples: 7, Oracle: oracle(0), Transport: inMemory(t, f)[0]}
	cfg.Events.Released = func(round int, _ []float32) {
		if round == 3 {
			stop()
		}
	}
	for incarnation := range 2 {
		store := must(state.Open(filepath.Join(dir, "state")))(t)
		cfg.Store = store
		n := must(sdk.New(cfg))(t)
		err := n.Run(ctx)
		if incarnation == 0 && !errors.Is(err, context.Canceled) || incarnation == 1 && err != nil {
			t.Fatalf("incarnation %d: %v", incarnation, err)
		}
		if incarnation == 1 {
			cert := must(n.Certificate())(t)
			if cert.Rounds != 8 || cert.Lifetime.Rho != cert.Rho {
				t.Errorf("%d releases that cost %v, and %v in the ledger", cert.Rounds, cert.Rho, cert.Lifetime.Rho)
			}
		}
		ok(t, store.Close())
		ctx, cfg.Ledger = t.Context(), ledger
	}
}
