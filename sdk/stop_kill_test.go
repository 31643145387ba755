package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

func mustOpen(t *testing.T) state.Store {
	t.Helper()
	store, err := state.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// mortal is a node's folder. The node's process dies before or after the nth write of a given kind.
type mortal struct {
	*state.Dir
	nth    *int // writes left
	stops  bool // counts writes of stops rather than of states
	before bool
	die    context.CancelFunc
}

var errDead = errors.New("dead")

func (m mortal) write(stops bool, write func() error) error {
	if stops != m.stops {
		return write()
	}
	*m.nth--
	if *m.nth == 0 && m.before {
		m.die()
		return errDead
	}
	err := write()
	if *m.nth == 0 {
		m.die()
		return errDead
	}
	return err
}

func (m mortal) Save(r state.Record) error {
	return m.write(false, func() error { return m.Dir.Save(r) })
}

func (m mortal) Keep(name string, data []byte) error {
	return m.write(name == state.JournalName, func() error { return m.Dir.Keep(name, data) })
}

// TestStopSurvivesKills kills the member that requests an early stop, or a member that relays the request, before and
// after each write of its state and of a stop. All members must end with the same round, and the ledger of the killed
// member must have exactly the releases that it made.
func TestStopSurvivesKills(t *testing.T) {
	t.Parallel()
	f := stoppable(privateRing(), 1)
	f.Edges, f.Method.Cooldown = graphs["path"].edges, 2
	f.Members, f.Edges = f.Members[:3], f.Edges[:2]
	const asksAfter, last = 2, 5
	want := endedAt(t, f, last)
	kills := 0
	for victim := range 3 {
		for _, stops := range []bool{true, false} {
			for nth := 1; nth <= 8 && (!stops || nth == 1); nth++ {
				if !long && nth%3 == 0 {
					continue // 1, 2, 4, 5, 7 and 8 remain
				}
				for _, before := range []bool{true, false} {
					name := fmt.Sprintf("member %d dies at write %d, of a stop %v, before it %v", victim, nth, stops, before)
					killed := playKill(t, f, victim, nth, stops, before, func(n *sdk.Node, release int) {
						if release == asksAfter {
							_, _ = n.Stop(last) // the process may die in Stop, and the next process asks again
						}
					}, want)
					if kills += killed; stops && killed == 0 {
						t.Error("the stop was never written")
					}
					if t.Failed() {
						t.Fatal(name)
					}
				}
			}
		}
	}
	if kills < 30 || long && kills < 40 {
		t.Errorf("%d kills: nothing was tested", kills)
	}
}

func playKill(t *testing.T, f *sdk.Fleet, victim, nth int, stops, before bool, ask func(n *sdk.Node, release int),
	want [][]float32) (kills int) {
	t.Helper()
	dir, trs := newLedgers(t, f), inMemory(t, f)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i, name := range f.Members {
		left := nth
		life := func() (again bool, err error) {
			ctx, die := context.WithCancel(ctx)
			defer die()
			var n *sdk.Node
			cfg := sdk.Config{Fleet: f, Name: name, Samples: samples[i], Oracle: oracle(i), Transport: trs[i],
				ResendAfter: 3 * time.Millisecond,
				Observer: sdk.Observer{Released: func(release int, _ []float32) {
					if i == 0 {
						ask(n, release)
					}
				}}}
			sign(&cfg)
			wrap := func(d *state.Dir) state.Store {
				if i != victim {
					return d
				}
				return mortal{d, &left, stops, before, die}
			}
			n, release, err := keptIn(t, dir, cfg, wrap)
			if err != nil {
				return false, err
			}
			defer release()
			if n.Status().Round == 2 && i == 0 { // the request may be lost with the process
				ask(n, 2)
			}
			if err = n.Run(ctx); err != nil && ctx.Err() != nil {
				return left <= 0, err
			}
			mu.Lock()
			defer mu.Unlock()
			if st := n.Status(); st.End != 5 || st.Round != 7 {
				t.Errorf("node %d: %+v", i, st)
			}
			if !slices.Equal(n.Model(), want[i]) {
				t.Errorf("node %d has another model than in the quiet run", i)
			}
			mustAudit(t, f, n, 5)
			return false, err
		}
		wg.Go(func() {
			again, err := life()
			for again && ctx.Err() == nil {
				kills++
				again, err = life()
			}
			if err != nil {
				t.Errorf("node %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for _, name := range f.Members {
		l, err := state.ReadLedger(dir + "/" + name + ".ledger")
		if err != nil {
			t.Fatal(err)
		}
		if life := l.Lifetime(f.Privacy.Delta); life.Rho > f.Total(6).Rho || life.Rho < f.Total(5).Rho {
			t.Errorf("%q: the ledger has %v, want %v, or one more for a crash", name, life.Rho, f.Total(5).Rho)
		}
	}
	return kills
}
