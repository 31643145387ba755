package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/audit"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// stoppable lets so many members of a fleet end its run.
func stoppable(f *sdk.Fleet, members int) *sdk.Fleet {
	f.Stop = &sdk.Stop{Members: members}
	return f
}

// endedAt returns the models of a simulation whose members know from the start with which round the run ends.
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

// wishes makes members ask for an end right after one of their releases, 0 for before the run.
type wishes map[int]struct{ release, last int }

// ask makes a node ask; it is called with each release.
func (w wishes) ask(t *testing.T, n *sdk.Node, i, release int) {
	if wish, asks := w[i]; asks && wish.release == release {
		if _, err := n.Stop(wish.last); err != nil {
			t.Errorf("node %d after release %d: %v", i, release, err)
		}
	}
}

// stopped runs a fleet of which some ask for an early end.
func stopped(t *testing.T, f *sdk.Fleet, trs []transport.Transport, w wishes, change func(i int, c *sdk.Config)) []*sdk.Node {
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

// mustEnd checks that all nodes have ended with a round, as planned or early, and with the models of such a run.
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

// mustAudit checks that a node's certificate counts so many releases, and that everybody can see why.
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

// graphs are four shapes of five members, with the most edges between two of them.
var graphs = map[string]struct {
	edges [][2]string
	wide  int
}{
	"path":     {[][2]string{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"d", "e"}}, 4},
	"ring":     {[][2]string{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"d", "e"}, {"e", "a"}}, 2},
	"star":     {[][2]string{{"a", "b"}, {"a", "c"}, {"a", "d"}, {"a", "e"}}, 2},
	"complete": {[][2]string{{"a", "b"}, {"a", "c"}, {"a", "d"}, {"a", "e"}, {"b", "c"}, {"b", "d"}, {"b", "e"}, {"c", "d"}, {"c", "e"}, {"d", "e"}}, 1},
}

