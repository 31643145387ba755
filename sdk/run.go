package sdk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Run takes the node through its rounds and returns nil when the model is final and the neighbors have what they need.
// If ctx ends, a further Run goes on from there. An error of the oracle ends a run that is not private; in a private
// run a public constant takes the place of the loss, for silence would tell the neighbors about the data.
func (n *Node) Run(ctx context.Context) error {
	if !n.running.TryLock() {
		return errors.New("sdk: Run is already at work on this node")
	}
	defer n.running.Unlock()
	if n.failed != nil {
		return n.failed
	}
	r, err := n.start(ctx)
	if err != nil {
		return err
	}
	defer r.stop()
	// A panic, of a store or an observer, may come between the making of a release and its record in the store.
	over := false
	defer func() {
		if !over {
			n.failed = errors.New("sdk: an earlier Run ended in a panic; make the node anew from what its store holds")
		}
	}()
	if n.toRecover != nil {
		err = r.recover()
	}
	if err == nil {
		err = r.loop()
	}
	over = true
	return err
}

// fatal notes an error after which the machine must not be called again.
func (n *Node) fatal(err error) error {
	if rolledBack := (*admm.RollbackError)(nil); errors.As(err, &rolledBack) {
		err = n.chargeLost(rolledBack)
	}
	n.failed = err
	return err
}

// run is one call of Run.
type run struct {
	*Node
	ctx      context.Context
	cancel   context.CancelFunc
	codec    *wire.Codec
	releases bool // what the fleet sends
	inbox    chan received
	presence *presence       // nil without Config.Patience
	outbox   map[int]*outbox // by neighbor
	// names neighbors to which the connection has just opened; nil if the transport does not
	opened     <-chan string
	workers    sync.WaitGroup // the receiver
	senders    sync.WaitGroup
	message    admm.Message // scratch of decoding
	losses     []float64    // scratch of asking
	failing    bool         // losses could not be had, which has been logged
	joining    *joining     // nil but while the node takes over and has no state
	remembered bool         // what neighbors have signed of their ledgers has been written down in this Run
	idle       int          // frames taken since the node has last got on
	waiting    int          // the round of which the observer knows that it stands still, plus 1
	final      time.Time    // when the model became final
}

// received is a frame from a neighbor, or the reason why there will be no more.
type received struct {
	from  string
	frame []byte
	err   error
	// silent says, in place of a frame, that the neighbor has been silent for longer than Config.Patience
	silent bool
}

// start brings up the goroutines between the transport and the loop: one that receives, and one a neighbor that sends,
// so that nobody waits for a neighbor who is slow.
func (n *Node) start(ctx context.Context) (*run, error) {
	codec, err := wire.NewCodec(n.cfg.Fleet.Dim)
	if err != nil {
		return nil, err
	}
	r := &run{
		Node: n, codec: codec, releases: n.cfg.Fleet.wire().Payload == PayloadRelease,
		inbox: make(chan received, 4), outbox: map[int]*outbox{},
	}
	if t, ok := n.cfg.Transport.(transport.Notifier); ok {
		r.opened = t.Opened()
	}
	r.rememberHeads() // of the state that was stored, in case the process before did not come to its end
	r.ctx, r.cancel = context.WithCancel(ctx)
	if n.cfg.Patience > 0 {
		var names []string
		for _, j := range n.neighbors {
			names = append(names, n.cfg.Fleet.Members[j])
		}
		r.presence = newPresence(time.Now(), names)
		for name, box := range r.presence.arrived {
			r.workers.Go(func() { r.pass(name, box) })
		}
	}
	r.workers.Go(r.receive)
	for _, j := range n.neighbors {
		box := newOutbox()
		r.outbox[j] = box
		to := n.cfg.Fleet.Members[j]
		r.senders.Go(func() {
			for f := box.next(); f != nil; f = box.next() {
				r.mu.Lock()
				r.status.BytesSent += int64(len(f))
				r.mu.Unlock()
				if err := n.cfg.Transport.Send(r.ctx, to, f); err != nil && r.ctx.Err() == nil {
					n.log.Warn("message not sent", "to", to, "err", err)
				}
			}
		})
	}
	r.workers.Go(r.watch)
	return r, nil
}

// stop gives the last frames a moment to leave, then ends every goroutine that start has made.
func (r *run) stop() {
	r.rememberHeads()
	for _, box := range r.outbox {
		box.close()
	}
	flushed := time.AfterFunc(min(2*time.Second, r.cfg.Linger), r.cancel)
	r.senders.Wait()
	flushed.Stop()
	r.cancel()
	if r.presence != nil {
		for _, box := range r.presence.arrived {
			box.close()
		}
	}
	r.workers.Wait()
}

