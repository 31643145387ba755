package sdk

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// ErrQuarantine says that there is nobody left to work with: every neighbor is in quarantine, or has put this node in
// quarantine. What it makes alone would cost its privacy budget and reach nobody, so it ends.
var ErrQuarantine = errors.New("every edge of this node is in quarantine")

// Quarantine says since when a neighbor is in quarantine. Release is 0 if it is not.
type Quarantine struct {
	Release int    // the first release of this node that is made without the neighbor
	Why     string // what was found, and what was wanted
}

// A node ends to work with a neighbor that has sent what no member sends that follows the method: a release that is out
// of bounds, or two signed ones of one round. What it can pass over, such as a frame that makes no sense, it refuses and
// counts, and who is silent is waited for, unless the node has a [Config].Patience. Without keys nobody can tell who speaks, so that only a release counts that would be used otherwise.
//
// Everything here follows from what was received and in which order, see [admm.Machine.Quarantine].

// cases is what a node has on neighbors in quarantine. It belongs to the goroutine of Run.
type cases struct {
	of   map[int]*state.Quarantine
	told map[int]bool // since the last tick
}

// dropped is said once for each life of a node.
const dropped = "the edge is in quarantine, and the run goes on without it"

// loadQuarantine drops the edges of which the journal says so, and those that the state says so of.
func (n *Node) loadQuarantine() {
	n.cases = cases{of: map[int]*state.Quarantine{}, told: map[int]bool{}}
	for _, q := range n.journal.Quarantine {
		if j, known := n.number[q.Neighbor]; known && n.machine.Quarantine(j) > 0 {
			n.cases.of[j] = &q
			n.log.Warn(dropped, "neighbor", q.Neighbor, "release", q.Release, "why", q.Why)
		}
	}
	for _, j := range n.neighbors {
		if from := n.machine.Quarantined(j); from > 0 && n.cases.of[j] == nil {
			n.cases.of[j] = &state.Quarantine{Release: from, Why: "the stored state says so, and what there was to show is gone"}
		}
	}
}

// quarantined returns what the status says of a neighbor.
func (n *Node) quarantined(j int) Quarantine {
	if q := n.cases.of[j]; q != nil {
		return Quarantine{q.Release, q.Why}
	}
	return Quarantine{}
}

// quarantine ends the work with a neighbor, unless it has ended: the edge is dropped, what there is to show goes to the
// disk, and the neighbor is told.
func (r *run) quarantine(j int, q state.Quarantine) {
	if r.cases.of[j] != nil {
		return
	}
	q.Neighbor = r.cfg.Fleet.Members[j]
	q.Round, q.Release = r.machine.Status().Round, r.machine.Quarantine(j)
	r.cases.of[j] = &q
	r.mu.Lock() // first: who reads of it in the log finds it in the status, which may not show a release yet
	for i, k := range r.neighbors {
		if k == j {
			r.status.Neighbors[i].Quarantine = r.quarantined(j)
		}
	}
	journal := r.journal
	journal.Quarantine = append(slices.Clone(journal.Quarantine), q)
	err := r.keepJournal(&journal)
	r.mu.Unlock()
	if err != nil {
		r.log.Error("what speaks for a quarantine cannot be stored", "neighbor", q.Neighbor, "err", err)
	}
	r.log.Error(dropped, "neighbor", q.Neighbor, "release", q.Release,
		"why", q.Why)
	r.tell(j)
}

// tell says to a neighbor that it is in quarantine, at most once between two ticks.
func (r *run) tell(j int) {
	q := r.cases.of[j]
	if q == nil || r.cases.told[j] {
		return
	}
	r.cases.told[j] = true
	notice := signed.Statement{Epoch: r.epoch, Kind: signed.Notice, Round: q.Release, Value: r.claims.Peers[j].Scope}
	if r.claims.Signing() {
		notice.Sign(r.claims.Key, r.claims.Scope)
	}
	why := q.Why[:min(len(q.Why), 200)]
	_ = r.post(j, &admm.Message{Kind: admm.Conflict, Round: q.Release,
		Signed: admm.Signed{Proof: notice.Append(nil), Other: []byte(cmp.Or(why, "-"))}}) // both are within their limits
}

// isNotice reports whether a message is a neighbor's word that this node is in quarantine. It travels as evidence does, so
// that programs that do not know of it refuse it.
func isNotice(m *admm.Message) bool {
	_, err := signed.Parse(m.Signed.Proof, signed.Notice)
	return m.Kind == admm.Conflict && err == nil
}

