package sdk_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// bad is the index of the malicious member in a complete graph of five members.
const bad = 2

func five(f *sdk.Fleet) *sdk.Fleet {
	f.Edges = nil
	for i, a := range f.Members {
		for _, b := range f.Members[i+1:] {
			f.Edges = append(f.Edges, [2]string{a, b})
		}
	}
	return f
}

// withLiar runs a fleet with one malicious member until the honest members are done, in virtual time. tell alters that
// member's frames.
func withLiar(t *testing.T, f *sdk.Fleet, keys bool, tell lie, change func(i int, c *sdk.Config)) (all []*sdk.Node, errs []error) {
	t.Helper()
	key := memberKey(f.Members[bad])
	if !keys {
		key = nil
	}
	link := must(lying(f, f.Members[bad], key, tell))(t)
	synctest.Test(t, func(t *testing.T) {
		trs := inMemory(t, f)
		for i := range trs {
			trs[i] = linked(f, trs, i, link)
		}
		all = nodes(t, f, trs, func(i int, c *sdk.Config) {
			if !keys {
				c.Key, c.Keys = nil, nil
			}
			if change != nil {
				change(i, c)
			}
		})
		errs = runHonest(t, all)
	})
	return all, errs
}

// runHonest runs all nodes until the honest members are done.
func runHonest(t *testing.T, all []*sdk.Node) []error {
	ctx, stop := context.WithCancel(day(t))
	errs := make([]error, len(all))
	var honest, liar sync.WaitGroup
	for i, n := range all {
		group := &honest
		if i == bad {
			group = &liar
		}
		group.Go(func() { errs[i] = n.Run(ctx) })
	}
	honest.Wait()
	stop()
	liar.Wait()
	return errs
}

// agree checks that the honest members are done, that their models are close to each other, and that the victims, and
// no other members, have put the liar in quarantine.
func agree(t *testing.T, f *sdk.Fleet, all []*sdk.Node, errs []error, why string, apart float64, victims ...int) {
	t.Helper()
	for i, n := range all {
		if i == bad {
			continue
		}
		st := n.Status()
		if errs[i] != nil || !st.Done {
			t.Errorf("node %d: %v, %+v", i, errs[i], st)
			continue
		}
		for c, x := range n.Model() {
			if other := all[(bad+1)%len(all)].Model()[c]; !(math.Abs(float64(x)-float64(other)) < apart) {
				t.Errorf("nodes %d and %d disagree in coordinate %d: %v and %v", i, (bad+1)%len(all), c, x, other)
			}
		}
		for _, of := range st.Neighbors {
			want := of.Name == f.Members[bad] && slices.Contains(victims, i)
			// A neighbor that missed the lie receives the next release, whose signature names a different predecessor.
			// This is equivocation.
			if got := of.Quarantine; (got.Release > 0) != want ||
				want && !strings.Contains(got.Why, why) && !strings.Contains(got.Why, "was copied or rolled back") {
				t.Errorf("node %d has %+v of %q", i, got, of.Name)
			}
		}
	}
}

var others = []int{0, 1, 3, 4}

// onGrid returns a private fleet of five members whose messages contain releases.
func onGrid() *sdk.Fleet {
	f := five(privateRing())
	f.Method.Rounds, f.Method.Cooldown = 6, 6
	return f
}

// sharing is like onGrid, but with pairwise noise between neighbors.
func sharing() *sdk.Fleet {
	f := five(sharedRing())
	f.Method.Rounds, f.Method.Mixing, f.Method.Cooldown = 6, 0, 6
	pairUp(&sdk.Config{Fleet: f})
	return f
}

