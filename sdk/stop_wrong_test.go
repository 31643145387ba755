package sdk_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

// TestStopIsRefused checks that a stop is refused with an error, and has no effect, if it comes too late, names a round
// that is too early, or is not allowed by the fleet.
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
		"no stop":  {one(privateRing(), nil), 0, "the fleet file lacks stop.members"},
		"no keys":  {one(f, func(_ int, c *sdk.Config) { c.Key, c.Keys = nil, nil }), 0, "members have no keys"},
		"too near": {one(f, nil), 2, "want 3 or later"},
		"negative": {one(f, nil), -1, "want 3 or later"},
		"the last": {one(f, nil), 8, "the run ends with round 8 anyway"},
		"beyond":   {one(f, nil), 9, "the run ends with round 8 anyway"},
	} {
		if last, err := c.n.Stop(c.last); err == nil || !strings.Contains(err.Error(), "the run cannot be ended early") ||
			!strings.Contains(err.Error(), c.want) || last != 0 {
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

// TestHelloNamesTheStop checks that members whose fleets differ in Stop refuse each other, with an error that names
// this difference.
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

type mail struct {
	transport.Transport
	codec *wire.Codec
	mu    sync.Mutex
	alter func(to string, m *admm.Message) (send bool)
}

func (l *mail) Send(ctx context.Context, to string, frame []byte) error {
	if wire.IsHeartbeat(frame) {
		return l.Transport.Send(ctx, to, frame)
	}
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

// wish returns an early-stop request in the name of a member, signed with memberKey(by).
func wish(f *sdk.Fleet, member, last int, by string) []byte {
	s := signed.Relayed{Member: member, Statement: signed.Statement{Kind: signed.Stop, Round: last}}
	name := "nobody"
	if member < len(f.Members) {
		name = f.Members[member]
	}
	s.Sign(memberKey(by), signed.NewScope(f.Run, f.Hash(), name))
	return s.Append(nil)
}

// TestWrongStopsAreRefused checks that an invalid stop is refused, whichever member sends it, and that the run
// continues to its planned end.
func TestWrongStopsAreRefused(t *testing.T) {
	f := stoppable(privateRing(), 1)
	other := stoppable(privateRing(), 1)
	other.Run = "another"
	bits := wish(f, 1, 6, "b")
	bits[20] ^= 1
	for name, c := range map[string]struct {
		f    *sdk.Fleet
		stop []byte
		from int // the first release that carries the stop
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

// TestStopsThatComeTooLate lets two members collude: the first signs a stop for a round that honest members have
// already passed, and the second relays this stop from one of three later rounds on. Every member must end with its
// current round, so that the last releases of neighbors are at most two apart. No node may wait indefinitely, and each
// node must be charged for exactly its releases. With SPADE_LONG, each kind of run is tested on each graph with all
// three later rounds, otherwise with only one of them.
func TestStopsThatComeTooLate(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *sdk.Fleet){
		"grid":   func(*sdk.Fleet) {},
		"mixing": func(f *sdk.Fleet) { f.Method.Mixing, f.Method.Rounds = 2, 8 },
		"no end": func(f *sdk.Fleet) { f.Method.Cooldown = 0 },
		"long":   func(f *sdk.Fleet) { f.Method.Cooldown = 12 },
		"shared": func(f *sdk.Fleet) { f.Privacy = sharedRing().Privacy },
	} {
		for shape, g := range graphs {
			rounds := []int{3, 7, 15}
			if !long {
				rounds = rounds[(len(name)+int(shape[1]))%3:][:1] // this spreads the three rounds over the graphs
			}
			t.Run(name+" on a "+shape, func(t *testing.T) {
				f := stoppable(privateRing(), 1)
				f.Edges, f.Method.Rounds = g.edges, 16
				change(f)
				if f.Privacy.PairSigma > 0 && shape != "complete" && shape != "ring" {
					f.Privacy.Colluders, f.Privacy.EffectiveSigma = 0, f.Privacy.Sigma
				}
				for _, at := range rounds {
					synctest.Test(t, func(t *testing.T) {
						trs := inMemory(t, f)
						late := wish(f, 4, 2, "e")
						trs[1] = newMail(t, f, trs[1], func(_ string, m *admm.Message) bool {
							if m.Kind == admm.Release && m.Round >= at && len(m.Signed.Stops) == 0 {
								m.Signed.Stops = late
							}
							return true
						})
						all := stopped(t, f, trs, nil, func(i int, cfg *sdk.Config) {
							cfg.ResendAfter, cfg.Secret = 2*time.Millisecond, simulatedSecret(f, i)
						})
						mustEndNearby(t, f, all)
					})
				}
			})
		}
	}
}

// mustEndNearby checks a run in which not all members learned of the stop in time. Every node must have finished with
// the round that it reports as its end, the last releases of neighbors may be at most two apart, and each node must be
// charged for exactly its releases.
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
				if off := st.Round - all[j].Status().Round; off < -2 || off > 2 {
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
