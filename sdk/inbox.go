package sdk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest"
)

// received is a frame from a neighbor, or the reason why there will be no more.
type received struct {
	from   string
	frame  []byte
	err    error
	silent bool // in place of a frame: the neighbor has been silent for longer than Config.Patience
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

// rest waits for something to happen. The run is over when the model has been final for Config.Linger.
func (r *run) rest(p *pace) (over bool, err error) {
	if ticked, err := r.wait(p.tick.C); err != nil || !ticked {
		return false, err // a frame is no progress in itself: a neighbor may repeat itself because it lacks something
	}
	r.relayAgain(!p.moved)
	if !p.moved {
		r.machine.Tick()
		r.showAgain()
		r.reportWaiting()
		// less and less often: a neighbor that comes back probes, and a connection that opens is served at once
		p.wait = min(2*p.wait, 16*r.cfg.ResendAfter)
		if r.machine.Status().Complete { // the node exits at a tick
			p.wait = r.cfg.ResendAfter
		}
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

// burst is how many frames are taken without a pause while the node makes no progress.
const (
	burst = 1000
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
	if r.idle++; r.idle > burst {
		time.Sleep(pause)
	}
	err := r.deliver(in)
	var end ending
	if errors.As(err, &end) {
		return r.fatal(end.error)
	}
	r.quarantineSender(in, err)
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

// retries is how often a failed query is asked again: at least once, as a batch that fails because of one record must not
// cost other records their losses.
const retries = 2

// answer asks the oracle, and gives the losses to the machine.
func (r *run) answer(queries []zoest.Query) error {
	r.losses = slices.Grow(r.losses[:0], len(queries))[:len(queries)]
	err := zoest.Ask(r.ctx, r.cfg.Oracle, queries, r.losses, retries)
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx) // the queries stay open
	}
	r.curve.Add(r.losses)
	if refused := r.machine.Answer(r.losses...); refused != nil {
		return errors.Join(refused, err)
	}
	if err != nil {
		// A missing loss is a bit about the data, and the error names a sample and a point that was never released. Level DEBUG
		// stays on the device; other logs may leave it.
		if !r.failing {
			r.failing = true
			r.log.Debug("losses cannot be had; going on with the public one in their place")
		}
		r.log.Debug("no loss to be had", "err", err)
	}
	return nil
}
