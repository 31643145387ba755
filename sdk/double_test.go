package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// TestDoubleLeavesEvidence lets a copy of a device make another first release than the device has made, with the same
// key. The neighbor that receives both stores evidence that others can verify and that survives a restart. The device,
// which receives the evidence, stops and never starts again.
func TestDoubleLeavesEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := only(2, privateRing())
		w := &tinytest.World{Fleet: f, Samples: samples[:2], Disks: map[string]tinytest.OpenStore{"a": tinytest.MemStore(), "b": tinytest.MemStore()}}
		var ended sync.WaitGroup
		run := func(name string, ctx context.Context) (n *sdk.Node, end func() error) {
			n, err := w.Start(name)
			if err != nil {
				return nil, func() error { return err }
			}
			ended.Go(func() { err = n.Run(ctx) })
			return n, func() error { ended.Wait(); return err }
		}
		ctx, stop := context.WithCancel(t.Context())
		b, _ := run("b", ctx)
		copied := must(w.Play("a"))(t)
		for value := range 2 {
			first := &admm.Message{Kind: admm.Release, Round: 1, Grid: []int32{int32(value), 0, 0, 0, 0, 0}}
			copied.Sign(first, nil)
			ok(t, copied.Send(ctx, "b", first))
		}
		synctest.Wait()
		evidence := b.Status().Evidence
		if len(evidence) != 1 || evidence[0].Member != "a" {
			t.Fatalf("the neighbor has %+v", evidence)
		}
		if err := evidence[0].Verify(f.Run, f.Hash(), w.Keys("a")); err != nil {
			t.Error(err)
		}
		one := evidence[0]
		for name, err := range map[string]error{
			"another run":    one.Verify("other", f.Hash(), w.Keys("a")),
			"another member": one.Verify(f.Run, f.Hash(), w.Keys("b")),
			"twice the same": (signed.Evidence{Member: "a", Round: one.Round, First: one.First, Second: one.First}).Verify(f.Run, f.Hash(), w.Keys("a")),
			"another round":  (signed.Evidence{Member: "a", Round: 77, First: one.First, Second: one.Second}).Verify(f.Run, f.Hash(), w.Keys("a")),
			"half of it":     (signed.Evidence{Member: "a", First: one.First}).Verify(f.Run, f.Hash(), w.Keys("a")),
		} {
			if err == nil {
				t.Errorf("%s: the evidence counts", name)
			}
		}
		stop()
		ended.Wait()
		ctx, stop = context.WithCancel(t.Context())
		if b, _ = run("b", ctx); len(b.Status().Evidence) != 1 {
			t.Errorf("the neighbor after a restart: %+v", b.Status())
		}
		a := must(w.Start("a"))(t)
		for range 2 {
			if err := a.Run(ctx); !errors.Is(err, trust.ErrClone) || a.Status().Done {
				t.Errorf("the device: %v, %+v", err, a.Status())
			}
		}
		if _, err := w.Start("a"); !errors.Is(err, trust.ErrClone) {
			t.Errorf("the device after a restart: %v", err)
		}
		stop()
		ended.Wait()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestLedgerThatWentOnIsFoundOut rolls back a ledger, which then grows to at least its old length in a run without
// neighbors that remember the old ledger. In the next run, a neighbor that remembers the old ledger must detect the
// rollback.
func TestLedgerThatWentOnIsFoundOut(t *testing.T) {
	t.Parallel()
	for _, runs := range []int{1, 2} {
		dir, old := newLedgers(t, privateRing()), t.TempDir()
		copyFiles(t, dir, old, "b.ledger", "b.ledger.mark")
		play := func(name string) ([]*sdk.Node, []error) { return runOfTwo(t, dir, name) }
		if _, errs := play("one"); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		copyFiles(t, dir, old, "a.ledger.neighbors")
		copyFiles(t, old, dir, "b.ledger", "b.ledger.mark")
		for i := range runs {
			ok(t, os.Remove(filepath.Join(dir, "a.ledger.neighbors")))
			if _, errs := play(fmt.Sprintf("aside %d", i)); errors.Join(errs...) != nil {
				t.Fatal(errs)
			}
		}
		copyFiles(t, old, dir, "a.ledger.neighbors")
		if nodes, errs := play("two"); !errors.Is(errs[1], state.ErrRollback) || nodes[1].Status().Round != 0 {
			t.Errorf("after %d runs aside: %v, %d releases", runs, errs[1], nodes[1].Status().Round)
		}
	}
}

// runOfTwo runs the first two members, until one of them fails. dir holds their ledgers and what these remember of neighbors.
func runOfTwo(t *testing.T, dir, name string) (all []*sdk.Node, errs []error) {
	t.Helper()
	f := only(2, privateRing())
	f.Run, f.Method.Rounds, f.Method.Cooldown = name, 3, 1
	var ledgers []*state.Ledger
	all = nodes(t, f, inMemory(t, f), func(_ int, c *sdk.Config) {
		c.Store, c.Ledger, c.Noise = memStore(t), must(state.OpenLedger(filepath.Join(dir, c.Name+".ledger")))(t), nil
		ledgers = append(ledgers, c.Ledger)
	})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	errs = make([]error, 2)
	var work sync.WaitGroup
	for i, n := range all {
		work.Go(func() {
			if errs[i] = n.Run(ctx); errs[i] != nil {
				stop()
			}
		})
	}
	work.Wait()
	for _, l := range ledgers {
		ok(t, l.Close())
	}
	return all, errs
}

func copyFiles(t *testing.T, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		ok(t, os.WriteFile(filepath.Join(to, name), must(os.ReadFile(filepath.Join(from, name)))(t), 0o600))
	}
}
