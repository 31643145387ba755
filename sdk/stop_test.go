package sdk_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/audit"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// stoppable sets how many members must request an early end of the run, and returns the fleet.
func stoppable(f *sdk.Fleet, members int) *sdk.Fleet {
	f.Stop = &sdk.Stop{Members: members}
	return f
}

// endedAt simulates a fleet whose members know from the start that the run ends with the given round, and returns the
// models.
func endedAt(t *testing.T, f *sdk.Fleet, last int) [][]float32 {
	t.Helper()
	cfgs, err := f.Machines(samples[:len(f.Members)], noise)
	if err != nil {
		t.Fatal(err)
	}
	var clients []sim.Client
	for i, c := range cfgs {
		c.End = last
		clients = append(clients, sim.Client{Config: c, Oracle: oracle(i)})
	}
	network, err := sim.New(clients)
	if err == nil {
		err = network.Run(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return network.Models()
}

// stopRequests maps a member to its early-stop request. The member makes the request after the given release, or before
// the run if release is 0.
type stopRequests map[int]struct{ release, last int }

func (w stopRequests) ask(t *testing.T, n *sdk.Node, i, release int) {
	if wish, asks := w[i]; asks && wish.release == release {
		if _, err := n.Stop(wish.last); err != nil {
			t.Errorf("node %d after release %d: %v", i, release, err)
		}
	}
}

// stopped runs a fleet in which some members request an early end, and returns its nodes.
func stopped(t *testing.T, f *sdk.Fleet, trs []transport.Transport, w stopRequests, change func(i int, c *sdk.Config)) []*sdk.Node {
	t.Helper()
	var all []*sdk.Node
	all = nodes(t, f, trs, func(i int, c *sdk.Config) {
		c.Observer.Released = func(release int, _ []float32) { w.ask(t, all[i], i, release) }
		if change != nil {
			change(i, c)
		}
	})
	for i, n := range all {
		w.ask(t, n, i, 0)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := errors.Join(runAll(ctx, all)...); err != nil {
		for i, n := range all {
			t.Logf("node %d: %+v", i, n.Status())
		}
		t.Fatal(err)
	}
	return all
}

// mustEnd checks that the given round was the last round with data on every node, whether planned or early, and that
// the models equal those of a run planned to end with that round.
func mustEnd(t *testing.T, f *sdk.Fleet, all []*sdk.Node, last int) {
	t.Helper()
	end := last
	if last == f.Method.Rounds {
		end = 0
	}
	m := f.Method.EndedAt(last)
	for i, n := range all {
		st := n.Status()
		if !st.Done || st.End != end || st.Last != m.Last() || st.Round != m.Last() || st.Refused != 0 {
			t.Errorf("node %d: %+v, want the end after round %d of data and release %d", i, st, last, m.Last())
		}
		if f.Privacy.NonPrivate {
			continue
		}
		if got := n.Spend(); got != f.Total(last) {
			t.Errorf("node %d has spent %v, want %v of %d rounds", i, got, f.Total(last), last)
		}
		mustAudit(t, f, n, last)
	}
	sameModels(t, all, endedAt(t, f, end))
}

// mustAudit checks that a node's certificate passes an audit, and that it counts the given number of releases with
// data.
func mustAudit(t *testing.T, f *sdk.Fleet, n *sdk.Node, last int) {
	t.Helper()
	c, err := n.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Certificate(f, c, memberKeys); err != nil || c.Rounds != last {
		t.Errorf("%q: a certificate of %d releases, want %d: %v", c.Member, c.Rounds, last, err)
	}
}

// graphs has four graphs of five members, each with its diameter.
var graphs = map[string]struct {
	edges [][2]string
	wide  int
}{

	"path":     {[][2]string{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"d", "e"}}, 4},
	"ring":     {[][2]string{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"d", "e"}, {"e", "a"}}, 2},
	"star":     {[][2]string{{"a", "b"}, {"a", "c"}, {"a", "d"}, {"a", "e"}}, 2},
	"complete": {[][2]string{{"a", "b"}, {"a", "c"}, {"a", "d"}, {"a", "e"}, {"b", "c"}, {"b", "d"}, {"b", "e"}, {"c", "d"}, {"c", "e"}, {"d", "e"}}, 1},
}

// TestStopIsAgreedOn lets one member request a stop before the run or after any of its releases. All members must end
// with the earliest round for which the request can reach all of them in time. The models must equal those of a run
// planned with this end, bit for bit, and only releases that were made may be charged.
func TestStopIsAgreedOn(t *testing.T) {
	t.Parallel()
	for name, g := range graphs {
		t.Run(name, func(t *testing.T) {
			f := stoppable(privateRing(), 1)
			f.Edges = g.edges
			for release := 0; release+g.wide+1 < f.Method.Rounds; release++ {
				all := stopped(t, f, inMemory(t, f), stopRequests{4: {release: release}}, nil)
				mustEnd(t, f, all, release+g.wide+1)
				if st := all[0].Status(); !slices.Equal(st.Stops, []sdk.Wish{{Member: "e", Last: st.End}}) {
					t.Errorf("after release %d: %v", release, st.Stops)
				}
				if t.Failed() {
					t.Fatalf("release %d", release)
				}
			}
		})
	}
}

// TestStopsOfSeveralMembers checks that if two members request a stop at the same time, the run ends with the earlier
// of the two requested rounds. A member that makes a second request may move the end to an earlier round but not to a
// later one.
func TestStopsOfSeveralMembers(t *testing.T) {
	f := stoppable(privateRing(), 1)
	f.Method.Rounds = 14
	mustEnd(t, f, stopped(t, f, inMemory(t, f), stopRequests{0: {2, 9}, 3: {2, 6}}, nil), 6)
	mustEnd(t, f, stopped(t, f, inMemory(t, f), stopRequests{0: {2, 9}, 3: {5, 0}}, nil), 8)
	var all []*sdk.Node
	all = nodes(t, f, inMemory(t, f), func(i int, c *sdk.Config) {
		c.Observer.Released = func(release int, _ []float32) {
			if asked := []int{11, 7, 9}; i == 1 && release <= len(asked) {
				want := slices.Min(asked[:release])
				if got, err := all[i].Stop(asked[release-1]); got != want || err != nil {
					t.Errorf("release %d: %d, %v, want %d", release, got, err, want)
				}
			}
		}
	})
	mustRun(t, all)
	mustEnd(t, f, all, 7)
}

// TestStopOfEveryKindOfRun checks that members agree on an early end in every kind of run: one with mixing rounds, one
// without a cool-down, one with the paper's messages, one without privacy, one with pairwise noise, and one with lost
// frames.
func TestStopOfEveryKindOfRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(f *sdk.Fleet)
		at     int // release after which "b" asks
		last   int
	}{
		"mixing":       {func(f *sdk.Fleet) { f.Method.Mixing = 2 }, 4, 3},
		"mixing late":  {func(f *sdk.Fleet) { f.Method.Mixing = 2 }, 6, 3},
		"no end phase": {func(f *sdk.Fleet) { f.Method.Cooldown = 0 }, 3, 6},
		"not private":  {func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{NonPrivate: true} }, 3, 6},
		"momentum":     {func(f *sdk.Fleet) { f.Method.Momentum = 0.8 }, 3, 6},
		"shared":       {func(f *sdk.Fleet) { *f = *sharedRing() }, 3, 3},
		"estimator":    {func(f *sdk.Fleet) { f.Method.Estimator = sdk.EstimatorTracking }, 3, 6},
	} {
		t.Run(name, func(t *testing.T) {
			f := privateRing()
			c.change(f)
			stoppable(f, 1)
			t.Parallel()
			for _, drop := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					trs := inMemory(t, f)
					for i := range trs {
						if drop {
							trs[i] = &lossy{Transport: trs[i], chance: rng.New(uint64(i), rng.Address{Purpose: rng.Fault})}
						}
					}
					mustEnd(t, f, stopped(t, f, trs, stopRequests{1: {release: c.at}}, func(i int, cfg *sdk.Config) {
						cfg.ResendAfter, cfg.Linger = 5*time.Millisecond, time.Second // Linger limits the wait for a lost Done
						cfg.Secret = simulatedSecret(f, i)
					}), c.last)
				})
			}
		})
	}
}

