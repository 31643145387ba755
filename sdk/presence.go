package sdk

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

// With [Config].Patience, a node gives up on a neighbor whose frames stop arriving, as if Config.Without named it.
// Every node sends heartbeats, which cannot be delayed by an oracle or a third node. Silence is measured from the
// neighbor's last frame or, if none has arrived, from the start of Run. The decision is queued among the neighbor's
// frames, so that the node uses the same releases whether it was working or waiting.

const (
	beat        = 30 * time.Second // the interval between heartbeats; the same for all nodes, so it reveals nothing
	minPatience = 4 * beat         // tolerates a few lost heartbeats
)

// silence is queued among the frames of a neighbor to mark where the node lost patience with the neighbor.
var silence = []byte{0}

// presence records when each neighbor was last heard. Its methods are safe for concurrent use.
type presence struct {
	*transport.Silence
	last    atomic.Pointer[time.Time] // the time of the last frame of any neighbor
	arrived map[string]*outbox        // by neighbor: its frames for the loop, so that no neighbor delays another
}

func newPresence(now time.Time, neighbors []string, patience time.Duration) *presence {
	p := &presence{Silence: transport.NewSilence(now, neighbors, patience), arrived: map[string]*outbox{}}
	p.last.Store(&now)
	for _, name := range neighbors {
		p.arrived[name] = newOutbox()
	}
	return p
}

// overdue returns the neighbors that were silent for patience, each again after the same time, because the loop may have
// ignored it. Time during which the node hears no neighbor is not counted, because the node itself may be disconnected
// or asleep.
func (p *presence) overdue(now time.Time, patience time.Duration) []string {
	if now.Sub(*p.last.Load()) >= 3*beat {
		for name := range p.arrived {
			p.Hear(name, now, patience)
		}
	}
	names, _ := p.Due(now)
	for _, name := range names {
		p.Hear(name, now, patience)
	}
	return names
}

// watch sends heartbeats and reports silent neighbors until the run ends.
func (r *run) watch() {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	first := time.After(5 * time.Second)
	for {
		select {
		case <-r.ctx.Done():
			return
		case now := <-first:
			r.logSilent(now)
			continue
		case now := <-tick.C:
			r.logSilent(now)
		}
		for _, box := range r.outbox {
			box.put(wire.Heartbeat, false)
		}
		if r.presence != nil {
			for _, name := range r.presence.overdue(time.Now(), r.cfg.Patience) {
				r.presence.arrived[name].put(silence, true)
			}
		}
	}
}

// logSilent logs silent neighbors, unless Observer.Waiting is set. The log depends only on when frames and heartbeats
// arrive, and not on this node's oracle or data.
func (r *run) logSilent(now time.Time) {
	names, longest := r.silence.Due(now)
	for _, n := range r.Status().Neighbors {
		if n.Quarantine.Release > 0 {
			names = slices.DeleteFunc(names, func(name string) bool { return name == n.Name })
		}
	}
	if len(names) > 0 && r.cfg.Observer.Waiting == nil {
		r.log.Warn("waiting for neighbors that have sent nothing",
			"for", longest.Round(time.Second), "from", transport.Ways(r.cfg.Transport, names))
	}
}

// pass passes a neighbor's frames to the loop, in order.
func (r *run) pass(name string, box *outbox) {
	for frame := box.next(); frame != nil; frame = box.next() {
		select {
		case r.inbox <- received{from: name, frame: frame, silent: &frame[0] == &silence[0]}:
		case <-r.ctx.Done():
			return
		}
	}
}

// arrive handles a frame from the transport. If it returns false, the caller must pass the frame to the loop.
func (r *run) arrive(from string, frame []byte) bool {
	p, now := r.presence, time.Now()
	r.silence.Hear(from, now, 3*beat)
	if p != nil {
		p.last.Store(&now)
		p.Hear(from, now, r.cfg.Patience)
	}
	if wire.IsHeartbeat(frame) {
		return true
	}
	if p == nil || p.arrived[from] == nil || len(frame) == 0 {
		return false
	}
	p.arrived[from].put(frame, false) // a frame dropped for lack of room is sent again
	return true
}

// loses gives up on a silent neighbor, unless this neighbor is the last remaining neighbor, or the model is final.
func (r *run) loses(name string) {
	if left := len(r.neighbors) - len(r.cases); left > 1 && !r.machine.Status().Complete {
		r.quarantine(r.number[name], state.Quarantine{
			Why: fmt.Sprintf("no message arrived from it for longer than the patience of this node, %v", r.cfg.Patience)})
	}
}
