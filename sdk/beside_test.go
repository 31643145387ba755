package sdk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// line connects two devices with the same member name to the network. Each neighbor is connected to the device that
// connected to it last.
type line struct {
	transport.Transport
	member string
	dim    int
	mu     sync.Mutex
	holder map[string]*side // by neighbor: the side that the neighbor is connected to
	opened map[string]chan string
}

// side is the connection of one device to a line.
type side struct {
	*line
	in     chan heard
	opened chan string
	ctx    context.Context // canceled by Close
	close  context.CancelFunc
	drop   func(to string, m *admm.Message) bool // nil: everything arrives
	mu     sync.Mutex
	awake  chan struct{} // closed while the device is awake
}

// newLine creates a line for the lost device. It must be called before any device starts.
func (w *wreck) newLine() *line {
	inner, err := w.net.Node(w.fleet.Members[w.lost])
	if err != nil {
		w.t.Fatal(err)
	}
	l := &line{Transport: inner, member: w.fleet.Members[w.lost], dim: w.fleet.Dim, holder: map[string]*side{},
		opened: map[string]chan string{}}
	for _, j := range w.neighbors() {
		l.opened[w.fleet.Members[j]] = make(chan string, 64)
	}
	go func() {
		for {
			from, frame, err := inner.Recv(context.Background())
			if err != nil {
				return
			}
			l.mu.Lock()
			if s := l.holder[from]; s != nil {
				s.in <- heard{from, frame, nil}
			}
			l.mu.Unlock()
		}
	}()
	return l
}

func (l *line) newSide() *side {
	s := &side{line: l, in: make(chan heard, 10_000), opened: make(chan string, 64), awake: make(chan struct{})}
	close(s.awake)
	s.ctx, s.close = context.WithCancel(context.Background())
	return s
}

// reach opens a connection to a neighbor. It replaces the neighbor's connection to the other device.
func (s *side) reach(neighbor string) {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	if s.ctx.Err() == nil && s.holder[neighbor] != s {
		s.holder[neighbor] = s
		for at, name := range map[chan string]string{s.opened: neighbor, s.line.opened[neighbor]: s.member} {
			select {
			case at <- name:
			default: // nobody reads the channel
			}
		}
	}
}

func (s *side) sleep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awake = make(chan struct{})
}

func (s *side) wake() {
	if s.asleep() {
		close(s.awake)
	}
}

func (s *side) asleep() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.awake:
		return false
	default:
		return true
	}
}

func (s *side) wait() {
	s.mu.Lock()
	awake := s.awake
	s.mu.Unlock()
	<-awake
}

// dropping sets the function that determines which messages are lost from now on.
func (s *side) dropping(drop func(to string, m *admm.Message) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop = drop
}

func (s *side) Send(ctx context.Context, to string, frame []byte) error {
	s.wait()
	s.line.mu.Lock()
	held := s.holder[to] == s
	s.line.mu.Unlock()
	s.mu.Lock()
	drop := s.drop
	s.mu.Unlock()
	if drop != nil && !wire.IsHeartbeat(frame) {
		var m admm.Message
		codec, err := wire.NewCodec(s.dim)
		if err == nil {
			err = codec.Decode(frame, &m)
		}
		if err != nil {
			return err
		}
		held = held && !drop(to, &m)
	}
	if !held || s.ctx.Err() != nil {
		return nil
	}
	return s.Transport.Send(ctx, to, frame)
}

func (s *side) Recv(ctx context.Context) (string, []byte, error) {
	select {
	case h := <-s.in:
		s.wait()
		return h.from, h.frame, h.err
	case <-ctx.Done():
		return "", nil, ctx.Err()
	case <-s.ctx.Done():
		return "", nil, transport.ErrClosed
	}
}

func (s *side) Close() error {
	s.close()
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	for j, holder := range s.holder {
		if holder == s {
			delete(s.holder, j)
		}
	}
	return nil
}

type notified struct {
	transport.Transport
	opened <-chan string
}

func (n notified) Opened() <-chan string { return n.opened }

// beside starts a device with the lost device's name on a new side of the line. Unless asleep is 0, the device is
// suspended after it makes release number asleep and before it sends that release.
func (w *wreck) beside(h *host, l *line, asleep int) {
	h.side = l.newSide()
	w.hosts[w.lost] = h
	w.start(w.lost, func(c *sdk.Config) {
		c.Transport = notified{c.Transport, h.side.opened}
		inner, released := c.Oracle, c.Observer.Released
		c.Oracle = sdk.OracleFunc(func(ctx context.Context, x []float32, sample int) (float64, error) {
			h.side.wait()
			return inner.Loss(ctx, x, sample)
		})
		c.Observer.Released = func(round int, x []float32) {
			released(round, x)
			if round == asleep {
				h.side.sleep()
			}
		}
	})
}

