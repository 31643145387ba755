package sdk

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// ErrQuarantine says that every edge is in quarantine. The node ends: its releases would cost privacy and reach nobody.
var ErrQuarantine = errors.New("every edge of this node is in quarantine")

// Quarantine says since when a neighbor is in quarantine. Release is 0 if it is not.
type Quarantine struct {
	Release int    // the first release of this node that is made without the neighbor
	Why     string // what was found, and what was wanted
}

// A node stops working with a neighbor that has sent what no honest member sends, whatever it has received: an impossible
// release ([admm.Config.Impossible]), or two signed ones of one round. It refuses and counts other invalid frames, and waits
// for a silent neighbor unless it has a [Config].Patience. Without keys only a release counts that would be used otherwise.
// All of it follows from what was received and in which order, see [admm.Machine.Quarantine].

// cases is why neighbors are in quarantine, by their numbers. It belongs to the goroutine of Run.
type cases map[int]*state.Quarantine

// dropped is logged once for each neighbor and process.
const dropped = "the edge is in quarantine, and the run goes on without it"

// loadQuarantine drops the edges of which the journal says so, and those that the state says so of.
func (n *Node) loadQuarantine() error {
	n.cases = cases{}
	for _, q := range n.journal.Quarantine {
		if j, known := n.number[q.Neighbor]; known && n.machine.Quarantine(j) > 0 {
			n.cases[j] = &q
			n.log.Warn(dropped, "neighbor", q.Neighbor, "release", q.Release, "why", q.Why)
		}
	}
	for _, j := range n.neighbors {
		if from := n.machine.Quarantined(j); from > 0 && n.cases[j] == nil {
			n.cases[j] = &state.Quarantine{Neighbor: n.cfg.Fleet.Members[j], Release: from,
				Why: "the stored state says so, and what there was to show is gone"}
		}
	}
	return nil
}

// quarantined returns what the status says of a neighbor.
func (n *Node) quarantined(j int) Quarantine {
	if q := n.cases[j]; q != nil {
		return Quarantine{q.Release, q.Why}
	}
	return Quarantine{}
}

// quarantine drops the edge to a neighbor, unless it has, stores the evidence, and sends a notice.
func (r *run) quarantine(j int, q state.Quarantine) {
	if r.cases[j] != nil {
		return
	}
	q.Neighbor = r.cfg.Fleet.Members[j]
	q.Round, q.Release = r.machine.Status().Round, r.machine.Quarantine(j)
	r.cases[j] = &q
	r.mu.Lock() // first: who reads of it in the log finds it in the status, which may not show a release yet
	for i, k := range r.neighbors {
		if k == j {
			r.status.Neighbors[i].Quarantine = r.quarantined(j)
		}
	}
	r.mu.Unlock()
	r.note("quarantine of "+q.Neighbor, func(j *state.Journal) { j.Quarantine = append(slices.Clone(j.Quarantine), q) })
	r.log.Error(dropped, "neighbor", q.Neighbor, "release", q.Release, "why", q.Why)
	r.sendNotice(j)
}

// sendNotice says to a neighbor that it is in quarantine, once that is stored, and at most once between two ticks.
func (r *run) sendNotice(j int) {
	q, peer := r.cases[j], r.claims.Peers[j]
	if q != nil && r.keepNotes("quarantine of "+q.Neighbor) && peer.First(trust.SayQuarantine) {
		_ = r.post(j, r.claims.Notice(peer, q.Release, q.Why)) // it is within its limits
	}
}

// takeNotice takes a neighbor's word that it goes on without this node: waiting for it would never end.
func (r *run) takeNotice(m *admm.Message, frame []byte) error {
	peer := r.claims.Peers[m.From]
	if peer == nil {
		return errors.New("sdk: the sender speaks of a quarantine and is no neighbor")
	}
	notice, err := r.claims.CheckNotice(peer, m, r.cfg.Fleet.Method.Last())
	if err == nil && r.joining == nil && notice.Epoch < r.machine.Epoch(m.From) {
		r.correct(m.From, peer)
		err = errors.New("sdk: a quarantine by a device that another has replaced")
	}
	if err != nil {
		return err
	}
	q := state.Quarantine{Told: true, Frames: []state.Frame{state.NewFrame(frame)},
		Why: fmt.Sprintf("%q goes on without this node from its release %d on, and says: %s", peer.Name, notice.Round,
			strconv.QuoteToASCII(string(m.Signed.Other)))}
	if r.joining != nil {
		r.joining.absent[m.From] = q
		delete(r.joining.standing, m.From)
		return nil
	}
	r.quarantine(m.From, q)
	return nil
}

const toldToGoOn = "this node was told to go on without it"

