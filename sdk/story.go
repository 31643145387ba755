package sdk

import (
	"errors"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// Every member makes one release for all. Neighbors compare what they were told, see [trust.Gossip].

// compare hands over, once for each release, what the work on it begins with. Nothing that arrives later counts before the
// next one: when it arrived, compared with the end of the work, depends on data.
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

// question takes a neighbor's question about what a member has signed.
func (r *run) question(m *admm.Message) error {
	g := r.claims.Gossip
	if g == nil || r.outbox[m.From] == nil {
		return errors.New("sdk: the sender asks what a member has signed, and is no neighbor, or nothing is compared")
	}
	send, double, err := g.Question(m)
	r.ask(send)
	if double != nil {
		r.expose(*double)
	}
	return err
}

// confront shows all neighbors what a member has signed of an impossible release. Those who were told the same have found out by
// themselves; those who were told something else have evidence of two releases.
func (r *run) confront(member int, st *signed.Statement) {
	if st != nil && r.claims.Gossip != nil {
		q := trust.Question{Slot: trust.Slot{Member: member, Epoch: st.Epoch, Round: st.Round}, Statement: st}
		m := q.Message()
		m.From = member
		_ = r.question(m) // it was checked
	}
}

// ask sends questions to all neighbors in use.
func (r *run) ask(list []trust.Question) {
	for i := range list {
		for _, j := range r.neighbors {
			if r.cases[j] == nil {
				_ = r.post(j, list[i].Message()) // it is within its limits
			}
		}
	}
}

// expose keeps evidence against another member, shows it to the neighbors, and ends the work with that member.
func (r *run) expose(e signed.Evidence) {
	of := r.number[e.Member]
	if peer := r.claims.Peers[of]; peer != nil {
		r.accuse(of, peer, e)
		r.quarantineSender(received{from: peer.Name, frame: e.Second.Append(nil)}, &trust.Contradiction{Evidence: e})
		return
	}
	if r.convicted(e) {
		return
	}
	r.keepEvidence(e)
	r.log.Error("evidence of equivocation", "member", e.Member, "round", e.Round)
	r.spread(e)
}

// convicted reports whether there is evidence against a member, of that epoch or a later one, and notes that there is now.
func (n *Node) convicted(e signed.Evidence) (before bool) {
	for _, known := range n.status.Evidence {
		before = before || known.Member == e.Member && known.First.Epoch >= e.First.Epoch
	}
	if g := n.claims.Gossip; g != nil {
		g.Convict(n.number[e.Member], e.First.Epoch)
	}
	return before
}
