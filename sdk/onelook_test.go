package sdk_test

import (
	"context"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// TestCrashBetweenDuties simulates a crash at every point between a ledger entry and its release. A release that is not
// marked was not sent. If it is not stored either, it is made again without a second charge. If it is stored, it is
// marked and then sent as stored.
func TestCrashBetweenDuties(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, ledger := newLedger(t, nil)
		var store state.Store
		var cfg sdk.Config
		w, looks := denied(t, func(c *sdk.Config) { c.Ledger, c.Store = ledger, store; cfg = *c })
		f := w.Fleet
		g := dpmech.Gaussian{Clip: f.Privacy.Clip, Sigma: f.Privacy.Sigma}
		open := tinytest.MemStore()
		start := func(wrap func(state.Store) state.Store) *sdk.Node {
			t.Helper()
			kept := must(open())(t)
			store = wrap(kept)
			n := must(w.Start("b"))(t)
			return n
		}
		// reopen crashes the process that has the ledger.
		reopen := func() {
			t.Helper()
			ok(t, ledger.Close())
			ledger = must(state.OpenLedger(path))(t)
		}
		check := func(when string, lines, marked int) {
			t.Helper()
			if seq, got := ledger.Head().Seq, ledger.Marked(runID(f.Run, f.Hash(), "b")); seq != lines || got != marked {
				t.Errorf("%s: %d lines, marked up to %d, want %d and %d", when, seq, got, lines, marked)
			}
		}

		// Simulate a crash after the ledger entry.
		ok(t, ledger.Reserve(runID(f.Run, f.Hash(), "b"), 1, g))
		reopen()
		check("a line", 1, 0)
		// Simulate a crash after the state is stored, by making the mark fail.
		n := start(func(s state.Store) state.Store {
			return saving{s, func(r state.Record) error { return errors.Join(s.Save(r), ledger.Close()) }}
		})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := n.Run(ctx); err == nil ||
			!strings.Contains(err.Error(), "release 1 was not sent, because the ledger could not mark the release") {
			t.Errorf("no mark: %v", err)
		}
		saved, err := store.Load()
		if err != nil || len(saved) != 1 || n.Status().Round != 0 || looks.Load() > 0 {
			t.Fatalf("%d states, status %+v, %d releases that are not marked, %v", len(saved), n.Status(), looks.Load(), err)
		}
		reopen()
		check("a state", 1, 0)
		n = start(func(s state.Store) state.Store { return s })
		check("a state that is resumed", 1, 1)
		var snap wire.Snapshot
		ok(t, wire.DecodeSnapshot(saved[0].State, &snap))
		if got := n.Model(); n.Status().Round != 1 || got[0] != snap.State.X[0] {
			t.Errorf("it goes on with %v in round %d, and %v was kept", got, n.Status().Round, snap.State.X)
		}
		// After the same crash, start the node on a new disk without the state.
		fresh := must(tinytest.MemStore()())(t)
		for name, store := range map[string]state.Store{"a fresh store": fresh, "no store": nil} {
			cfg.Store = store
			if _, err := sdk.New(cfg); !errors.Is(err, state.ErrRollback) {
				t.Errorf("%s beside a marked release: %v", name, err)
			}
		}
		if err := errors.Join(w.Close(), ledger.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestReservationWithoutStore checks that, without a store, a reservation alone does not prevent a node from starting,
// because nothing was sent.
func TestReservationWithoutStore(t *testing.T) {
	f := only(1, privateRing())
	_, ledger := newLedger(t, nil)
	defer ledger.Close()
	ok(t, ledger.Reserve(runID(f.Run, f.Hash(), "a"), 1,
		dpmech.Gaussian{Clip: f.Privacy.Clip, Sigma: f.Privacy.Sigma}))
	cfg := sdk.Config{Fleet: f, Name: "a", Samples: 7, Oracle: oracle(0), Transport: inMemory(t, f)[0], Ledger: ledger}
	n := must(sdk.New(cfg))(t)
	mustRun(t, []*sdk.Node{n})
	if last, marked := ledger.Last(runID(f.Run, f.Hash(), "a")),
		ledger.Marked(runID(f.Run, f.Hash(), "a")); last != 8 || marked != 8 || ledger.Head().Seq != 8 {
		t.Errorf("%d releases, %d marked, in %d lines", last, marked, ledger.Head().Seq)
	}
	if _, err := sdk.New(cfg); !errors.Is(err, state.ErrRollback) || !strings.Contains(err.Error(), "this device has lost its state of the run") {
		t.Errorf("once more: %v", err)
	}
}

// TestLostReleasesAreMarked checks that after losing its state, a node charges and marks the releases that a neighbor
// holds. The next incarnation must find these releases in the ledger, without help from a neighbor.
func TestLostReleasesAreMarked(t *testing.T) {
	f := only(2, privateRing())
	dir := newLedgers(t, f)
	trs := inMemory(t, f)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	first, end := context.WithCancel(ctx)
	all := nodes(t, f, trs, func(i int, c *sdk.Config) {
		if i == 1 {
			c.Events.Released = func(round int, _ []float32) {
				if round == 3 {
					end()
				}
			}
		}
	})
	over := make(chan error, 2)
	go func() { over <- all[0].Run(ctx) }()
	go func() { over <- all[1].Run(first) }()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	ledger := must(state.OpenLedger(filepath.Join(dir, "b.ledger")))(t)
	defer ledger.Close()
	cfg := sdk.Config{Fleet: f, Name: "b", Samples: samples[1], Oracle: oracle(1), Transport: trs[1], Ledger: ledger,
		ResendAfter: 5 * time.Millisecond}
	sign(&cfg)
	cfg.Store = memStore(t)
	n := must(sdk.New(cfg))(t)
	if err := n.Run(ctx); !errors.Is(err, state.ErrRollback) {
		t.Errorf("a node without its past: %v", err)
	}
	last, marked := ledger.Last(runID(f.Run, f.Hash(), "b")), ledger.Marked(runID(f.Run, f.Hash(), "b"))
	if last < 1 || marked != last { // a neighbor may have received release 2
		t.Errorf("release %d is charged, and %d marked", last, marked)
	}
	if _, err := sdk.New(cfg); !errors.Is(err, state.ErrRollback) {
		t.Errorf("the next incarnation: %v", err)
	}
	stop()
	<-over
}

func runID(run string, fleet [32]byte, member string) certificate.RunID {
	return certificate.RunID{Run: run, Fleet: hex.EncodeToString(fleet[:]), Member: member}
}
