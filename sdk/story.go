package sdk

import (
	"errors"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// Consistency: in each round every member sends the same release to all neighbors, and the neighbors compare what they
// received. See [trust.Gossip].

// Once per release, compare begins to compare the neighbors' releases on which this node's release in progress depends.
// A frame that arrives during the local work is included only in the next comparison, because whether it arrives before
// the work ends depends on the node's data.
func (r *run) compare() {
	g, release := r.claims.Gossip, r.machine.Begun()
	if g == nil || release <= g.Begun() {
		return
	}
	var used []*trust.Used
	for _, j := range r.neighbors {
		cut, u := r.machine.Quarantined(j), r.claims.Peers[j].Taken(release-1)
		if u != nil && (cut == 0 || cut > release) {
			used = append(used, u)
		}
	}
	found := g.Begin(release, used)
	r.ask(found.Ask)
	for _, e := range found.Doubles {
		r.expose(e)
	}
	for _, u := range found.Unaware {
		for _, e := range r.status.Evidence {
			if r.number[e.Member] == u.With {
				r.postEvidence(u.Neighbor, &e)
			}
		}
	}
}

func (r *run) question(m *admm.Message) error {
	g := r.claims.Gossip
	if g == nil {
		return errors.New("sdk: unexpected question: this fleet does not compare releases")
	}
	send, double, err := g.Question(m)
	r.ask(send)
	if double != nil {
		r.expose(*double)
	}
	return err
}

// confront sends all neighbors the statement that a member signed for an impossible release. Neighbors that received
// this release have already detected the violation; neighbors that received a different release of the round now have
// evidence of equivocation.
func (r *run) confront(member int, st *signed.Statement) {
	if st != nil && r.claims.Gossip != nil {
		q := trust.Question{Slot: trust.Slot{Member: member, Round: st.Round}, Statement: st}
		m := q.Message()
		m.From = member
		_ = r.question(m) // the statement is already checked
	}
}

func (r *run) ask(list []trust.Question) {
	for i := range list {
		for _, j := range r.neighbors {
			if r.cases[j] == nil {
				_ = r.post(j, list[i].Message()) // always within limits
			}
		}
	}
}

// expose stores evidence against another member, sends it to the neighbors, and stops working with that member.
func (r *run) expose(e signed.Evidence) {
	r.accuse(e)
	r.quarantineSender(received{from: e.Member, frame: e.Second.Append(nil)}, &trust.Contradiction{Evidence: e})
}

// convicted records evidence against a member's epoch. It reports whether evidence against the same epoch or a later
// epoch of the member was already known.
func (n *Node) convicted(e signed.Evidence) (before bool) {
	for _, known := range n.status.Evidence {
		before = before || known.Member == e.Member
	}
	if g := n.claims.Gossip; g != nil {
		g.Convict(n.number[e.Member])
	}
	return before
}