func (w *wreck) startNeighbors(l *line) {
	for i, h := range w.hosts {
		if i != w.lost {
			h.alter = func(c *sdk.Config) {
				if opened := l.opened[c.Name]; opened != nil {
					c.Transport = notified{c.Transport, opened}
				}
			}
			w.start(i)
		}
	}
}

// another returns a second device to replace h: a spare with an empty store.
func (w *wreck) another(h *host) *host {
	next := &host{open: tinytest.MemStore(), incarnation: h.incarnation, spare: true, ledger: h.ledger}
	if !h.spare && h.ledger != "" {
		next.ledger = w.newLedger("second")
	}
	return next
}

func (h *host) took() bool {
	return strings.Contains(h.log.String(), "has replaced the lost device")
}

// alone reports whether a device has dropped all its neighbors. Such a device sends notices for a while and then stops.
func (h *host) alone() bool {
	return !slices.ContainsFunc(h.node.Status().Neighbors, func(n sdk.Neighbor) bool { return n.Quarantine.Release == 0 })
}

func (h *host) going() bool {
	return !h.node.Status().Done || h.ended() && h.err != nil && !errors.Is(h.err, context.Canceled)
}

// until calls the function named come until it returns true, and fails the test after too many calls.
func (w *wreck) until(what string, come func() bool) {
	w.t.Helper()
	for range 100_000 {
		if come() {
			return
		}
		time.Sleep(50 * time.Microsecond)
	}
	w.t.Errorf("seed %d: in vain: %s", w.seed, what)
}

func (w *wreck) finish(l *line, others ...*host) {
	all := append(others, w.hosts...)
	for _, h := range all {
		if h.side != nil {
			h.side.wake()
		}
		h.stop()
	}
	for _, h := range all {
		<-h.over
	}
	_ = l.Transport.Close()
	if w.t.Failed() {
		w.t.Logf("%+v\n%s", w.fleet, w.story)
	}
}

// TestLostDeviceIsHeardByOneNeighbor simulates a neighbor that does not learn that a silent device was replaced. This
// neighbor receives a release from the silent device and continues from that release. The silent device stops when
// another neighbor shows it a release signed by the replacement device. The first neighbor and the replacement drop the
// edge between them, because the neighbor is past the replacement's starting point. The run continues.
func TestLostDeviceIsHeardByOneNeighbor(t *testing.T) {
	for name, private := range map[string]bool{"private": true, "not private": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWreck(t, 0, false)
				w.fleet, w.lost, w.rough, w.faults, w.hosts = ring(), 0, false, nil, nil
				if w.fleet.Wire.Payload = sdk.PayloadRelease; private {
					w.fleet = privateRing()
				}
				w.fleet.Members = w.fleet.Members[:3]
				w.fleet.Edges = [][2]string{{"a", "b"}, {"b", "c"}, {"a", "c"}}
				w.net = mem.New(w.fleet.Members...)
				for range w.fleet.Members {
					w.hosts = append(w.hosts, &host{open: tinytest.MemStore()})
				}
				w.heardByOne(2, 3)
			})
		})
	}
}

func (w *wreck) heardByOne(asleep, last int) {
	l, lost, b, c := w.newLine(), w.hosts[0], w.hosts[1], w.hosts[2]
	spare := w.another(lost)
	defer func() { w.finish(l, lost, spare) }()
	reach := func(h *host) {
		h.side.reach("b")
		h.side.reach("c")
	}
	w.beside(lost, l, asleep)
	w.startNeighbors(l)
	reach(lost)
	w.until("silence", func() bool {
		return lost.side.asleep() && b.node.Status().Round == asleep && c.node.Status().Round == asleep
	})
	synctest.Wait()
	lost.side.dropping(func(_ string, m *admm.Message) bool { return m.Round > last })
	w.beside(spare, l, 0)
	spare.side.dropping(func(to string, m *admm.Message) bool {
		return to == "c" && (m.Kind == admm.Probe || m.Kind == admm.Start) && !lost.ended()
	})
	reach(spare)
	w.until("takeover", spare.took)
	synctest.Wait()
	lost.side.reach("c")
	lost.side.wake()
	w.until("all that c hears", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.seen[releaseKey{0, last}]) > 0 && c.node.Status().Round > last
	})
	lost.side.reach("b")
	w.until("the end of the lost device", lost.ended)
	reach(spare)
	w.until("the end of all", func() bool { return !slices.ContainsFunc(w.hosts, (*host).going) })
	if !errors.Is(lost.err, state.ErrRollback) {
		w.t.Errorf("the lost device ends with %v", lost.err)
	}
	if at := spare.node.Status(); at.Recovered != 2 || !at.Done || at.Neighbors[1].Quarantine.Release == 0 {
		w.t.Errorf("%+v\n%s", at, spare.log)
	}
	if at := c.node.Status(); at.Neighbors[0].Quarantine.Release == 0 {
		w.t.Errorf("%+v\n%s", at, c.log)
	}
	if spare.looked > 0 && !w.fleet.Privacy.NonPrivate {
		w.t.Errorf("the replacement looked at the data in round %d", spare.looked)
	}
}

