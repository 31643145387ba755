package sdk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/zoest"
)

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
	if ticked, err := r.wait(r.pace.timer.C); err != nil || !ticked {
		return false, err // a frame alone is no progress: it may be a repeat
	}
	complete := r.machine.Status().Complete
	if !r.pace.moved {
		r.machine.Tick()
		r.showAgain()
		r.reportWaiting()
	}
	r.pace.ticked(complete) // keep ticking once the model is final, because the node exits at a tick
	if complete && r.final.IsZero() {
		r.final = time.Now()
	}
	if r.final.IsZero() || time.Since(r.final) < r.cfg.Linger {
		return false, nil
	}
	r.log.Warn("exiting before every neighbor confirmed completion", "after", r.cfg.Linger)
	return true, nil
}

// showAgain repeats evidence, and allows the node to send again what it sends at most once between two ticks.
func (r *run) showAgain() {
	r.rememberHeads()
	r.keep()
	r.post(r.trust.Tick())
}

// reportWaiting reports once per round, which neighbors the node is waiting for.
func (r *run) reportWaiting() {
	st, report := r.Status(), r.cfg.Events.Waiting
	if report != nil && len(st.Waiting) > 0 && r.waiting != st.Round+1 {
		r.waiting = st.Round + 1
		report(st.Round, st.Waiting)
	}
}

// take handles what has arrived. It returns an error if the run must end.
func (r *run) take(in parcel) error {
	switch {
	case in.err != nil && r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case in.err != nil:
		return fmt.Errorf("sdk: receiving: %w", in.err)
	case in.silent:
		r.loses(in.from)
		return nil
	}
	r.pace.took()
	err := r.obey(in, r.deliver(in))
	if t, ok := r.cfg.Transport.(interface{ Recycle(frame []byte) }); ok {
		t.Recycle(in.frame)
	}
	return err
}

// obey carries out the verdict on a frame: the statements are stored before the edge is dropped and before they are
// shown.
func (r *run) obey(in parcel, v trust.Verdict) error {
	r.keep() // before logging: a reader of the log may look for evidence in the status
	r.write(v.Notes)
	r.post(v.Send)
	switch v.Action {
	case trust.End:
		if v.Exposed {
			r.secrets.drop(r.log)
		}
		return r.fatal(errors.Join(v.Why, r.chargeLost(v.Lost)))
	case trust.Drop:
		frames := append([]state.Frame{state.NewFrame(in.frame)}, v.Frames...)
		r.drop(r.peer(in.from), state.Quarantine{Why: v.Why.Error(), Told: v.Told, Frames: frames})
		if !v.Told {
			r.refuse(in.from, v.Why)
		}
	case trust.Refuse, trust.Discard:
		r.refuse(in.from, v.Why)
	}
	return nil
}

// refuse counts a frame and, if why is not nil, logs it.
func (r *run) refuse(from string, why error) {
	if why != nil {
		r.log.Error("frame refused", "from", from, "err", why)
		if told := r.cfg.Events.Refused; told != nil {
			told(from, why)
		}
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
