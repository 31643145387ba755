package sdk

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// ErrQuarantine is returned if all edges of a node are in quarantine.
var ErrQuarantine = errors.New("every edge of this node is in quarantine")

// Quarantine. A node stops working with a neighbor that sends a message that no honest member would send, whatever
// frames that member has received: an impossible release ([admm.Config.Impossible]), or two signed releases of one
// round. Other invalid frames are only refused and counted. Without keys, an impossible release leads to quarantine
// only if the node would otherwise use it. Every decision is a function of the received frames and their order; see
// [admm.Machine.Quarantine].

const dropped = "the edge is in quarantine, and the run goes on without it"

// loadQuarantine drops the edges that are in quarantine according to the journal or the stored state.
func (n *Node) loadQuarantine() error {
	n.cases = map[int]*state.Quarantine{}
	for _, q := range n.journal.Quarantine {
		if j, known := n.number[q.Neighbor]; known && n.machine.Quarantine(j) > 0 {
			n.cases[j] = &q
			n.log.Warn(dropped, "neighbor", q.Neighbor, "release", q.Release, "why", q.Why)
		}
	}
	for _, j := range n.neighbors {
		if from := n.machine.Quarantined(j); from > 0 && n.cases[j] == nil {
			n.cases[j] = &state.Quarantine{Neighbor: n.fleet.Members[j], Release: from,
				Why: "the stored state records it, but the evidence is lost"}
		}
	}
	return nil
}

// quarantine drops the edge to a neighbor, stores the reason, and sends a notice. It does nothing if the edge is
// already dropped.
func (r *run) quarantine(j int, q state.Quarantine) {
	if r.cases[j] != nil {
		return
	}
	q.Neighbor = r.fleet.Members[j]
	q.Round, q.Release = r.machine.Status().Round, r.machine.Quarantine(j)
	r.cases[j] = &q
	r.mu.Lock() // before logging: a reader of the log may look for the quarantine in the status
	r.status.Neighbors[slices.Index(r.neighbors, j)].Quarantine = q
	r.mu.Unlock()
	r.note(func(j *state.Journal) { j.Quarantine = append(slices.Clone(j.Quarantine), q) })
	r.log.Error(dropped, "neighbor", q.Neighbor, "release", q.Release, "why", q.Why)
	r.sendNotice(j)
}

// sendNotice tells a neighbor that it is in quarantine, at most once between two ticks. It sends nothing until the
// quarantine is stored in the journal.
func (r *run) sendNotice(j int) {
	q, peer := r.cases[j], r.claims.Peers[j]
	if q != nil && r.keepNotes() && peer.First(trust.SayQuarantine) {
		_ = r.post(j, r.claims.Notice(peer, q.Release, r.machine.Heard(j), q.Why)) // always within limits
	}
}

// takeNotice handles a notice in which a neighbor states that it has dropped the edge to this node. This node then also
// drops the edge.
func (r *run) takeNotice(m *admm.Message, frame []byte) error {
	peer := r.claims.Peers[m.From]
	notice, err := r.claims.CheckNotice(peer, m, r.fleet.Method.Last())
	if err == nil {
		err = r.lostBefore(m)
	}
	if err != nil {
		return err
	}
	q := state.Quarantine{Told: true, Frames: []state.Frame{state.NewFrame(frame)},
		Why: fmt.Sprintf("%q continues without this node from release %d on, because: %s", peer.Name, notice.Round,
			strconv.QuoteToASCII(string(m.Signed.Other)))}
	r.quarantine(m.From, q)
	return nil
}

// lostBefore returns an [ending] if a notice shows a release of this node that its state lacks. Without keys, a claim is
// enough for a node without a state.
func (r *run) lostBefore(m *admm.Message) error {
	peer, at := r.claims.Peers[m.From], r.machine.Status().Round
	if !r.claims.Signing() {
		if at == 0 && m.Held > 0 {
			return ending{r.chargeLost(&admm.RollbackError{Client: r.number[r.cfg.Name], Peer: m.From, Held: m.Held})}
		}
		return nil
	}
	if len(m.Signed.Own) == 0 {
		return nil
	}
	shown, err := r.claims.OwnRelease(m.Signed.Own)
	if err != nil {
		return err
	}
	return r.verifyHeld(m.From, peer.Name, shown)
}

const toldToGoOn = "this node was told to go on without it"

// giveUp drops the edges to the neighbors listed in Config.Without.
func (r *run) giveUp() {
	for _, name := range r.cfg.Without {
		if j := r.number[name]; !r.status.Done && slices.Contains(r.neighbors, j) {
			r.quarantine(j, state.Quarantine{Why: toldToGoOn})
		}
	}
}

// outside refuses a frame from a neighbor in quarantine and sends a notice. It still checks any signature by this node
// that the frame contains.
func (r *run) outside(m *admm.Message) error {
	switch m.Kind {
	case admm.Conflict, admm.Probe, admm.ProbeReply, admm.Done:
		var end ending
		if err := r.check(m); errors.As(err, &end) {
			return err
		}
	}
	if trust.IsNotice(m) { // do not answer it: two nodes would answer each other's notices indefinitely
		return cmp.Or(r.lostBefore(m), admm.ErrQuarantine)
	}
	r.sendNotice(m.From)
	return admm.ErrQuarantine
}

// quarantineSender drops the edge to the sender of a refused frame if no honest member would sign the frame.
func (r *run) quarantineSender(in received, err error) {
	j, member := r.number[in.from]
	peer := r.claims.Peers[j]
	if err == nil || !member || peer == nil || !r.claims.Signing() {
		return
	}
	q := state.Quarantine{Why: err.Error(), Frames: []state.Frame{state.NewFrame(in.frame)}}
	var two *trust.Contradiction
	var impossible *admm.ImpossibleError
	switch {
	case errors.As(err, &two):
		q.Frames = append(q.Frames, state.NewFrame(two.First.Append(nil)))
	case !errors.As(err, &impossible) || r.message.Kind != admm.Release:
		return // the signature does not cover an edge message, so the frame proves nothing
	}
	r.quarantine(j, q)
}

// judged drops the edges to neighbors that the machine has put in quarantine.
func (r *run) judged() {
	for _, v := range r.machine.Verdicts() {
		own := r.claims.Peers[v.From].Held.Of(v.Round)
		v.Signed.Own = trust.Encoded(own)
		q := state.Quarantine{Why: v.Why}
		if frame, err := r.codec.Append(nil, &v.Message); err == nil {
			q.Frames = append(q.Frames, state.NewFrame(frame))
		}
		r.quarantine(v.From, q)
	}
}

// alone stops a node before its next release, because all its neighbors are in quarantine. Before it stops, the node
// answers those neighbors for the duration Config.Linger, so that a copy of the node learns of the quarantine.
func (r *run) alone() error {
	if err := r.serveOutsiders(r.cfg.Linger); err != nil {
		return err
	}
	r.dropPair()
	first := r.cases[r.neighbors[0]]
	return r.fatal(fmt.Errorf("sdk: %w; %q: %s", ErrQuarantine, first.Neighbor, first.Why))
}

// serveOutsiders spends the given time sending notices to neighbors that are in quarantine.
func (r *run) serveOutsiders(long time.Duration) error {
	tick := time.NewTicker(min(r.cfg.ResendAfter, long))
	defer tick.Stop()
	for over := time.Now().Add(long); time.Now().Before(over); {
		ticked, err := r.wait(tick.C)
		if err != nil {
			return err
		}
		if ticked {
			r.showAgain()
			for _, j := range r.neighbors {
				r.sendNotice(j)
			}
		}
	}
	return nil
}
