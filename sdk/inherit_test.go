package sdk_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/tinytest"
)

func renewLedger(t *testing.T, dir string, limit *dpmech.Limit, declared ...state.Declaration) {
	t.Helper()
	path := filepath.Join(dir, "b.ledger")
	err := errors.Join(os.Remove(path), os.Remove(path+".mark"))
	if err == nil {
		var l *state.Ledger
		if l, err = state.CreateLedger(path, "samples of b", limit, declared...); err == nil {
			err = l.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lifetimeOf verifies a node's certificate, and returns its statement about all runs and its conditions.
func lifetimeOf(t *testing.T, n *sdk.Node) (*dpmech.Lifetime, string) {
	t.Helper()
	c, err := n.Certificate()
	if err == nil {
		err = c.Verify()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.Lifetime, strings.Join(c.ConditionalOn, "; ")
}

// TestLostLedgerIsInherited simulates a member that loses its ledger between two runs and creates a new ledger. The new
// ledger must start from the total that the neighbor proves, and the certificate must state the cost as "at least". The
// total is counted once, even if the new ledger is also lost.
func TestLostLedgerIsInherited(t *testing.T) {
	dir := newLedgers(t, privateRing())
	run := func(name string) (*dpmech.Lifetime, string) {
		nodes, errs := runOfTwo(t, dir, name, true, func(int, *sdk.Config) {})
		if errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		return lifetimeOf(t, nodes[1])
	}
	one, _ := run("one")
	renewLedger(t, dir, nil)
	two, conditions := run("two")
	if len(two.Inherited) != 1 || two.Inherited[0].Ledger != one.Ledger.ID || two.Inherited[0].Member != "a" ||
		two.Rho < 2*one.Rho || two.Rho > 2*one.Rho*(1+1e-12) || len(two.Runs) != 1 {
		t.Errorf("after one run with %v: %+v", one.Rho, two)
	}
	if !strings.Contains(conditions, "what \"a\" could prove is counted") {
		t.Errorf("conditional on %q", conditions)
	}
	three, _ := run("three")
	if len(three.Inherited) != 1 || three.Rho < 3*one.Rho || three.Rho > 3*one.Rho*(1+1e-12) {
		t.Errorf("in the run after that: %+v", three)
	}
	renewLedger(t, dir, nil)
	if four, _ := run("four"); four.Rho < 4*one.Rho || four.Rho > 4*one.Rho*(1+1e-12) {
		t.Errorf("lost once more: %v, want 4 times %v", four.Rho, one.Rho)
	}
}

// TestInheritedCountsInTheLimit checks that a run makes no release if the new ledger's limit does not cover both the
// run and the total of the lost ledger.
func TestInheritedCountsInTheLimit(t *testing.T) {
	dir := newLedgers(t, privateRing())
	nodes, errs := runOfTwo(t, dir, "one", true, func(int, *sdk.Config) {})
	if errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
	one, _ := lifetimeOf(t, nodes[1])
	limit := &dpmech.Limit{Epsilon: one.EpsilonGDP * 1.01, Delta: one.Delta, Accounting: dpmech.GDP}
	renewLedger(t, dir, limit)
	nodes, errs = runOfTwo(t, dir, "two", true, func(int, *sdk.Config) {})
	if !errors.Is(errs[1], dpmech.ErrBudget) || !strings.Contains(errs[1].Error(), "includes the cost recorded in lost ledgers of this member, such as ledger "+one.Ledger.ID) ||
		nodes[1].Status().Round != 0 {
		t.Errorf("%d releases, %v", nodes[1].Status().Round, errs[1])
	}
}

// TestOtherDataIsNotInherited checks that a ledger for other data inherits nothing, whether the operator declares that
// the data is new, or the ledger was in use before a neighbor showed a different ledger. The certificate must name the
// different ledger.
func TestOtherDataIsNotInherited(t *testing.T) {
	dir := newLedgers(t, privateRing())
	aside := t.TempDir()
	for _, name := range []string{"one", "two", "three"} {
		switch name {
		case "two":
			copyFiles(t, dir, aside, "b.ledger", "b.ledger.mark")
			renewLedger(t, dir, nil, state.NeverUsed)
		case "three":
			copyFiles(t, aside, dir, "b.ledger", "b.ledger.mark")
		}
		nodes, errs := runOfTwo(t, dir, name, true, func(int, *sdk.Config) {})
		if errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		life, conditions := lifetimeOf(t, nodes[1])
		if runs := map[string]int{"one": 1, "two": 1, "three": 2}[name]; len(life.Inherited) != 0 || len(life.Runs) != runs {
			t.Errorf("run %s: %+v", name, life)
		}
		want := map[string]string{"one": "", "two": "counts other data: the operator has declared", "three": "may count the same data"}[name]
		if !strings.Contains(conditions, want) || strings.Contains(conditions, "holds a checkpoint") != (want != "") {
			t.Errorf("run %s is conditional on %q, want %q", name, conditions, want)
		}
	}
}

// lostIn simulates a run of two members in which b's device is lost at release 3. It then calls replace, which may
// change b's ledger, and returns the node of a replacement device with a new store and b's ledger.
func lostIn(t *testing.T, dir, name string, replace func()) (*sdk.Node, error) {
	t.Helper()
	cfgs := configsOfTwo(t, dir, name, true)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	gone, lose := context.WithCancel(ctx)
	defer lose()
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for i := range cfgs {
		c := &cfgs[i]
		defer c.Transport.Close()
		c.Observer.Released = func(round int, _ []float32) {
			if i == 1 && round == 3 {
				lose()
			}
		}
		n, err := sdk.New(*c)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			all.Go(func() { _ = n.Run(ctx); _ = c.Ledger.Close() })
		} else if err := n.Run(gone); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	c := &cfgs[1]
	err1 := c.Ledger.Close()
	replace()
	var err2, err3 error
	c.Store, err2 = tinytest.MemStore()()
	c.Ledger, err3 = state.OpenLedger(filepath.Join(dir, "b.ledger"))
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	defer c.Ledger.Close()
	n, err := sdk.New(*c)
	if err != nil {
		t.Fatal(err)
	}
	err = n.Run(ctx)
	return n, err
}

// TestNewDeviceWithACopyOfTheLedger checks that a device without a state refuses an older copy of its ledger, because a
// neighbor has a later signed checkpoint of the same ledger.
func TestNewDeviceWithACopyOfTheLedger(t *testing.T) {
	dir, aside := newLedgers(t, privateRing()), t.TempDir()
	copyFiles(t, dir, aside, "b.ledger", "b.ledger.mark")
	n, err := lostIn(t, dir, "one", func() { copyFiles(t, aside, dir, "b.ledger", "b.ledger.mark") })
	if !errors.Is(err, state.ErrRollback) || !strings.Contains(err.Error(), "create a new ledger") || n.Status().Round != 0 {
		t.Errorf("%v, %d releases", err, n.Status().Round)
	}
}