// Whoever asks, whenever, and wherever it stands: all members end with the same round, the earliest of which all can hear
// in time, with the bits of a run that was planned that short, and nothing that was not released is spent.
func TestStopIsAgreedOn(t *testing.T) {
	for name, g := range graphs {
		t.Run(name, func(t *testing.T) {
			f := stoppable(privateRing(), 1)
			f.Edges = g.edges
			for release := 0; release+g.wide+1 < f.Method.Rounds; release++ {
				all := stopped(t, f, inMemory(t, f), wishes{4: {release: release}}, nil)
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

// Of two that ask at the same time the earlier round counts; one that asks again may bring it forward, and not put it off.
func TestStopsOfSeveralMembers(t *testing.T) {
	f := stoppable(privateRing(), 1)
	f.Method.Rounds = 14
	mustEnd(t, f, stopped(t, f, inMemory(t, f), wishes{0: {2, 9}, 3: {2, 6}}, nil), 6)
	mustEnd(t, f, stopped(t, f, inMemory(t, f), wishes{0: {2, 9}, 3: {5, 0}}, nil), 8)
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

// The same with mixing rounds, without a cool-down, with the paper's messages, without privacy, with noise that
// neighbors share, and with frames that get lost.
func TestStopOfEveryKindOfRun(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *sdk.Fleet)
		at     int // release after which "b" asks
		last   int
	}{
		"mixing":       {func(f *sdk.Fleet) { f.Method.Mixing = 2 }, 4, 3},
		"mixing late":  {func(f *sdk.Fleet) { f.Method.Mixing = 2 }, 6, 3},
		"no end phase": {func(f *sdk.Fleet) { f.Method.Cooldown = 0 }, 3, 6},
		"messages":     {func(f *sdk.Fleet) { f.Wire.Payload = sdk.PayloadMessage }, 3, 6},
		"no grid":      {func(f *sdk.Fleet) { f.Wire.Payload = sdk.PayloadRelease }, 3, 6},
		"not private":  {func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{NonPrivate: true} }, 3, 6},
		"decay":        {func(f *sdk.Fleet) { f.Method.Decay = 0.3 }, 3, 6},
		"robust":       {func(f *sdk.Fleet) { f.Method.Robust = 3 }, 3, 6},
		"shared":       {func(f *sdk.Fleet) { *f = *sharedRing() }, 3, 3},
		"estimator":    {func(f *sdk.Fleet) { f.Method.Estimator = sdk.EstimatorTracking }, 3, 6},
	} {
		t.Run(name, func(t *testing.T) {
			f := privateRing()
			c.change(f)
			stoppable(f, 1)
			t.Parallel()
			for _, drop := range []bool{false, true} {
				trs := inMemory(t, f)
				for i := range trs {
					if drop {
						trs[i] = &lossy{Transport: trs[i], chance: rng.New(uint64(i), rng.Address{Purpose: rng.Fault})}
					}
				}
				mustEnd(t, f, stopped(t, f, trs, wishes{1: {release: c.at}}, func(i int, cfg *sdk.Config) {
					cfg.ResendAfter, cfg.Linger = 5*time.Millisecond, 2*time.Second
					cfg.Secret = simulatedSecret(f, i)
				}), c.last)
			}
		})
	}
}

// With noise that neighbors share and agree on themselves, all end with the same release: what each has added in it is
// what another has taken away. No secret outlives the run.
func TestStopOfSharedNoise(t *testing.T) {
	f, book := stoppable(sharedRing(), 1), newKeyBook()
	sdk.OnKey(book.note)
	defer sdk.OnKey(nil)
	all := stopped(t, f, inMemory(t, f), wishes{3: {release: 4}}, nil)
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

// Two of three members have to ask, and the earliest round that two have asked for counts.
func TestStopOfSeveral(t *testing.T) {
	f := stoppable(privateRing(), 2)
	f.Method.Rounds = 14
	mustEnd(t, f, stopped(t, f, inMemory(t, f), wishes{0: {2, 5}}, nil), 14)
	mustEnd(t, f, stopped(t, f, inMemory(t, f), wishes{0: {2, 5}, 2: {4, 9}}, nil), 9)
	mustEnd(t, f, stopped(t, f, inMemory(t, f), wishes{0: {2, 5}, 2: {4, 9}, 4: {0, 7}}, nil), 7)
}

// Who asks too late, too near, or where nobody may ask, is told so and nothing happens.
func TestStopIsRefused(t *testing.T) {
	one := func(f *sdk.Fleet, change func(i int, c *sdk.Config)) *sdk.Node {
		return nodes(t, f, inMemory(t, f), change)[0]
	}
	f := stoppable(privateRing(), 1)
	for name, c := range map[string]struct {
		n    *sdk.Node
		last int
		want string
	}{
		"no stop":    {one(privateRing(), nil), 0, "the fleet does not say who may ask"},
		"no keys":    {one(f, func(_ int, c *sdk.Config) { c.Key, c.Keys = nil, nil }), 0, "its members have no keys"},
		"too near":   {one(f, nil), 2, "want 3 or later"},
		"negative":   {one(f, nil), -1, "want 3 or later"},
		"the last":   {one(f, nil), 8, "it ends with round 8 as it is"},
		"beyond":     {one(f, nil), 9, "it ends with round 8 as it is"},
		"in recover": {one(f, func(_ int, c *sdk.Config) { c.Recover, c.Store = true, mustOpen(t) }), 0, "recovers its state"},
	} {
		if last, err := c.n.Stop(c.last); !errors.Is(err, sdk.ErrStop) || !strings.Contains(err.Error(), c.want) || last != 0 {
			t.Errorf("%s: %d, %v, want %q", name, last, err, c.want)
		}
		if st := c.n.Status(); len(st.Stops) > 0 || st.End > 0 {
			t.Errorf("%s: %+v", name, st)
		}
	}
	for _, members := range []int{-1, 0, 6, 9} {
		if err := stoppable(privateRing(), members).Validate(); err == nil || !strings.Contains(err.Error(), "want 1..5") {
			t.Errorf("a stop by %d of 5 members: %v", members, err)
		}
	}
}

// A member whose fleet lets nobody end the run early, as those of older programs, is told what differs.
func TestHelloNamesTheStop(t *testing.T) {
	with, without := stoppable(privateRing(), 1), privateRing()
	for _, f := range [][2]*sdk.Fleet{{with, without}, {without, with}, {with, stoppable(privateRing(), 2)}} {
		err := f[0].CheckHello("a")("b", f[1].Hello("b")("a"))
		if err == nil || !strings.Contains(err.Error(), ": stop differs") {
			t.Errorf("%v", err)
		}
	}
	if err := with.CheckHello("a")("b", with.Hello("b")("a")); err != nil {
		t.Error(err)
	}
}

func mustOpen(t *testing.T) state.Store {
	t.Helper()
	store, err := state.Open(t.TempDir(), 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// mail changes the messages that its member sends.
type mail struct {
	transport.Transport
	codec *wire.Codec
	mu    sync.Mutex
	alter func(to string, m *admm.Message) (send bool)
}

func (l *mail) Send(ctx context.Context, to string, frame []byte) error {
	l.mu.Lock()
	var m admm.Message
	err := l.codec.Decode(frame, &m)
	send := err == nil && l.alter(to, &m)
	if send {
		frame, err = l.codec.Append(nil, &m)
	}
	l.mu.Unlock()
	if err != nil || !send {
		return err
	}
	return l.Transport.Send(ctx, to, frame)
}

func newMail(t *testing.T, f *sdk.Fleet, tr transport.Transport, alter func(to string, m *admm.Message) bool) *mail {
	t.Helper()
	codec, err := wire.NewCodec(f.Dim)
	if err != nil {
		t.Fatal(err)
	}
	return &mail{Transport: tr, codec: codec, alter: alter}
}

// wish is a stop in a member's name, as somebody with a key signs it.
func wish(f *sdk.Fleet, member, last int, by string) []byte {
	s := signed.Stop{Member: member, Last: last}
	name := "nobody"
	if member < len(f.Members) {
		name = f.Members[member]
	}
	s.Sign(memberKey(by), signed.NewScope(f.Run, f.Hash(), name))
	return s.Append(nil)
}

// A stop that cannot be right is refused, wherever it comes from, and the run goes on to its planned end.
func TestWrongStopsAreRefused(t *testing.T) {
	f := stoppable(privateRing(), 1)
	other := stoppable(privateRing(), 1)
	other.Run = "another"
	bits := wish(f, 1, 6, "b")
	bits[20] ^= 1
	for name, c := range map[string]struct {
		f    *sdk.Fleet
		stop []byte
		from int // the first release that carries it
	}{
		"signed by another":       {f, wish(f, 2, 6, "b"), 1},
		"of another run":          {f, wish(other, 1, 6, "b"), 1},
		"of no member":            {f, wish(f, 5, 6, "b"), 1},
		"beyond the plan":         {f, wish(f, 1, 8, "b"), 1},
		"a bit changed":           {f, bits, 1},
		"too near":                {f, wish(f, 1, 4, "b"), 3},
		"nobody may stop the run": {privateRing(), wish(f, 1, 6, "b"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			trs := inMemory(t, c.f)
			trs[1] = newMail(t, c.f, trs[1], func(_ string, m *admm.Message) bool {
				if m.Kind == admm.Release && m.Round >= c.from {
					m.Signed.Stops = c.stop
				}
				return true
			})
			all := nodes(t, c.f, trs, nil)
			mustRun(t, all)
			for i, n := range all {
				st := n.Status()
				if st.End != 0 || len(st.Stops) > 0 || st.Round != 12 {
					t.Errorf("node %d: %+v", i, st)
				}
				if neighbor := i == 0 || i == 2; neighbor != (st.Refused > 0) {
					t.Errorf("node %d has refused %d frames", i, st.Refused)
				}
			}
			sameModels(t, all, simulated(t, c.f))
		})
	}
}

// Two members work together: one signs a stop after a round that others have left behind, and one passes it on. All end
// with the round that they are in, neighbors with releases of which the numbers differ by one at most, and nobody waits
// for anybody for ever. What each has released is what it has paid for.
func TestStopsThatComeTooLate(t *testing.T) {
	for name, change := range map[string]func(f *sdk.Fleet){
		"grid":     func(*sdk.Fleet) {},
		"messages": func(f *sdk.Fleet) { f.Wire.Payload = sdk.PayloadMessage },
		"mixing":   func(f *sdk.Fleet) { f.Method.Mixing, f.Method.Rounds = 2, 8 },
		"no end":   func(f *sdk.Fleet) { f.Method.Cooldown = 0 },
		"long":     func(f *sdk.Fleet) { f.Method.Cooldown = 12 },
		"shared":   func(f *sdk.Fleet) { f.Privacy = sharedRing().Privacy },
		"robust":   func(f *sdk.Fleet) { f.Method.Robust = 2 },
	} {
		for shape, g := range graphs {
			t.Run(name+" on a "+shape, func(t *testing.T) {
				f := stoppable(privateRing(), 1)
				f.Edges, f.Method.Rounds = g.edges, 16
				change(f)
				if f.Privacy.PairSigma > 0 && shape != "complete" && shape != "ring" {
					f.Privacy.Colluders, f.Privacy.EffectiveSigma = 0, f.Privacy.Sigma
				}
				for _, at := range []int{3, 7, 15} {
					trs := inMemory(t, f)
					late := wish(f, 4, 2, "e")
					trs[1] = newMail(t, f, trs[1], func(_ string, m *admm.Message) bool {
						if (m.Kind == admm.Release || m.Kind == admm.EdgeMessage) && m.Round >= at && len(m.Signed.Stops) == 0 {
							m.Signed.Stops = late
						}
						return true
					})
					all := stopped(t, f, trs, nil, func(i int, cfg *sdk.Config) {
						cfg.ResendAfter, cfg.Secret = 2*time.Millisecond, simulatedSecret(f, i)
					})
					mustEndNearby(t, f, all)
				}
			})
		}
	}
}

// mustEndNearby checks a run of which not all were told in time.
func mustEndNearby(t *testing.T, f *sdk.Fleet, all []*sdk.Node) {
	t.Helper()
	for i, n := range all {
		st := n.Status()
		last := st.End
		if last == 0 {
			last = f.Method.Rounds
		}
		if made := f.Method.EndedAt(last).Data(st.Round); !st.Done || st.Round != st.Last || made != last {
			t.Errorf("node %d: %+v, with %d releases of data", i, st, made)
		}
		for _, e := range f.Edges {
			if slices.Contains(e[:], f.Members[i]) {
				j := slices.Index(f.Members, e[0]) + slices.Index(f.Members, e[1]) - i
				if off := st.Round - all[j].Status().Round; off < -1 || off > 1 {
					t.Errorf("neighbors %d and %d ended %d releases apart", i, j, off)
				}
			}
		}
		if got := n.Spend(); got != f.Total(last) {
			t.Errorf("node %d has spent %v, want %v", i, got, f.Total(last))
		}
		mustAudit(t, f, n, last)
	}
}

// In a run that goes on without silent neighbors, whoever hears of a stop ends: with all others if nothing gets lost.
func TestStopOfALossyRun(t *testing.T) {
	f := stoppable(ring(), 1)
	f.Method.Rounds, f.Wire = 30, sdk.Wire{Payload: sdk.PayloadMessage, Lossy: 3}
	mustEnd(t, f, stopped(t, f, inMemory(t, f), wishes{2: {release: 5}}, func(_ int, c *sdk.Config) {
		c.ResendAfter = 10 * time.Second
	}), 8)
	trs := inMemory(t, f)
	for i := range trs {
		trs[i] = &lossy{Transport: trs[i], chance: rng.New(uint64(i), rng.Address{Purpose: rng.Fault})}
	}
	for i, n := range stopped(t, f, trs, wishes{2: {release: 5}}, func(_ int, c *sdk.Config) {
		c.ResendAfter, c.Linger = 5*time.Millisecond, 100*time.Millisecond
	}) {
		if st := n.Status(); !st.Done || st.Round != st.Last || i == 2 && st.End < 8 {
			t.Errorf("node %d: %+v", i, st)
		}
	}
}

// mortal is a node's folder whose process dies at the nth write of a kind, before it or after it.
type mortal struct {
	*state.Dir
	nth    *int // writes to go
	stops  bool // of stops, and not of states
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
func (m mortal) KeepStops(fleet [32]byte, list []signed.Stop) error {
	return m.write(true, func() error { return m.Dir.KeepStops(fleet, list) })
}

// A member is killed before and after each write of its state and of a stop, the one that asks and one that passes the
// wish on, and all end with the same round. Its ledger has the releases that were made, and no more.
func TestStopSurvivesKills(t *testing.T) {
	f := stoppable(privateRing(), 1)
	f.Edges, f.Method.Cooldown = graphs["path"].edges, 2
	f.Members, f.Edges = f.Members[:3], f.Edges[:2]
	const asksAfter, last = 2, 5
	want := endedAt(t, f, last)
	kills := 0
	for victim := range 3 {
		for _, stops := range []bool{true, false} {
			for nth := 1; nth <= 8 && (!stops || nth == 1); nth++ {
				for _, before := range []bool{true, false} {
					name := fmt.Sprintf("member %d dies at write %d, of a stop %v, before it %v", victim, nth, stops, before)
					kills += playKill(t, f, victim, nth, stops, before, func(n *sdk.Node, release int) {
						if release == asksAfter {
							_, _ = n.Stop(last) // the process may die in it, and ask again in the next life
						}
					}, want)
					if t.Failed() {
						t.Fatal(name)
					}
				}
			}
		}
	}
	if kills < 40 {
		t.Errorf("%d kills: nothing was tested", kills)
	}
}

func playKill(t *testing.T, f *sdk.Fleet, victim, nth int, stops, before bool, ask func(n *sdk.Node, release int),
	want [][]float32) (kills int) {
	t.Helper()
	dir, trs := newLedgers(t, f), inMemory(t, f)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
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
				ResendAfter: 3 * time.Millisecond, Linger: 3 * time.Second,
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
			if n.Status().Round == 2 && i == 0 { // its wish may be lost with the process
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
