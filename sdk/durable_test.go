package sdk_test

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
)

// noiseAfter returns the noise of a member's process: that of [noise], after 32 bytes for each noisy release in its store.
func noiseAfter(t *testing.T, c *sdk.Config) io.Reader {
	t.Helper()
	f := fleetOf(c)
	random, made := noise(slices.Index(f.Members, c.Name)), 0
	if c.Store != nil {
		all := must(c.Store.Load())(t)
		if len(all) > 0 {
			made = f.Method.Data(all[0].Round)
		}
	}
	if _, err := io.CopyN(io.Discard, random, int64(32*made)); err != nil {
		t.Fatal(err)
	}
	return random
}

// kept creates a node that stores all its durable state in the folder dir.
func kept(t *testing.T, dir string, cfg sdk.Config) (n *sdk.Node, release func(), err error) {
	t.Helper()
	store, err := state.Open(filepath.Join(dir, cfg.Name))
	if err != nil {
		return nil, nil, err
	}
	ledger := must(state.OpenLedger(filepath.Join(dir, cfg.Name+".ledger")))(t)
	cfg.Store, cfg.Ledger = store, ledger
	if cfg.PairKeys == nil {
		pairUp(&cfg)
	}
	cfg.Noise = noiseAfter(t, &cfg)
	release = func() {
		if err := errors.Join(store.Close(), ledger.Close()); err != nil {
			t.Error(err)
		}
	}
	if n, err = sdk.New(cfg); err != nil {
		release()
	}
	return n, release, err
}

func newLedgers(t *testing.T, f *sdk.Fleet) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range f.Members {
		l := must(state.CreateLedger(filepath.Join(dir, name+".ledger"), "samples of "+name, f.Privacy.Gaussian().Unit, nil, state.NeverUsed))(t)
		ok(t, l.Close())
	}
	return dir
}

// TestNodesGoOnFromTheirStores stops all nodes repeatedly and restarts them from their stores. For every kind of run,
// it checks that the models equal the models of an uninterrupted run, and that every release is charged once.
func TestNodesGoOnFromTheirStores(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *sdk.Fleet){
		"grid":     func(f *sdk.Fleet) {},
		"shared":   func(f *sdk.Fleet) { *f = *sharedRing(); f.Privacy.Colluders = 0 },
		"partners": func(f *sdk.Fleet) { *f = *partnered(t, 4, 3, 1) },
		"tracking": func(f *sdk.Fleet) {
			f.Method.Estimator, f.Method.Directions = zoest.Tracking, zoest.Walsh
		},
		"records": func(f *sdk.Fleet) { *f = *recordRing() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := privateRing()
			change(f)
			if !long && name != "partners" {
				only(3, f)
			}
			if !long {
				f.Method.Rounds, f.Method.Cooldown = 3-f.Method.Mixing, 1
			}
			dir := newLedgers(t, f)
			trs := inMemory(t, f)
			rho := make([]float64, len(f.Members))
			models := make([][]float32, len(f.Members))
			most := len(f.Members)*f.Method.Last() + 20 // a restart is sure of one release of one member; 20 may add none
			for incarnation := 0; slices.Contains(rho, 0); incarnation++ {
				if incarnation > most {
					t.Fatal("no end")
				}
				ctx, stop := context.WithCancel(t.Context())
				var all []*sdk.Node
				var releases []func()
				for i, tr := range trs {
					n, release, err := kept(t, dir, sdk.Config{
						Key: memberKey(f.Members[i]), Keys: memberKeys,
						Fleet: f, Name: f.Members[i], Samples: samples[i], Oracle: told{oracle(i), "samples"}, Transport: tr, Secret: simulatedSecret(f, i),
						ResendAfter: 5 * time.Millisecond, ConditionalOn: []string{"nothing at all"},
						Events: sdk.Events{Released: func(int, []float32) {
							if i == incarnation%len(trs) {
								stop() // before the release is sent
							}
						}},
					})
					if err != nil {
						t.Fatalf("incarnation %d, node %d: %v", incarnation, i, err)
					}
					all, releases = append(all, n), append(releases, release)
				}
				errs := runAll(ctx, all)
				stop()
				for i, n := range all {
					if errs[i] != nil && !errors.Is(errs[i], context.Canceled) {
						t.Fatalf("incarnation %d, node %d: %v", incarnation, i, errs[i])
					}
					if n.Status().Done {
						cert := certify(t, n)
						hash := f.Hash()
						if cert.Rounds != f.Method.Rounds || cert.Fleet != hex.EncodeToString(hash[:]) || cert.Member != f.Members[i] ||
							!cert.Simulated || cert.Lifetime == nil || cert.Lifetime.Rho != cert.Rho || cert.Rho != n.Spend().Rho ||
							cert.ConditionalOn[0] != "nothing at all" {
							t.Errorf("certificate %+v", cert)
						}
						rho[i], models[i] = cert.Rho, n.Model()
					}
				}
				for _, release := range releases {
					release()
				}
			}
			for i, want := range simulated(t, f) {
				if !slices.Equal(models[i], want) {
					t.Errorf("node %d holds %v, want %v", i, models[i], want)
				}
				if rho[i] != f.Total(f.Method.Rounds).Rho {
					t.Errorf("node %d has spent %v, want %v", i, rho[i], f.Total(f.Method.Rounds).Rho)
				}
			}
		})
	}
}

