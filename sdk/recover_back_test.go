package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
)

// The lost device comes back while its successor is away, and no neighbor remembers that one: all were killed between
// its first word and their next release. The lost device goes on then. The run comes to its end with one of the two: the
// other ends, and says that it has to recover anew, or both ends of every edge have the same bits, for it stands where
// the neighbors do. Played like TestRecoveries.
func TestForgottenSuccessor(t *testing.T) {
	count, first := recoveries(t, 20)
	anew, fits := 0, 0
	lacks := func() bool { return count >= 20 && (anew == 0 || fits == 0) } // which ends come is up to the scheduler
	for seed := first; (seed < first+count || lacks() && seed < first+20*count) && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWreck(t, uint64(seed), seed%3 == 0)
			defer func() {
				for _, h := range w.hosts {
					h.stop()
					<-h.over
				}
				if t.Failed() {
					t.Logf("%+v\n%s", w.fleet, strings.Join(w.story, "\n"))
				}
			}()
			old, spare := w.forgotten()
			if spare == nil {
				return
			}
			w.hosts[w.lost] = old
			old.incarnation = spare.incarnation
			for i := range w.hosts {
				w.start(i)
			}
			w.wait(time.Duration(30+1000*w.chance.IntN(2)) * time.Millisecond)
			w.kill(w.lost)
			spare.incarnation = old.incarnation
			w.hosts[w.lost] = spare
			if w.chance.IntN(2) == 0 {
				j := w.neighbors()[0]
				w.kill(j)
				w.start(j)
			}
			w.start(w.lost)
			going := func(h *host) bool { return !h.node.Status().Done }
			for range 10_000 {
				if spare.ended() && spare.err != nil || !slices.ContainsFunc(w.hosts, going) {
					break
				}
				w.serve()
				time.Sleep(time.Millisecond)
			}
			switch {
			case !spare.ended() && slices.ContainsFunc(w.hosts, going):
				t.Errorf("seed %d: no end: %+v\n%s", seed, spare.node.Status(), spare.log)
			case !spare.ended() || spare.err == nil:
				fits++
				w.checkEdges()
			case !errors.Is(spare.err, sdk.ErrRecoverAnew):
				t.Errorf("seed %d: the successor ends with %v", seed, spare.err)
			default:
				anew++
			}
		})
	}
	t.Logf("%d times the successor has to recover anew, %d times it fits", anew, fits)
	if lacks() {
		t.Error("some of it never happened: nothing was tested")
	}
}

// forgotten plays until the successor of the lost device has made a release that no neighbor remembers, or two, which
// are the most, and kills all.
// It returns nil for the successor if it does not come to that.
func (w *wreck) forgotten() (old, spare *host) {
	for i := range w.hosts {
		w.start(i)
	}
	for target := 1 + w.chance.IntN(w.last()-1); w.hosts[w.lost].node.Status().Round < target; {
		time.Sleep(50 * time.Microsecond)
	}
	w.kill(w.lost)
	old = w.hosts[w.lost]
	spare = &host{open: tinytest.MemStore(), incarnation: old.incarnation, spare: true}
	if old.ledger != "" {
		spare.ledger = w.newLedger("second")
	}
	w.hosts[w.lost] = spare
	w.start(w.lost)
	for range 100_000 {
		if at := spare.node.Status(); spare.ended() || at.Recovered > 0 && at.Round > at.Recovered+int(w.seed/2%2) {
			break
		}
		time.Sleep(20 * time.Microsecond)
	}
	for i := range w.hosts {
		if !w.hosts[i].ended() {
			w.kill(i)
		}
	}
	if at := spare.node.Status(); at.Recovered == 0 || at.Round == at.Recovered || at.Done {
		return old, nil
	}
	for _, j := range w.neighbors() {
		store, err := w.hosts[j].open()
		if err != nil {
			w.t.Fatal(err)
		}
		if w.stored(store) {
			return old, nil
		}
	}
	return old, spare
}