// TestTwoDevicesAtWork simulates a device that falls silent at a random moment, is replaced, and wakes up before or
// after the takeover. Sometimes the two devices take connections from each other. Both devices must stop. The lost
// device stops when it learns of its replacement or, if no neighbor has heard of the replacement, at the end of the
// run. A neighbor that is past the replacement's starting point drops its edge to the replacement. In a private run,
// the replacement reads no data. Seeds work as in TestRecoveries.
func TestTwoDevicesAtWork(t *testing.T) {
	count, first := recoveries(t, 60)
	var replaced, back, dropped int
	for seed := first; seed < first+count && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWreck(t, uint64(seed), false)
			lost, spare := w.wakeUp()
			over := func(h *host) bool {
				return !h.going() || h.alone() || errors.Is(h.err, sdk.ErrQuarantine) || h == spare && errors.Is(h.err, sdk.ErrRecovery)
			}
			for i, h := range w.hosts {
				if !over(h) && !(h == spare && !lost.going()) {
					t.Errorf("seed %d: no end of %s: %+v, %v\n%s", seed, w.fleet.Members[i], h.node.Status(), h.err, h.log)
				}
			}
			if t.Failed() {
				t.Logf("%+v\n%s", w.fleet, w.story)
			}
			if spare.looked != 0 && !w.fleet.Privacy.NonPrivate {
				t.Errorf("seed %d: the replacement looked at the data in round %d", seed, spare.looked)
			}
			switch {
			case errors.Is(lost.err, state.ErrRollback):
				replaced++
			case !lost.going():
				back++
			}
			if slices.ContainsFunc(spare.node.Status().Neighbors, func(n sdk.Neighbor) bool { return n.Quarantine.Release > 0 }) {
				dropped++
				return
			}
			if !spare.going() && spare.node.Status().Recovered < w.last() && errors.Is(lost.err, state.ErrRollback) {
				w.checkEdges()
			}
		})
	}
	t.Logf("%d times the lost device is told, %d times it comes to the end; %d times an edge was dropped", replaced, back,
		dropped)
	if count >= 60 && replaced == 0 {
		t.Error("some of it never happened: nothing was tested")
	}
}

// wakeUp runs all devices until each has stopped, and returns the lost device and its replacement.
func (w *wreck) wakeUp() (lost, spare *host) {
	l, lost := w.newLine(), w.hosts[w.lost]
	all := []*host{lost}
	var dialers sync.WaitGroup
	defer func() {
		w.finish(l, all...)
		dialers.Wait()
	}()
	dial := func(h *host) {
		for _, j := range w.neighbors() {
			chance := rng.New(w.chance.Uint64(), rng.Address{Purpose: rng.Fault})
			dialers.Go(func() {
				for !h.ended() {
					time.Sleep(time.Duration(chance.Float64() * float64(20*time.Millisecond)))
					h.side.wait()
					h.side.reach(w.fleet.Members[j])
				}
			})
		}
	}
	asleep := 1 + w.chance.IntN(w.last())
	w.beside(lost, l, asleep)
	w.startNeighbors(l)
	for _, j := range w.neighbors() {
		lost.side.reach(w.fleet.Members[j])
	}
	w.until("silence", lost.side.asleep)
	w.wait(2 * time.Millisecond)
	spare = w.another(lost)
	all = append(all, spare)
	w.beside(spare, l, 0)
	dial(spare)
	if w.chance.IntN(4) > 0 {
		w.until("takeover", func() bool { return spare.ended() || spare.took() })
	}
	w.wait(time.Duration(1+9*w.chance.IntN(2)) * time.Millisecond)
	lost.side.wake()
	dial(lost)
	over := func(h *host) bool { return h.ended() && h.err != nil || !h.going() || h.alone() }
	for range 20_000 {
		if over(lost) && !slices.ContainsFunc(w.hosts, func(h *host) bool { return !over(h) && h != spare }) &&
			(over(spare) || !lost.going()) {
			break
		}
		w.serve()
		time.Sleep(50 * time.Microsecond)
	}
	return lost, spare
}