// saving is a store whose Save calls save instead.
type saving struct {
	state.Store
	save func(state.Record) error
}

func (s saving) Save(r state.Record) error { return s.save(r) }

// ahead is a store of which the run began when the clock was ahead.
type ahead struct{ state.Store }

func (s ahead) Load() ([]state.Record, error) {
	all, err := s.Store.Load()
	for i := range all {
		all[i].Note = strings.Replace(all[i].Note, `"began":"2`, `"began":"9`, 1)
	}
	return all, err
}

// TestClockSetBack checks that a node whose clock was set back since its run began goes on, and has a certificate.
func TestClockSetBack(t *testing.T) {
	f, store := only(1, privateRing()), memStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	first := nodes(t, f, inMemory(t, f), func(_ int, c *sdk.Config) {
		c.Store, c.Events.Released = store, func(int, []float32) { cancel() }
	})[0]
	if err := first.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	again := nodes(t, f, inMemory(t, f), func(_ int, c *sdk.Config) { c.Store = ahead{store} })
	mustRun(t, again)
	if c, err := again[0].Certificate(); err != nil || c.Rounds != f.Method.Rounds || c.Ended != c.Began {
		t.Errorf("%+v, %v", c, err)
	}
}

func memStore(t *testing.T) state.Store {
	t.Helper()
	s := must(tinytest.MemStore()())(t)
	return s
}

// failingFrom returns a store in which no release from a given one on can be saved.
func failingFrom(s state.Store, round int, err error) state.Store {
	return saving{s, func(r state.Record) error {
		if r.Round >= round {
			return err
		}
		return s.Save(r)
	}}
}

var errFull = errors.New("no space left on device")

// TestReleaseIsKeptBeforeItIsSent checks that a release that cannot be stored is not sent, and that the node stops.
func TestReleaseIsKeptBeforeItIsSent(t *testing.T) {
	f := only(2, privateRing())
	trs := inMemory(t, f)
	told := 0
	all := nodes(t, f, trs, func(i int, c *sdk.Config) {
		if i == 1 {
			c.Store = failingFrom(memStore(t), 3, errFull)
			c.Events.Released = func(round int, _ []float32) { told = round }
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- all[0].Run(ctx) }()
	for range 2 {
		if err := all[1].Run(ctx); !errors.Is(err, errFull) || !strings.Contains(err.Error(), "release 3 was not sent") {
			t.Errorf("%v", err)
		}
	}
	stop()
	<-ended
	if st := all[0].Status(); st.Round > 3 || told != 2 {
		t.Errorf("the neighbor is in round %d, and the observer was told of %d", st.Round, told)
	}
}

// TestBudgets checks that a run that would exceed its own limit is refused before it begins, and that a release that
// would exceed the ledger's limit is not made.
func TestBudgets(t *testing.T) {
	f := only(1, privateRing())
	cfg := sdk.Config{Fleet: f, Name: "a", Samples: 7, Oracle: oracle(0), Transport: inMemory(t, f)[0]}
	cost := dpmech.GDP.Epsilon(f.Total(f.Method.Rounds).Rho, 1e-5)
	f.Privacy.EpsilonLimit = cost * 0.999
	if _, err := sdk.New(cfg); !errors.Is(err, dpmech.ErrBudget) || !strings.Contains(err.Error(), "8 rounds") {
		t.Errorf("limit just below the cost: %v", err)
	}
	f.Privacy.EpsilonLimit = cost
	_, ledger := newLedger(t, &dpmech.Limit{Epsilon: 1.2 * cost, Delta: 1e-5})
	defer ledger.Close()
	cfg.Ledger = ledger
	n := must(sdk.New(cfg))(t)
	// Let another run spend half of the budget that this run needs.
	for round := 1; round <= 6; round++ {
		ok(t, ledger.Reserve(runID("another", f.Hash(), "a"), round,
			dpmech.Gaussian{Clip: f.Privacy.Clip, Sigma: f.Privacy.Sigma}))
	}
	err := n.Run(t.Context())
	st := n.Status()
	if !errors.Is(err, dpmech.ErrBudget) || st.Round == 0 || st.Round >= 8 ||
		!strings.Contains(err.Error(), "was not made") {
		t.Errorf("after %d releases: %v", st.Round, err)
	}
	if total := ledger.Lifetime(1e-5); total.EpsilonGDP > 1.2*cost {
		t.Errorf("spent %v of %v", total.EpsilonGDP, 1.2*cost)
	}
	f.Run = "a third"
	if _, err := sdk.New(cfg); !errors.Is(err, dpmech.ErrBudget) || !strings.Contains(err.Error(), "8 rounds of") {
		t.Errorf("a run that the ledger does not cover: %v", err)
	}
}