// puppet speaks in the name of member "b" to a node "a".
type puppet struct {
	t     *testing.T
	f     *sdk.Fleet
	tr    transport.Transport
	codec *wire.Codec
}

// newPuppet returns it with its neighbor.
func newPuppet(t *testing.T, change func(*sdk.Config)) (*puppet, *sdk.Node) {
	t.Helper()
	f := ring()
	f.Members, f.Edges, f.Wire.Payload = []string{"a", "b"}, [][2]string{{"a", "b"}}, sdk.PayloadRelease
	codec, err := wire.NewCodec(f.Dim)
	if err != nil {
		t.Fatal(err)
	}
	store, err := tinytest.MemStore()()
	if err != nil {
		t.Fatal(err)
	}
	trs := inMemory(t, f)
	cfg := sdk.Config{Fleet: f, Name: "a", Samples: 7, Oracle: oracle(0), Transport: trs[0], Store: store,
		ResendAfter: time.Second}
	sign(&cfg)
	change(&cfg)
	n, err := sdk.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &puppet{t, f, trs[1], codec}, n
}

func (p *puppet) scope(member string) signed.Scope {
	return signed.NewScope(p.f.Run, p.f.Hash(), member)
}

func (p *puppet) send(m *admm.Message) {
	p.t.Helper()
	frame, err := p.codec.Append(nil, m)
	if err == nil {
		err = p.tr.Send(p.t.Context(), "a", frame)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// meet starts the node and answers its first probe. What it returns ends the node. Nothing is awaited for longer than a
// minute.
func (p *puppet) meet(n *sdk.Node) (end func()) {
	p.t.Helper()
	ctx, stop := context.WithCancel(p.t.Context())
	over := make(chan error)
	go func() { over <- n.Run(ctx) }()
	patience := time.AfterFunc(3*time.Minute, func() { _ = p.tr.Close() })
	ask := p.await(admm.Probe)
	p.send(&admm.Message{Kind: admm.ProbeReply, Incarnation: ask.Incarnation})
	return func() {
		patience.Stop()
		stop()
		<-over
	}
}

// await returns the next message of a kind.
func (p *puppet) await(kind admm.Kind) (m admm.Message) {
	p.t.Helper()
	for m.Kind != kind {
		_, frame, err := p.tr.Recv(p.t.Context())
		if err == nil && wire.IsHeartbeat(frame) {
			continue
		}
		if err == nil {
			err = p.codec.Decode(frame, &m)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return m
}

// release signs a release that follows another, and returns it as it is sent.
func (p *puppet) release(generation uint16, before *signed.Release, round int) (*signed.Release, *admm.Message) {
	m := &admm.Message{Kind: admm.Release, Round: round, Vector: make([]float32, p.f.Dim)}
	m.Vector[0], m.Vector[1] = float32(generation), float32(round)
	r := &signed.Release{Generation: generation, Incarnation: 7, Round: round, Digest: signed.Digest(m.Vector, nil)}
	if before != nil {
		r.Prev = before.ID(p.scope("b"))
	}
	r.Sign(memberKey("b"), p.scope("b"))
	m.Signed.Own = r.Append(nil)
	return r, m
}

// A device that took over has made releases, and its neighbor goes on from what the lost one has made: their edge would
// not be the same at both ends. The neighbor keeps nothing of it, and shows why, even if what it has is two releases
// later. A device that took over from where the neighbor is is taken in.
func TestSuccessorBesideTheLostDevice(t *testing.T) {
	for name, c := range map[string]struct {
		took, round int // after which release, and how many it has made
		ahead       bool
		fits        bool
	}{
		"two releases":                  {took: 1, round: 3},
		"one release, after the second": {took: 2, round: 3, fits: true},
		"none, and the fourth is here":  {took: 2, round: 2, ahead: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, n := newPuppet(t, func(*sdk.Config) {})
				defer p.meet(n)()
				var lost *signed.Release
				var m *admm.Message
				for round := 1; round <= 2; round++ {
					lost, m = p.release(0, lost, round)
					p.send(m)
					for p.await(admm.Release).Round <= round {
					}
				}
				second, _ := p.release(1, lost, 2)
				if c.took == 2 {
					second.Digest = lost.Digest
					second.Sign(memberKey("b"), p.scope("b"))
				}
				if c.ahead {
					lost, m = p.release(0, nil, 4)
					p.send(m)
				}
				own, _ := p.release(1, second, 3)
				say := &admm.Message{Kind: admm.Probe, Round: c.round, Generation: 1, Incarnation: 7,
					Signed: admm.Signed{Own: own.Append(nil), Other: second.Digest[:]}}
				if c.round == 2 {
					say.Signed = admm.Signed{Own: second.Append(nil)}
				}
				p.send(say)
				reply := p.await(admm.ProbeReply)
				shown, err := signed.Parse(reply.Signed.Proof)
				if fits := err != nil || shown != *lost; fits != c.fits {
					t.Errorf("the reply shows %+v (%v)", shown, err)
				}
				synctest.Wait()
				if fits := n.Status().Refused == 0; fits != c.fits {
					t.Errorf("accepted: %v, want %v", fits, c.fits)
				}
			})
		})
	}
}

// Two devices with the same key are at work, copies of one or both in the place of a lost one, and of the first a node
// has one release. It never sees the second one's release of that round, only the next, which rests on it: it shows
// whoever sends that what it has, and so that there is another.
func TestDevicesBesideEachOther(t *testing.T) {
	for _, generation := range []uint16{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			p, n := newPuppet(t, func(*sdk.Config) {})
			defer p.meet(n)()
			first, m := p.release(generation, nil, 1)
			p.send(m)
			for p.await(admm.Release).Round < 2 {
			}
			other := *first
			other.Digest[0]++
			other.Sign(memberKey("b"), p.scope("b"))
			_, m = p.release(generation, &other, 2)
			p.send(m)
			shown, err := signed.Parse(p.await(admm.Probe).Signed.Proof)
			if err != nil || shown != *first || !shown.Contradicts(&other) {
				t.Errorf("generation %d: it shows %+v, %v; want %+v", generation, shown, err, *first)
			}
		})
	}
}

