package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

var lostID = strings.Repeat("a", 32)

// certified returns a certificate for three releases of a run. The lifetime in the certificate is the ledger's lifetime
// as modified by change.
func certified(t *testing.T, l *Ledger, change func(life *dpmech.Lifetime)) (*dpmech.Certificate, error) {
	t.Helper()
	f, err := dpmech.NewFilter(nil)
	for round := 1; round <= 3 && err == nil; round++ {
		err = f.Reserve(round, noisy)
	}
	if err != nil {
		t.Fatal(err)
	}
	life := l.Lifetime(1e-5)
	change(life)
	return dpmech.NewCertificate(dpmech.About{RunID: life.Runs[0].RunID}, 1e-5, f, life)
}

// TestInheritedIsComparedWithTheLedger checks that a certificate that understates the inherited cost is self-consistent
// but contradicts the ledger.
func TestInheritedIsComparedWithTheLedger(t *testing.T) {
	l, _ := newLedger(t, nil)
	if err := l.Inherit(lostID, "a", dpmech.Amount{Rho: 5, All: 5}, nil); err != nil {
		t.Fatal(err)
	}
	reserve(t, l, "run", 1, 3)
	for _, rho := range []float64{5, 0} {
		c, err := certified(t, l, func(life *dpmech.Lifetime) {
			life.Inherited[0].Rho, life.Inherited[0].All = rho, rho
			life.Cost = dpmech.CostOf(life.Total(), 1e-5)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Verify(c); (err == nil) != (rho == 5) {
			t.Errorf("stated as %v: %v", rho, err)
		}
	}
}

// TestInheritedAboveTheLimit checks that an inherited cost may exceed the limit or have a weaker privacy unit: a
// certificate for the releases made so far is still possible, but further releases are refused. A lost ledger with zero
// cost is recorded, too, because another neighbor may prove a larger cost.
func TestInheritedAboveTheLimit(t *testing.T) {
	for _, unit := range []dpmech.Unit{dpmech.Client, dpmech.Record} {
		l, _ := newLedger(t, &dpmech.Limit{Epsilon: 6, Delta: 1e-5, Accounting: dpmech.GDP})
		if err := l.Inherit(lostID, "a", dpmech.Amount{}, nil); err != nil {
			t.Fatal(err)
		}
		reserve(t, l, "run", 1, 3)
		if !l.Inherits(lostID) || l.Inherits(strings.Repeat("b", 32)) {
			t.Error("a ledger at work inherits from those that it has inherited from, and no other")
		}
		if err := l.Inherit(lostID, "b", dpmech.Amount{Rho: 5, All: 5, Unit: unit}, nil); err != nil {
			t.Fatal(err)
		}
		c, err := certified(t, l, func(*dpmech.Lifetime) {})
		if err == nil {
			err = l.Verify(c)
		}
		if err != nil {
			t.Errorf("%v: no certificate for what was released: %v", unit, err)
		}
		if err := l.Reserve(runID("run", fleetA, "a"), 4, noisy); err == nil {
			t.Errorf("%v: a further release", unit)
		}
	}
}

// TestTornInheritance checks that a cost is inherited exactly once even if a crash tears its line at any byte, whether
// the disk has the old or the new high-water mark.
func TestTornInheritance(t *testing.T) {
	l, path := newLedger(t, nil)
	before, _ := os.ReadFile(markPath(path))
	begin := l.log.size()
	if err := l.Inherit(lostID, "a", dpmech.Amount{Rho: 5, All: 5}, nil); err != nil {
		t.Fatal(err)
	}
	end := l.log.size()
	text, _ := os.ReadFile(path)
	after, _ := os.ReadFile(markPath(path))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for n := begin; n <= end; n += 7 {
		for marked, mark := range map[bool][]byte{false: before, true: after} {
			dir := t.TempDir()
			path := filepath.Join(dir, "ledger")
			file := make([]byte, len(text))
			copy(file, text[:n])
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(markPath(path), mark, 0o600); err != nil {
				t.Fatal(err)
			}
			k, err := OpenLedger(path)
			if lost := marked && n < end-1; lost || err != nil {
				if !lost || err == nil {
					t.Errorf("marked %v, %d of %d bytes: %v", marked, n-begin, end-begin, err)
				}
				continue
			}
			if err := k.Inherit(lostID, "a", dpmech.Amount{Rho: 5, All: 5}, nil); err != nil {
				t.Error(err)
			}
			reserve(t, k, "run", 1, 2)
			markUpTo(t, k, "run", 1)
			if err := k.Close(); err != nil {
				t.Error(err)
			}
			if k, err = OpenLedger(path); err != nil {
				t.Fatal(err)
			}
			if k.Last(runID("run", fleetA, "a")) != 2 || k.Marked(runID("run", fleetA, "a")) != 1 || len(k.Lifetime(1e-5).Inherited) != 1 {
				t.Errorf("marked %v, %d of %d bytes: %+v", marked, n-begin, end-begin, k.Lifetime(1e-5))
			}
			_ = k.Close()
		}
	}
}

// TestFailedInheritance checks that an inherited cost that could not be written has no effect: Head does not include
// it.
func TestFailedInheritance(t *testing.T) {
	l, path := newLedger(t, nil)
	before := l.Head()
	_ = closeAll(l.file) // every write fails from here on
	if err := l.Inherit(lostID, "a", dpmech.Amount{Rho: 5, All: 5}, nil); err == nil {
		t.Fatal("a spend was inherited although nothing could be written")
	}
	k, err := ReadLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	if after := l.Head(); after != before || k.Contains(after) != nil {
		t.Errorf("%+v before, and %+v after a line that could not be written", before, after)
	}
	l.file = nil
}

// TestLargestCheckpointIsKept checks that neither a later checkpoint nor a copy of a ledger reduces the cost that a
// neighbor can prove. Sixteen further ledgers do not displace the ledger in use.
func TestLargestCheckpointIsKept(t *testing.T) {
	check := func(id byte, seq uint64, cost float64) signed.Earlier {
		return signed.NewCheckpoint(memberKey("b"), signed.NewScope("one", [32]byte{}, "b"),
			signed.Head{ID: [16]byte{id}, Seq: seq}, dpmech.Checkpoint{Run: dpmech.Amount{Rho: cost, All: cost}})
	}
	for name, list := range map[string][2]signed.Earlier{
		"two open runs, and then one of them alone": {check(7, 0, 16), check(7, 3, 8.2)},
		"an older copy":      {check(7, 100, 10), check(7, 5, 1)},
		"the highest number": {check(7, 100, 10), check(7, 1<<63, 0)},
	} {
		h, err := OpenHeads(filepath.Join(t.TempDir(), "heads"))
		if err != nil {
			t.Fatal(err)
		}
		most, _ := list[0].Spent(signed.Scope{})
		for i := range byte(30) {
			h.Learn(pins("b"), list[min(i, 1)])
			h.Learn(pins("b"), check(100+i, 1, 0))
			h.Learn(pins("b"), check(7, 200+uint64(i), most.All)) // the ledger in use gets new entries
		}
		if got, _ := h.Lost(pins("b"), nil, signed.Scope{}).Spent(signed.Scope{}); got.All < most.All {
			t.Errorf("%s: %v was proved once, and now %v", name, most.All, got.All)
		}
	}
}