// takeNotice takes a neighbor's word that it goes on without this node: waiting for it would never end.
func (r *run) takeNotice(m *admm.Message, frame []byte) error {
	peer := r.claims.Peers[m.From]
	if peer == nil {
		return errors.New("sdk: the sender speaks of a quarantine and is no neighbor")
	}
	notice, err := signed.Parse(m.Signed.Proof, signed.Notice)
	if err == nil && r.claims.Signing() {
		err = notice.Verify(peer.Scope, r.claims.Keys(peer.Name))
	}
	if err == nil && notice.Value != r.claims.Scope {
		err = errors.New("sdk: a notice of quarantine for another member")
	}
	if err == nil && notice.Round > r.cfg.Fleet.Method.Last()+2 {
		err = fmt.Errorf("sdk: a quarantine from release %d on, want at most %d", notice.Round, r.cfg.Fleet.Method.Last()+2)
	}
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
		if !r.status.Done {
			r.quarantine(r.number[name], state.Quarantine{Why: toldToGoOn})
		}
	}
}

// outside deals with a frame of a neighbor in quarantine: it is refused, and the neighbor told why. What it shows of
// this node's own signatures counts all the same.
func (r *run) outside(m *admm.Message) error {
	switch m.Kind {
	case admm.Conflict, admm.Probe, admm.ProbeReply, admm.Done:
		var end ending
		if _, err := r.check(m); errors.As(err, &end) {
			return err
		}
	}
	if !isNotice(m) { // two that have ended with each other would talk for ever
		r.tell(m.From)
	}
	return admm.ErrQuarantine
}

// condemn puts the sender of a refused frame in quarantine, if what it has signed cannot be right.
func (r *run) condemn(in received, err error) {
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
		m := admm.Message{Kind: admm.Release, Round: v.Round, Vector: v.Payload.Vector, Grid: v.Payload.Grid}
		if !r.releases {
			m.Kind = admm.EdgeMessage
		}
		if peer := r.claims.Peers[v.Peer]; peer != nil {
			m.Signed.Own = trust.Encoded(peer.Held.Of(v.Round))
		}
		q := state.Quarantine{Why: v.Why}
		if frame, err := r.codec.Append(nil, &m); err == nil { // it was one
			q.Frames = append(q.Frames, state.NewFrame(frame))
		}
		r.quarantine(v.Peer, q)
	}
}

// alone ends a node that has nobody left to work with, before its next release. As long as neighbors may expect to be
// served they are: a device that has a double hears of it.
func (r *run) alone() error {
	tick := time.NewTicker(min(r.cfg.ResendAfter, r.cfg.Linger))
	defer tick.Stop()
	for over := time.Now().Add(r.cfg.Linger); ; {
		ticked, err := r.wait(tick.C)
		switch {
		case err != nil:
			return err
		case !ticked:
		case time.Now().Before(over):
			r.showAgain()
		default:
			r.dropSecrets()
			first := r.neighbors[0]
			return r.fatal(fmt.Errorf("sdk: %w; %q: %s", ErrQuarantine, r.cfg.Fleet.Members[first], r.cases.of[first].Why))
		}
	}
}

// spread shows the others the evidence against a neighbor: they may wait for it, and it has ended.
func (r *run) spread(of int, peer *trust.Peer) {
	if peer.Evidence == nil {
		return
	}
	for _, j := range r.neighbors {
		if j != of && r.cases.of[j] == nil {
			r.postEvidence(j, peer.Evidence)
		}
	}
}

// doubleOfAnother takes evidence of a double that some neighbor has, and reports whether there is one.
func (r *run) doubleOfAnother(m *admm.Message) bool {
	first, err1 := signed.Parse(m.Signed.Proof, signed.Release)
	second, err2 := signed.Parse(m.Signed.Other, signed.Release)
	if err1 != nil || err2 != nil || !first.Contradicts(&second) {
		return false
	}
	for j, peer := range r.claims.Peers {
		if e := peer.Evidence; e != nil && (e.First == first && e.Second == second || e.First == second && e.Second == first) {
			return true // it is known
		}
		keys := r.claims.Keys(peer.Name)
		if first.Verify(peer.Scope, keys) != nil || second.Verify(peer.Scope, keys) != nil {
			continue
		}
		two := &trust.Contradiction{First: first, Second: second}
		r.accuse(j, peer, signed.NewEvidence(peer.Name, &first, &second))
		r.condemn(received{from: peer.Name, frame: second.Append(nil)}, two)
		return true
	}
	return false
}