// A device took over after release 1, gives that up, for another neighbor has gone on from release 2 of the lost one, and
// recovers anew: it brings that release, which is taken in. Nobody else can bring it: what has been replaced is refused,
// also if a question of the recovery before it is late.
func TestRecoveringAnewBringsWhatWasReplaced(t *testing.T) {
	for _, c := range []struct{ before, after uint64 }{{0, 9}, {8, 9}, {0, 0}, {8, 8}} { // who asks: the recoveries' incarnations
		synctest.Test(t, func(t *testing.T) {
			p, n := newPuppet(t, func(*sdk.Config) {})
			defer p.meet(n)()
			ask := func(incarnation uint64) admm.Message {
				if incarnation == 0 {
					return admm.Message{}
				}
				p.send(&admm.Message{Kind: admm.StateRequest, Part: admm.Progress, Incarnation: incarnation})
				return p.await(admm.StateResponse)
			}
			lost, m := p.release(0, nil, 1)
			p.send(m)
			for p.await(admm.Release).Round < 2 {
			}
			ask(c.before)
			again := *lost
			again.Generation, again.Prev = 1, signed.Release{}.Prev
			again.Sign(memberKey("b"), p.scope("b"))
			p.send(&admm.Message{Kind: admm.Probe, Round: 1, Generation: 1, Incarnation: 8,
				Signed: admm.Signed{Own: again.Append(nil)}})
			p.await(admm.ProbeReply)
			ask(c.after)
			second, m := p.release(0, lost, 2)
			p.send(m)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			taken := c.after != c.before
			if at := n.Status(); taken && at.Round < 3 || !taken && (at.Round > 2 || at.Refused == 0) {
				t.Errorf("%+v: it is in round %d and has refused %d frames", c, at.Round, at.Refused)
			}
			if told := ask(10); taken && (told.Held != 2 || told.Generation != 1 ||
				!bytes.Equal(told.Signed.Proof, second.Append(nil)) || !bytes.Equal(told.Signed.Other, again.Append(nil))) {
				t.Errorf("%+v: it tells %+v, which does not show releases %+v and %+v", c, told, *second, again)
			}
		})
	}
}