// receive passes frames from the transport to the loop.
func (r *run) receive() {
	for {
		from, frame, err := r.cfg.Transport.Recv(r.ctx)
		if err == nil && r.arrive(from, frame) {
			continue
		}
		select {
		case r.inbox <- received{from: from, frame: frame, err: err}:
		case <-r.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// loop drives the machine until the run is over.
func (r *run) loop() error {
	p := &pace{wait: r.cfg.ResendAfter, moved: true}
	p.tick = time.NewTimer(p.wait)
	defer p.tick.Stop()
	r.giveUp()
	for {
		if p.moved && p.wait > r.cfg.ResendAfter {
			p.wait = r.cfg.ResendAfter
			p.tick.Reset(p.wait)
		}
		r.stopEarly()
		if r.machine.Alone() && !r.status.Done {
			return r.alone()
		}
		duties, err := r.machine.Ready()
		r.judged()
		if r.machine.Alone() && duties.Reserve > 0 { // nothing is charged for what reaches nobody
			continue
		}
		if err == nil {
			err = r.perform(duties)
		}
		if err != nil {
			return r.fatal(err)
		}
		switch {
		case duties.Finished:
			r.dropSecrets()
			return nil
		case duties.Reserve > 0:
			continue
		case duties.Released > 0:
			p.moved, r.idle = true, 0
			continue
		case len(duties.Queries) > 0:
			p.moved, r.idle = true, 0
			err = r.work(duties.Queries, p)
		default:
			var over bool
			if over, err = r.rest(p); over {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// pace is how often the loop repeats itself.
type pace struct {
	tick  *time.Timer
	wait  time.Duration // until the next tick
	moved bool          // the node has got on since the last tick
	fed   bool          // a frame has been taken since the last query
}

// work answers queries. One frame is taken in between two: a neighbor with a flood of them must not stop the work.
func (r *run) work(queries []zoest.Query, p *pace) error {
	inbox := r.inbox
	if p.fed {
		inbox = nil
	}
	select {
	case in := <-inbox:
		p.fed = true
		return r.take(in)
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	case peer := <-r.opened: // it may lack the last release, and would wait for it until the next
		r.reached(peer)
		return nil
	default:
		p.fed = false
		return r.answer(queries)
	}
}

// wait takes the next frame, serves a neighbor to which the connection has opened, or reports a tick.
func (r *run) wait(tick <-chan time.Time) (ticked bool, err error) {
	select {
	case in := <-r.inbox:
		return false, r.take(in)
	case <-r.ctx.Done():
		return false, context.Cause(r.ctx)
	case peer := <-r.opened:
		r.reached(peer)
		return false, nil
	case <-tick:
		return true, nil
	}
}

// rest waits for something to happen. The run is over when the model has been final for as long as neighbors may expect
// to be served.
func (r *run) rest(p *pace) (over bool, err error) {
	if ticked, err := r.wait(p.tick.C); err != nil || !ticked {
		return false, err // a frame is no progress in itself: a neighbor may repeat itself because it lacks something
	}
	if !p.moved {
		r.machine.Tick()
		r.showAgain()
		r.reportWaiting()
		p.wait = r.repeatAfter(p.wait)
	}
	p.moved = false
	p.tick.Reset(p.wait)
	if r.final.IsZero() && r.machine.Status().Complete {
		r.final = time.Now()
	}
	if r.final.IsZero() || time.Since(r.final) < r.cfg.Linger {
		return false, nil
	}
	r.log.Warn("leaving without a last word of every neighbor", "after", r.cfg.Linger)
	return true, nil
}

// reached sends what a neighbor may lack, now that the way to it has opened.
func (r *run) reached(name string) {
	j := r.number[name]
	if r.joining != nil {
		r.join(j)
		return
	}
	if peer := r.claims.Peers[j]; peer != nil {
		peer.Told, peer.Corrected = false, false
		if newest := peer.Held.Last(); newest != nil && newest.Epoch > 0 {
			r.correct(j, peer)
		}
		r.show(j, peer)
	}
	r.tell(j)
	r.machine.Reached(j)
}

// repeatAfter returns how long to wait after messages have been sent again, when that had last been tried after wait:
// twice as long, up to 16 times ResendAfter. A neighbor that is slow or away does not need to be told more often, and
// devices that wait can sleep; one that comes back probes, and a connection that opens is served at once. A node
// that has finished leaves at a tick.
func (r *run) repeatAfter(wait time.Duration) time.Duration {
	if r.machine.Status().Complete {
		return r.cfg.ResendAfter
	}
	return min(2*wait, 16*r.cfg.ResendAfter)
}

// perform does a machine's duties but for the queries, in their order: it charges the release that is about to be made,
// keeps the one that has been made and tells of it, and sends.
func (r *run) perform(duties admm.Ready) error {
	if duties.Reserve > 0 {
		if err := r.inherit(); err != nil {
			return err
		}
		if err := r.keepSecrets(); err != nil {
			return err
		}
		if err := r.reserve(duties.Reserve); err != nil {
			return err
		}
	}
	if duties.Released > 0 {
		if err := r.record(); err != nil {
			return err
		}
		if err := r.retireSecrets(duties.Released); err != nil {
			return err
		}
		if !r.remembered && duties.Released > 1 { // every neighbor has released something by now
			r.remembered = true
			r.rememberHeads()
		}
	}
	r.publish()
	if duties.Released > 0 && r.cfg.Observer.Released != nil {
		r.cfg.Observer.Released(duties.Released, r.machine.Model())
	}
	return r.send(duties.Send)
}

// send hands messages to the senders. A release that goes to all neighbors is encoded once.
func (r *run) send(msgs []admm.Message) error {
	var frame []byte
	for i := range msgs {
		m, before := &msgs[i], &msgs[max(0, i-1)]
		if same := m.Kind == before.Kind && m.Round == before.Round && m.Resent == before.Resent; i == 0 || !same ||
			m.Kind != admm.Release {
			r.attach(m)
			var err error
			if frame, err = r.codec.Append(nil, m); err != nil {
				return err
			}
		}
		r.outbox[m.To].put(frame, m.Kind == admm.Done)
	}
	return nil
}

// post encodes a message to a neighbor, and sends it. To others nothing is sent.
func (r *run) post(to int, m *admm.Message) error {
	box := r.outbox[to]
	if box == nil {
		return nil
	}
	frame, err := r.codec.Append(nil, m)
	if err == nil {
		box.put(frame, false)
	}
	return err
}

// hasty is how many frames are taken at once from neighbors without whom the node does not get on. With each further one
// it waits for the time pause: a flood of them leaves the processor to others, and a frame that helps is late by a few
// pauses.
const (
	hasty = 1000
	pause = time.Millisecond
)

// take hands a frame to the machine, or to the takeover. Only evidence of this node's own key ends the run.
func (r *run) take(in received) error {
	if in.err != nil {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		return fmt.Errorf("sdk: receiving: %w", in.err)
	}
	if in.silent {
		r.loses(in.from)
		return nil
	}
	if r.idle++; r.idle > hasty {
		time.Sleep(pause)
	}
	err := r.deliver(in)
	var end ending
	if errors.As(err, &end) {
		return r.fatal(end.error)
	}
	r.condemn(in, err)
	if err != nil {
		r.refuse(in.from, err)
	}
	return nil
}

// refuse counts a frame that could not be right.
func (r *run) refuse(from string, err error) {
	if !errors.Is(err, admm.ErrQuarantine) {
		r.log.Error("frame refused", "from", from, "err", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Refused++
	for i := range r.status.Neighbors {
		if of := &r.status.Neighbors[i]; of.Name == from {
			of.Refused++
		}
	}
}

// deliver decodes a frame and gives it to the machine, which has the last word on it.
func (r *run) deliver(in received) error {
	from, member := r.number[in.from]
	if !member {
		return errors.New("sdk: the sender is not a member of the fleet")
	}
	m := &r.message
	if err := r.codec.Decode(in.frame, m); err != nil {
		return err
	}
	m.From = from
	if len(m.Signed.Stops) > 0 {
		r.hear(in.from, m)
	}
	switch {
	case r.cases.of[from] != nil:
		return r.outside(m)
	case isNotice(m):
		return r.takeNotice(m, in.frame)
	case m.Kind == admm.Join:
		return r.respond(m, in.from)
	case r.joining != nil:
		return r.hearStanding(m)
	case m.Kind == admm.Stand: // too late: this node has what it asked for
		return nil
	}
	if outdated, err := r.check(m); err != nil || outdated || m.Kind == admm.Conflict {
		return err
	}
	if err := r.wonder(m); err != nil {
		return err
	}
	offer, err := r.offered(m)
	if err == nil {
		err = r.machine.Receive(*m)
	}
	if err == nil {
		r.learn(in.from, offer)
	}
	return err
}

// answer asks the oracle and tells the machine.
func (r *run) answer(queries []zoest.Query) error {
	r.losses = slices.Grow(r.losses[:0], len(queries))[:len(queries)]
	err := zoest.Ask(r.ctx, r.cfg.Oracle, queries, r.losses, max(0, r.cfg.Retries))
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx) // the queries stay open
	}
	if refused := r.machine.Answer(r.losses...); refused != nil {
		return errors.Join(refused, err)
	}
	if err != nil {
		// Logs may leave the device. That there is a loss missing is a bit about the data, and the error speaks of a sample
		// and of a point that was never released: level DEBUG stays on the device.
		if !r.failing {
			r.failing = true
			r.log.Debug("losses cannot be had; going on with the public one in their place")
		}
		r.log.Debug("no loss to be had", "err", err)
	}
	return nil
}

// reportWaiting tells the observer, once a round, that neighbors are missing.
func (r *run) reportWaiting() {
	st := r.Status()
	if len(st.Waiting) == 0 || r.waiting == st.Round+1 {
		return
	}
	r.waiting = st.Round + 1
	if r.cfg.Observer.Waiting != nil {
		r.cfg.Observer.Waiting(st.Round, st.Waiting)
	}
}