// giveUp ends the work with the neighbors of Config.Without.
func (r *run) giveUp() {
	for _, name := range r.cfg.Without {
		if j := r.number[name]; !r.status.Done && slices.Contains(r.neighbors, j) {
			r.quarantine(j, state.Quarantine{Why: toldToGoOn})
		}
	}
}

// outside refuses a frame of a neighbor in quarantine, and tells it why. This node's own signatures in it count all the same.
func (r *run) outside(m *admm.Message) error {
	switch m.Kind {
	case admm.Conflict, admm.Probe, admm.ProbeReply, admm.Done:
		var end ending
		if _, err := r.check(m); errors.As(err, &end) {
			return err
		}
	}
	if !trust.IsNotice(m) { // two nodes that have each other in quarantine would exchange notices forever
		r.sendNotice(m.From)
	}
	return admm.ErrQuarantine
}

// quarantineSender puts the sender of a refused frame in quarantine, if what it has signed cannot be right.
func (r *run) quarantineSender(in received, err error) {
	j, member := r.number[in.from]
	peer := r.claims.Peers[j]
	if err == nil || !member || peer == nil || !r.claims.Signing() || r.joining != nil {
		return
	}
	q := state.Quarantine{Why: err.Error(), Frames: []state.Frame{state.NewFrame(in.frame)}}
	var two *trust.Contradiction
	var impossible *admm.ImpossibleError
	var late *admm.LateError
	switch newest := peer.Held.Last(); {
	case errors.As(err, &two):
		// A device that has replaced another does not answer for a copy of that one.
		if newest != nil && two.Second.Epoch < newest.Epoch {
			return
		}
		q.Frames = append(q.Frames, state.NewFrame(two.First.Append(nil)))
	case errors.As(err, &late):
	case !errors.As(err, &impossible) || r.message.Kind != admm.Release && r.message.Kind != admm.Start:
		return // a message to one neighbor is not signed itself
	}
	r.quarantine(j, q)
}

// judged takes over what the machine has dropped by itself.
func (r *run) judged() {
	for _, v := range r.machine.Verdicts() {
		own := r.claims.Peers[v.From].Held.Of(v.Round)
		v.Signed.Own = trust.Encoded(own)
		q := state.Quarantine{Why: v.Why}
		if frame, err := r.codec.Append(nil, &v.Message); err == nil { // it was one
			q.Frames = append(q.Frames, state.NewFrame(frame))
		}
		r.quarantine(v.From, q)
		r.confront(v.From, own)
	}
}

// alone ends a node without neighbors before its next release. It serves them for Config.Linger, so that a double hears of it.
func (r *run) alone() error {
	if err := r.serveOutsiders(r.cfg.Linger); err != nil {
		return err
	}
	r.dropSecrets()
	first := r.cases[r.neighbors[0]]
	return r.fatal(fmt.Errorf("sdk: %w; %q: %s", ErrQuarantine, first.Neighbor, first.Why))
}

// serveOutsiders tells neighbors in quarantine of it for a time.
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

// spread shows the others the evidence against a member: they may wait for it, and it has ended.
func (r *run) spread(e signed.Evidence) {
	for _, j := range r.neighbors {
		if j != r.number[e.Member] && r.cases[j] == nil {
			r.postEvidence(j, &e)
		}
	}
}

// Proves checks, for anybody, whether a frame that a node has kept shows a release of a member that no honest one makes: one of
// the keys has signed it, and it is impossible ([admm.Config.Impossible]). The error says why it does not.
func (f *Fleet) Proves(member string, frame []byte, keys []ed25519.PublicKey) error {
	p, err := f.plan()
	if err != nil {
		return err
	}
	i, known := p.number[member]
	if !known {
		return fmt.Errorf("sdk: evidence against %q, which is not a member of the fleet", member)
	}
	codec, err := wire.NewCodec(f.Dim)
	if err != nil {
		return err
	}
	var m admm.Message
	if err := codec.Decode(frame, &m); err != nil {
		return err
	}
	if m.Kind != admm.Release || len(m.Signed.Own) == 0 {
		return fmt.Errorf("sdk: a frame of kind %v, want a signed release", m.Kind)
	}
	own, err := signed.Parse(m.Signed.Own, signed.Release)
	if err == nil {
		err = own.Verify(signed.NewScope(f.Run, f.Hash(), member), keys)
	}
	if err != nil {
		return err
	}
	if own.Round != m.Round || own.Value != signed.Digest(m.Vector, m.Grid) {
		return fmt.Errorf("sdk: the numbers of the frame are not those of release %d that %q has signed", own.Round, member)
	}
	cfg := f.machine(p, i, f.units(i, 1), nil)
	if cfg.Impossible(m.Round, m.Payload()) == nil {
		return fmt.Errorf("sdk: an honest member may make this release %d", m.Round)
	}
	return nil
}
