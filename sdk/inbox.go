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
	from  string
	frame []byte
	err   error
	// silent says, in place of a frame, that the neighbor has been silent for longer than Config.Patience
	silent bool
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

// burst is how many frames are taken at once from neighbors without whom the node does not get on. With each further one
// it waits for the time pause: a flood of them leaves the processor to others, and a frame that helps is late by a few
// pauses.
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
