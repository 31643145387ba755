package sdk

import (
	"fmt"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// Quarantine. A node stops working with a neighbor that sends a message that no honest member would send, whatever
// frames that member has received: an impossible release ([admm.Config.Impossible]), or two signed releases of one
// round. Other invalid frames are only refused and counted. Without keys, an impossible release leads to quarantine
// only if the node would otherwise use it. These decisions are a function of the received frames and their order; see
// [admm.Machine.Quarantine]. A node also drops the edge to a neighbor that has dropped it, that Config.Without names, or
// that is silent for longer than Config.Patience (presence.go).

const dropped = "the edge is in quarantine, and the run goes on without it"

// loadDropped drops the edges that are in quarantine according to the journal or the stored state.
func (n *Node) loadDropped() error {
	for _, q := range slices.Clone(n.trust.Journal.Quarantine) {
		if j := n.peer(q.Neighbor); n.machine.Quarantine(j) > 0 {
			n.trust.Drop(j, q, n.machine.Heard(j))
			n.log.Warn(dropped, "neighbor", q.Neighbor, "release", q.Release, "why", q.Why)
		}
	}
	for _, j := range n.neighbors {
		if from := n.machine.Quarantined(j); from > 0 && n.trust.Dropped(j) == nil {
			n.trust.Drop(j, state.Quarantine{Release: from, Why: "the stored state records it, but the evidence is lost"}, n.machine.Heard(j))
		}
	}
	return nil
}

// drop drops the edge to a neighbor, stores the reason, and sends a notice. It does nothing if the edge is already
// dropped.
func (r *run) drop(j int, q state.Quarantine) {
	if r.trust.Dropped(j) != nil {
		return
	}
	q.Neighbor, q.Round, q.Release = r.fleet.Members[j], r.machine.Status().Round, r.machine.Quarantine(j)
	r.trust.Drop(j, q, r.machine.Heard(j))
	r.keep() // before logging: a reader of the log may look for the quarantine in the status
	r.log.Error(dropped, "neighbor", q.Neighbor, "release", q.Release, "why", q.Why)
	if told := r.cfg.Events.Dropped; told != nil {
		told(q)
	}
	r.post(r.trust.Notices())
}

// dropListed drops the edges to the neighbors listed in Config.Without.
func (r *run) dropListed() {
	for _, name := range r.cfg.Without {
		if j := r.peer(name); !r.status.Done && slices.Contains(r.neighbors, j) {
			r.drop(j, state.Quarantine{Why: "this node was told to go on without it"})
		}
	}
}

// dropImpossible drops the edges to neighbors whose release the machine found impossible when it was about to use it.
func (r *run) dropImpossible() {
	for _, found := range r.machine.Verdicts() {
		r.trust.Prove(&found)
		q := state.Quarantine{Why: found.Why}
		if frame, err := r.codec.Append(nil, &found.Message); err == nil {
			q.Frames = append(q.Frames, state.NewFrame(frame))
		}
		r.drop(found.From, q)
	}
}

// alone stops a node before its next release, because all its neighbors are in quarantine. Before it stops, the node
// answers those neighbors for the duration Config.Linger, so that a copy of the node learns of the quarantine.
func (r *run) alone() error {
	if err := r.serveDropped(r.cfg.Linger); err != nil {
		return err
	}
	r.secrets.drop(r.log)
	first := r.trust.Dropped(r.neighbors[0])
	return r.fatal(fmt.Errorf("sdk: %w; %q: %s", trust.ErrQuarantine, first.Neighbor, first.Why))
}

// serveDropped spends the given time sending notices to neighbors that are in quarantine.
func (r *run) serveDropped(long time.Duration) error {
	tick := time.NewTicker(min(r.cfg.ResendAfter, long))
	defer tick.Stop()
	for over := time.Now().Add(long); time.Now().Before(over); {
		ticked, err := r.wait(tick.C)
		if err != nil {
			return err
		}
		if ticked {
			r.showAgain()
			r.post(r.trust.Notices())
		}
	}
	return nil
}