// TestQuarantine simulates a member that makes a release far from its previous release, or makes two releases of one
// round, with and without keys. The other four members must continue without this
// member and agree. Without keys, two releases of one round prove nothing, and the first is used. What makes a release
// impossible is tested in package admm, and pairwise noise in [TestQuarantineIsKept].
func TestQuarantine(t *testing.T) {
	const far = 1 << 28
	plain := five(ring())
	huge := func(_ string, m admm.Message) []admm.Message {
		if m.Round == 3 && len(m.Vector) > 0 {
			m.Vector[1] = 9e29
		}
		return []admm.Message{m}
	}
	two := jump(3, far)
	for _, c := range []struct {
		name    string
		f       *sdk.Fleet
		keys    bool
		lie     lie
		why     string
		victims []int
	}{
		{"jump", onGrid(), true, jump(3, far), "of release 3 moves by", others},
		{"jump without keys", onGrid(), false, jump(3, far), "of release 3 moves by", others},
		{"to some only", onGrid(), true, func(to string, m admm.Message) []admm.Message {
			if to > "c" {
				return two(to, m)
			}
			return []admm.Message{m}
		}, "of release 3 moves by", []int{3, 4}},
		{"not private", plain, true, huge, "of release 3 is 9e+29", others},
		{"contradiction", onGrid(), true, contradict(3), "was copied or rolled back", others},
		{"contradiction without keys", onGrid(), false, contradict(3), "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all, errs := withLiar(t, c.f, c.keys, c.lie, nil)
			agree(t, c.f, all, errs, c.why, 1, c.victims...)
		})
	}
}

// TestDrawnApart simulates one of five members that pulls the others apart but never jumps. It sends releases far to
// one side to half of the members, and releases far to the other side to the rest. No member receives two releases of
// one round, so nobody notices; nobody may stop or drop an edge.
func TestDrawnApart(t *testing.T) {
	t.Parallel()
	f := onGrid()
	f.Method.Rounds, f.Method.Mixing = 16, 1
	lie := func(to string, m admm.Message) []admm.Message {
		if len(m.Grid) > 0 && m.Kind == admm.Release {
			m.Grid[0] = 1400 + 30*int32(m.Round)
			if to < "c" {
				m.Grid[0] = -m.Grid[0]
			}
		}
		return []admm.Message{m}
	}
	all, errs := withLiar(t, f, true, lie, nil)
	agree(t, f, all, errs, "", 1e6)
}

// TestQuarantineIsKept checks that a node that is stopped before or after any release continues without the quarantined
// neighbor, and that the node's disk has the evidence, in a journal within the size limit.
func TestQuarantineIsKept(t *testing.T) {
	t.Parallel()
	f, dir := sharing(), t.TempDir()
	var stores []*state.Dir
	configs := map[int]sdk.Config{}
	all, errs := withLiar(t, f, true, jump(3, 1<<28), func(i int, c *sdk.Config) {
		store := must(state.Open(filepath.Join(dir, c.Name)))(t)
		stores, c.Store = append(stores, store), store
		configs[i] = *c
	})
	agree(t, f, all, errs, "of release 3 moves by", 1, others...)
	for _, store := range stores {
		ok(t, store.Close())
	}
	for _, i := range others {
		c := configs[i]
		report := must(state.Inspect(filepath.Join(dir, c.Name)))(t)
		list := report.Journal.Quarantine
		if len(list) != 1 || list[0].Neighbor != "c" || list[0].Release != 4 || list[0].Round != 3 || len(list[0].Frames) != 1 {
			t.Fatalf("%s keeps %+v", c.Name, list)
		}
		store := must(state.Open(filepath.Join(dir, c.Name)))(t)
		c.Store = store
		n, err := sdk.New(c)
		if err != nil || !slices.ContainsFunc(n.Status().Neighbors, func(of sdk.Neighbor) bool {
			return of.Name == "c" && of.Quarantine.Release == 4
		}) {
			t.Errorf("%s after a restart: %v", c.Name, err)
		}
		_ = store.Close()
	}
	path := filepath.Join(dir, "a", state.JournalName)
	if info, err := os.Stat(path); err != nil || info.Size() > 3*state.MaxFrameKept {
		t.Error(info, err)
	}
}
