package sdk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// The way of a frame in: receive, pass, take, deliver, carryOut.

// receive takes frames from the transport until the run ends. Heartbeats go no further. With patience, each neighbor's
// frames wait in a queue of their own, so that receive hears all neighbors while the loop works; without patience,
// receive waits for the loop.
func (r *run) receive() {
	for {
		from, frame, err := r.cfg.Transport.Recv(r.ctx)
		if err == nil {
			r.presence.hear(from, time.Now())
			if wire.IsHeartbeat(frame) {
				continue
			}
		}
		in := parcel{from: from, frame: frame, err: err}
		if box := r.arrived[from]; box != nil && err == nil {
			box.put(in) // a frame dropped for lack of room is sent again
		} else if !r.pass(in) || err != nil {
			return
		}
	}
}

// pass passes a parcel to the loop. It returns false if the run ends before the loop takes the parcel.
func (r *run) pass(in parcel) bool {
	select {
	case r.inbox <- in:
		return true
	case <-r.ctx.Done():
		return false
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
		r.dropSilent(in.from)
		return nil
	}
	r.pace.took()
	err := r.carryOut(in, r.deliver(in))
	if t, ok := r.cfg.Transport.(interface{ Recycle(frame []byte) }); ok {
		t.Recycle(in.frame)
	}
	return err
}

// deliver decodes a frame, checks the statements in it, and passes it to the machine.
func (r *run) deliver(in parcel) trust.Verdict {
	m := &r.message
	if err := r.codec.Decode(in.frame, m); err != nil {
		return trust.Verdict{Action: trust.Refuse, Why: err}
	}
	m.From = r.peer(in.from)
	v := r.trust.Receive(m)
	if v.Action == trust.Take {
		v = r.trust.Taken(v, r.machine.Receive(*m))
	}
	return v
}

// carryOut carries out the verdict on a frame: the statements are stored before the edge is dropped and before they are
// shown.
func (r *run) carryOut(in parcel, v trust.Verdict) error {
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
