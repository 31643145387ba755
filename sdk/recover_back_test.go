package sdk_test

import (
	"context"
	"errors"
	"slices"
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

// TestForgottenSuccessor lets the lost device return while its replacement is away. No neighbor remembers the
// replacement, because all neighbors were killed between the replacement's first message and their own next release.
// The lost device therefore continues. When the replacement device returns, it drops its edges to the neighbors that
// continued with the lost device, and stops if no edge is left. If it drops no edge, both ends of every edge must store
// the same vectors, bit for bit. Seeds work as in TestRecoveries.
func TestForgottenSuccessor(t *testing.T) {
	count, first := recoveries(t, 20)
	late, fits := 0, 0
	lacks := func() bool { return count >= 20 && late == 0 } // the scheduler decides which of the endings occur
	for seed := first; (seed < first+count || lacks() && seed < first+20*count) && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWreck(t, uint64(seed), false)
			defer func() {
				for _, h := range w.hosts {
					h.stop()
					<-h.over
				}
				if t.Failed() {
					t.Logf("%+v\n%s", w.fleet, w.story)
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
			case spare.ended() && errors.Is(spare.err, sdk.ErrQuarantine):
				late++
			case spare.ended() && spare.err != nil:
				t.Errorf("seed %d: the replacement ends with %v", seed, spare.err)
			case slices.ContainsFunc(spare.node.Status().Neighbors,
				func(n sdk.Neighbor) bool { return n.Quarantine.Release > 0 }):
				late++
			default:
				fits++
				w.checkEdges()
			}
		})
	}
	t.Logf("%d times a neighbor has passed the replacement's start, %d times it fits", late, fits)
	if lacks() {
		t.Error("some of it never happened: nothing was tested")
	}
}

// forgotten runs the fleet until the replacement device has made one or two releases (more are impossible), and then
// kills all devices. It returns the lost device (old) and its replacement (spare). spare is nil unless the replacement
// has made a release and no stored state of a neighbor mentions the replacement.
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

// puppet plays the role of member "b" for a node "a".
type puppet struct {
	t     *testing.T
	f     *sdk.Fleet
	tr    transport.Transport
	codec *wire.Codec
}

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

// meet starts the node and answers its first probe. The returned function stops the node. If it is not called within
// three minutes, the puppet's transport is closed, so that the test fails instead of waiting indefinitely.
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

// release makes and signs a release of the given round. before is the member's previous release, or nil for its first
// release. It returns the signed statement and the message that carries it.
func (p *puppet) release(epoch uint16, before *signed.Statement, round int) (*signed.Statement, *admm.Message) {
	m := &admm.Message{Kind: admm.Release, Round: round, Vector: make([]float32, p.f.Dim)}
	m.Vector[0], m.Vector[1] = float32(epoch), float32(round)
	r := &signed.Statement{Kind: signed.Release, Epoch: epoch, Round: round, Value: signed.Digest(m.Vector, nil)}
	if before != nil {
		r.Prev = before.ID(p.scope("b"))
	}
	r.Sign(memberKey("b"), p.scope("b"))
	m.Signed.Own = r.Append(nil)
	return r, m
}

// TestDevicesBesideEachOther simulates two devices with the same key: a device and its copy, or two replacements of one
// lost device. A node holds a release of the first device, but receives the next release only from the second device.
// The node must answer the sender with the release that it holds, which reveals the first device to the second.
func TestDevicesBesideEachOther(t *testing.T) {
	for _, epoch := range []uint16{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			p, n := newPuppet(t, func(*sdk.Config) {})
			defer p.meet(n)()
			first, m := p.release(epoch, nil, 1)
			p.send(m)
			for p.await(admm.Release).Round < 2 {
			}
			other := *first
			other.Value[0]++
			other.Sign(memberKey("b"), p.scope("b"))
			_, m = p.release(epoch, &other, 2)
			p.send(m)
			shown, err := signed.Parse(p.await(admm.Probe).Signed.Proof, signed.Release)
			if err != nil || shown != *first || !shown.Contradicts(&other) {
				t.Errorf("epoch %d: it shows %+v, %v; want %+v", epoch, shown, err, *first)
			}
		})
	}
}