// A device takes the place of another, and its second release arrives before its first. The lost one brings its own first
// release, of which nobody can tell whether it was made anew: it is refused, and that of its successor taken in.
func TestReplacedReleaseIsNotTakenUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, n := newPuppet(t, func(*sdk.Config) {})
		defer p.meet(n)()
		began := &signed.Release{Generation: 1}
		began.Sign(memberKey("b"), p.scope("b"))
		p.send(&admm.Message{Kind: admm.Probe, Generation: 1, Incarnation: 8, Signed: admm.Signed{Own: began.Append(nil)}})
		p.await(admm.ProbeReply)
		first, one := p.release(1, began, 1)
		_, two := p.release(1, first, 2)
		_, lost := p.release(0, nil, 1)
		said := []*admm.Message{two, lost}
		for later, round := first, 5; round <= 8; round++ { // too early, and the last four are remembered
			var m *admm.Message
			later, m = p.release(1, later, round)
			said = append(said, m)
		}
		for _, m := range append(said, lost) {
			p.send(m)
			synctest.Wait()
		}
		if at := n.Status(); at.Round != 1 || at.Refused != 6 {
			t.Errorf("it is in round %d and has refused %d frames", at.Round, at.Refused)
		}
		p.send(one)
		for p.await(admm.Release).Round < 3 {
		}
	})
}

// A neighbor of a device that took over leaves a release out and sends later ones, as one does that goes on with another
// device in the same place, or shows what it should have told in the recovery. When the device has made three releases
// since, which rest on one another with those of the neighbor, none of that ends it: the neighbor is asked what it can
// show, and waited for.
func TestSuccessorIsNotEndedByAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, n := newPuppet(t, func(c *sdk.Config) { c.Recover = true })
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		over := make(chan error, 1)
		go func() { over <- n.Run(ctx) }()
		lost := signed.Release{Round: 1, Digest: signed.Digest(make([]float32, p.f.Dim), nil)}
		lost.Sign(memberKey("a"), p.scope("a"))
		first, m := p.release(0, nil, 1)
		for told := 0; told < 2; { // twice how far it is
			ask := p.await(admm.StateRequest)
			say := &admm.Message{Kind: admm.StateResponse, Part: ask.Part, Round: 1, Held: 1, Incarnation: ask.Incarnation}
			switch ask.Part {
			case admm.Progress:
				told++
				say.Signed.Own = first.Append(nil)
				fallthrough
			case admm.SentRelease:
				say.Signed.Proof = lost.Append(nil)
			}
			if ask.Part != admm.Progress {
				say.Vector = make([]float32, p.f.Dim)
			}
			p.send(say)
		}
		ask := p.await(admm.Probe)
		p.send(&admm.Message{Kind: admm.ProbeReply, Round: 1, Held: 1, Generation: ask.Generation,
			Incarnation: ask.Incarnation, Signed: admm.Signed{Proof: lost.Append(nil)}})
		before := first
		for round := 1; round <= 4; round++ {
			p.send(m)
			for p.await(admm.Release).Round <= round {
			}
			before, m = p.release(0, before, round+1)
		}
		before, _ = p.release(0, before, 6)
		_, later := p.release(0, before, 7)
		// It has hidden that it had a later release of the lost device, and shows it now.
		hidden := lost
		hidden.Round = 2
		hidden.Sign(memberKey("a"), p.scope("a"))
		p.send(&admm.Message{Kind: admm.ProbeReply, Round: 4, Held: 5, Generation: ask.Generation,
			Incarnation: ask.Incarnation, Signed: admm.Signed{Proof: hidden.Append(nil)}})
		for range 8 {
			p.send(later)
			p.await(admm.Probe)
			time.Sleep(time.Minute)
		}
		p.send(m)
		for p.await(admm.Release).Round < 6 {
		}
		stop()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
