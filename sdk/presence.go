package sdk

import (
	"cmp"
	"fmt"
	"math"
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

// presence records when each neighbor was last heard. Its methods are safe for concurrent use.
type presence struct {
	toLog    *transport.Silence
	toGiveUp *transport.Silence
	patience time.Duration // never, without [Config.Patience]
	names    []string
	last     atomic.Pointer[time.Time] // the time of the last frame of any neighbor
}

func newPresence(now time.Time, neighbors []string, patience time.Duration) *presence {
	const never = math.MaxInt64
	p := &presence{patience: cmp.Or(patience, never), names: neighbors}
	p.toLog, p.toGiveUp = transport.NewSilence(now, neighbors, 5*time.Second), transport.NewSilence(now, neighbors, p.patience)
	p.last.Store(&now)
	return p
}

// hear records that a frame of a neighbor has arrived.
func (p *presence) hear(from string, now time.Time) {
	p.toLog.Hear(from, now, 3*beat)
	p.toGiveUp.Hear(from, now, p.patience)
	p.last.Store(&now)
}

// overdue returns the neighbors that were silent for longer than the patience, each again after the same time, because
// the loop may have ignored it. Time during which the node hears no neighbor is not counted, because the node itself may
// be disconnected or asleep.
func (p *presence) overdue(now time.Time) []string {
	if now.Sub(*p.last.Load()) >= 3*beat {
		for _, name := range p.names {
			p.toGiveUp.Hear(name, now, p.patience)
		}
	}
	names, _ := p.toGiveUp.Due(now)
	for _, name := range names {
		p.toGiveUp.Hear(name, now, p.patience)
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
			r.reportSilent(now)
			continue
		case now := <-tick.C:
			r.reportSilent(now)
		}
		for _, box := range r.outbox {
			box.put(parcel{frame: wire.Heartbeat})
		}
		for _, name := range r.presence.overdue(time.Now()) {
			r.arrived[name].put(parcel{from: name, silent: true, urgent: true})
		}
	}
}

// reportSilent reports silent neighbors. The report depends only on when frames and heartbeats
// arrive, and not on this node's oracle or data.
func (r *run) reportSilent(now time.Time) {
	names, longest := r.presence.toLog.Due(now)
	for _, n := range r.Status().Neighbors {
		if n.Quarantine.Release > 0 {
			names = slices.DeleteFunc(names, func(name string) bool { return name == n.Name })
		}
	}
	r.silent(names, longest)
}

// dropSilent gives up on a silent neighbor, unless this neighbor is the last remaining neighbor, or the model is final.
func (r *run) dropSilent(name string) {
	if r.trust.Left() > 1 && !r.machine.Status().Complete {
		r.drop(r.peer(name), state.Quarantine{
			Why: fmt.Sprintf("no message arrived from it for longer than the patience of this node, %v", r.cfg.Patience)})
	}
}
