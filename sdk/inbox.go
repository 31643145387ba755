package sdk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest"
)

// received is a frame from a neighbor, or the error that ended the receiver.
type received struct {
	from   string
	frame  []byte
	err    error
	silent bool // replaces a frame: the neighbor was silent for longer than Config.Patience
}

// work answers queries. It takes at most one frame between two queries, so that a flood of frames cannot stop the work.
func (r *run) work(queries []zoest.Query) error {
	inbox := r.inbox
	if r.fed {
		inbox = nil
	}
	select {
	case in := <-inbox:
		r.fed = true
		return r.take(in)
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	case peer := <-r.opened: // the neighbor may lack the last release
		r.reached(peer)
		return nil
	default:
		r.fed = false
		return r.answer(queries)
	}
}

// wait takes the next frame, serves a neighbor with a new connection, or reports a tick.
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

// rest waits for a frame, a new connection or a tick. over is true once the model has been final for at least
// Config.Linger.
func (r *run) rest() (over bool, err error) {
	if ticked, err := r.wait(r.tick.C); err != nil || !ticked {
		return false, err // a frame alone is no progress: it may be a repeat
	}
	if !r.moved {
		r.machine.Tick()
		r.showAgain()
		r.reportWaiting()
		// Back off: double the time between ticks. A neighbor that restarts need not wait for a tick, because the node
		// answers its probe and serves its new connection at once.
		r.interval = min(2*r.interval, 16*r.cfg.ResendAfter)
		if r.machine.Status().Complete { // keep ticking, because the node exits at a tick
			r.interval = r.cfg.ResendAfter
		}
	}
	r.moved = false
	r.tick.Reset(r.interval)
	if r.final.IsZero() && r.machine.Status().Complete {
		r.final = time.Now()
	}
	if r.final.IsZero() || time.Since(r.final) < r.cfg.Linger {
		return false, nil
	}
	r.log.Warn("exiting before every neighbor confirmed completion", "after", r.cfg.Linger)
	return true, nil
}

// reportWaiting reports to the observer, once per round, which neighbors the node is waiting for.
func (r *run) reportWaiting() {
	st, report := r.Status(), r.cfg.Observer.Waiting
	if report != nil && len(st.Waiting) > 0 && r.waiting != st.Round+1 {
		r.waiting = st.Round + 1
		report(st.Round, st.Waiting)
	}
}

const (
	burst = 1000 // frames that a node takes without a pause while it makes no progress
	pause = time.Millisecond
)

// take handles a frame. Evidence signed with this node's own key ends the run. A frame that causes any other error is
// refused, and may put its sender in quarantine.
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