// TestStopOfSharedNoise checks that with pairwise noise all members end with the same release, so that for every noise
// vector added at one end of an edge, the other end subtracts the same vector. No secret may outlive the run.
func TestStopOfSharedNoise(t *testing.T) {
	f, book := stoppable(sharedRing(), 1), newKeyBook()
	sdk.OnKey(book.note)
	defer sdk.OnKey(nil)
	all := stopped(t, f, inMemory(t, f), stopRequests{3: {release: 4}}, nil)
	end := all[0].Status().End
	if end == 0 || end == f.Method.Rounds {
		t.Fatalf("the run ended with round %d", end)
	}
	for use := range book.last {
		if use.release > f.Method.EndedAt(end).Learning() {
			t.Errorf("%q has used a key for release %d", use.member, use.release)
		}
	}
	early := *f
	early.Method.Rounds = end
	for i, want := range book.models(t, f, end) {
		if !slices.Equal(all[i].Model(), want) {
			t.Errorf("node %d has another model than with keys that cancel", i)
		}
	}
}

// TestStopOfSeveral covers a fleet that ends early only if two members request it. After a single request the run must
// end as planned; after more requests it must end with the second-earliest requested round.
func TestStopOfSeveral(t *testing.T) {
	t.Parallel()
	f := stoppable(privateRing(), 2)
	f.Method.Rounds = 14
	mustEnd(t, f, stopped(t, f, inMemory(t, f), stopRequests{0: {2, 5}}, nil), 14)
	mustEnd(t, f, stopped(t, f, inMemory(t, f), stopRequests{0: {2, 5}, 2: {4, 9}}, nil), 9)
	mustEnd(t, f, stopped(t, f, inMemory(t, f), stopRequests{0: {2, 5}, 2: {4, 9}, 4: {0, 7}}, nil), 7)
}