// TestReplacementIsNotEndedByAWord simulates a neighbor that shows a replacement device first one release of the lost
// device, and then a later release. The replacement must charge nothing and must not stop, because the whole run is
// already charged, and no release of the replacement uses data.
func TestReplacementIsNotEndedByAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, n := newPuppet(t, func(c *sdk.Config) { c.Recover = true })
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		over := make(chan error, 1)
		go func() { over <- n.Run(ctx) }()
		defer time.AfterFunc(3*time.Minute, func() { _ = p.tr.Close() }).Stop()
		lost := signed.Statement{Kind: signed.Release, Round: 1, Value: signed.Digest(make([]float32, p.f.Dim), nil)}
		lost.Sign(memberKey("a"), p.scope("a"))
		first, m := p.release(0, nil, 1)
		ask := p.await(admm.Join)
		p.send(&admm.Message{Kind: admm.Stand, Round: 1, Held: 1, Incarnation: ask.Incarnation, Vector: m.Vector,
			Signed: admm.Signed{Own: first.Append(nil), Proof: lost.Append(nil)}})
		probe := p.await(admm.Probe)
		start := p.await(admm.Start)
		if start.Round != 2 || start.Epoch != 1 || !slices.Equal(start.Vector, m.Vector) {
			t.Fatalf("it starts with %+v", start)
		}
		shown, err := signed.Parse(start.Signed.Own, signed.Release)
		if err != nil || shown.Round != 2 || shown.Epoch != 1 || shown.Value != signed.Digest(start.Vector, nil) {
			t.Fatalf("it shows %+v, %v", shown, err)
		}
		p.send(&admm.Message{Kind: admm.ProbeReply, Round: 2, Held: 2, Epoch: 1, Incarnation: probe.Incarnation,
			Signed: admm.Signed{Proof: shown.Append(nil)}})
		second, m := p.release(0, first, 2)
		p.send(&admm.Message{Kind: admm.Start, Round: 2, Vector: m.Vector, Signed: admm.Signed{Own: second.Append(nil)}})
		before, m := p.release(0, second, 3)
		p.send(m)
		for p.await(admm.Release).Round < 4 {
		}
		hidden := lost
		hidden.Round = 9
		hidden.Sign(memberKey("a"), p.scope("a"))
		p.send(&admm.Message{Kind: admm.ProbeReply, Round: 4, Held: 9, Epoch: 1, Incarnation: probe.Incarnation,
			Signed: admm.Signed{Proof: hidden.Append(nil)}})
		_, m = p.release(0, before, 4)
		p.send(m)
		for p.await(admm.Release).Round < 5 {
		}
		stop()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestStartsAreProved checks that a replacement device must prove its starting point. A Start message that the device
// did not sign, or signed for another model, round or device, is refused.
func TestStartsAreProved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, n := newPuppet(t, func(*sdk.Config) {})
		defer p.meet(n)()
		_, m := p.release(0, nil, 1)
		p.send(m)
		for p.await(admm.Release).Round < 2 {
		}
		own, m := p.release(1, nil, 3)
		start := func(change func(*admm.Message)) *admm.Message {
			s := &admm.Message{Kind: admm.Start, Round: 3, Epoch: 1, Vector: slices.Clone(m.Vector),
				Signed: admm.Signed{Own: own.Append(nil)}}
			change(s)
			return s
		}
		wrong := []func(*admm.Message){
			func(m *admm.Message) { m.Signed.Own = nil },
			func(m *admm.Message) { m.Vector[0]++ },
			func(m *admm.Message) { m.Round = 4 },
			func(m *admm.Message) { m.Epoch = 2 },
			func(m *admm.Message) {
				forged := *own
				forged.Sign(memberKey("a"), p.scope("b"))
				m.Signed.Own = forged.Append(nil)
			},
		}
		for _, change := range wrong {
			p.send(start(change))
		}
		synctest.Wait()
		if at := n.Status(); at.Refused != int64(len(wrong)) || at.Round != 2 || at.Neighbors[0].Quarantine.Release != 0 {
			t.Errorf("%+v", at)
		}
		p.send(start(func(*admm.Message) {}))
		if answer := p.await(admm.Start); answer.Round != 3 || answer.Epoch != 0 {
			t.Errorf("it answers %+v", answer)
		}
		synctest.Wait()
		if at := n.Status(); at.Round != 4 || at.Refused != int64(len(wrong)) { // the node waits for the replacement's release 4
			t.Errorf("%+v", at)
		}
	})
}
