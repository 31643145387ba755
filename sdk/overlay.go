package sdk

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// Partners' offers. If members share pairwise noise with partners ([Privacy].Partners), each member needs the offers of
// all members, which neighbors relay. A member signs its offer for one fleet, so a relay can withhold the offer but
// cannot alter it or use it elsewhere.
//
// A node reports to a neighbor which offers it holds, and sends up to [signed.MaxOffers] offers that the neighbor
// lacks. It does both when the neighbor starts, when the node itself learns an offer, in answer to offers, when the two
// nodes hold different offers, and at a tick. No offer is sent twice between two ticks.
//
// Before a node first draws noise, it waits for the offers of all its partners. Only [Config].Without makes a node give
// up on a partner that is not a neighbor. [Config].Patience does not: members on the path between the node and the
// partner might withhold the partner's offer, so silence proves nothing about the partner. Once the node has drawn
// noise, it shares noise with each partner in all releases, even if the partner is gone. Noise that no partner
// subtracts protects the node equally well; see PROOF.md in dpmech, part 3, section 4.

// relays records which offers each neighbor holds. Only the goroutine of Run may use it.
type relays struct {
	partners []int
	theirs   map[int][]uint8 // by neighbor and member: the device whose offer the neighbor holds, see trust.Secrets.Holds
	sent     map[int][]uint8 // by neighbor and member: the offers sent since the last tick
	asked    map[int]bool    // neighbors that already have this node's report
	process  map[int]uint64  // by neighbor: the process that sent its last probe
	doubles  map[int]bool    // members whose second offer was logged
}

func newRelays(partners []int) *relays {
	return &relays{partners: partners, theirs: map[int][]uint8{}, sent: map[int][]uint8{}, asked: map[int]bool{},
		process: map[int]uint64{}, doubles: map[int]bool{}}
}

// missing returns the partners whose offers have not yet arrived.
func (n *Node) missing() (list []int) {
	if n.relays == nil || n.secrets.Kept == nil {
		return nil
	}
	for _, j := range n.relays.partners {
		name := n.cfg.Fleet.Members[j]
		given := n.cases[j] != nil || slices.Contains(n.cfg.Without, name)
		if device, _ := n.secrets.Holds(n.claims, name); device == 0 && !given {
			list = append(list, j)
		}
	}
	return list
}

// paired is the callback [admm.Config].Paired. It reports whether a release can be made without waiting for offers.
// Only a device's first release waits for offers.
func (n *Node) paired(release int) bool {
	return n.secrets.Kept == nil || release != n.secrets.Kept.From || len(n.missing()) == 0
}

// awaitKeys appends to names the partners whose missing offers delay the device's first release.
func (n *Node) awaitKeys(names []string) []string {
	if n.relays == nil || n.secrets.Kept == nil || n.machine.Status().Round+1 != n.secrets.Kept.From {
		return names
	}
	for _, j := range n.missing() {
		if name := n.cfg.Fleet.Members[j]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// relay reports to a neighbor which offers this node holds, and includes some offers that the neighbor lacks. If there
// are none to include, relay sends the report only in two cases: answer is true, because the neighbor has just sent
// offers, or this node lacks offers and has not yet reported this to the neighbor.
func (r *run) relay(to int, answer bool) {
	members := r.cfg.Fleet.Members
	if r.cases[to] != nil || r.secrets.Kept == nil {
		return
	}
	if r.relays.sent[to] == nil {
		r.relays.sent[to] = make([]uint8, len(members))
	}
	theirs, sent := r.relays.theirs[to], r.relays.sent[to]
	mine, lacks := make([]uint8, len(members)), false
	m := &admm.Message{Kind: admm.Relay}
	for i, name := range members {
		device, offer := r.secrets.Holds(r.claims, name)
		held := uint8(0)
		if theirs != nil {
			held = theirs[i]
		}
		lacks = lacks || device == 0 || device < held
		if mine[i] = device; device > max(held, sent[i]) && len(m.Signed.Relayed) < signed.MaxOffers*signed.RelayedSize {
			one := signed.Relayed{Member: i, Statement: offer}
			m.Signed.Relayed, sent[i] = one.Append(m.Signed.Relayed), device
		}
	}
	if len(m.Signed.Relayed) == 0 && !answer && (!lacks || r.relays.asked[to]) {
		return
	}
	r.relays.asked[to] = true
	m.Signed.Known = trust.PackDevices(mine)
	_ = r.post(to, m) // always within limits
}

// relayTo sends offers to a neighbor whose message m shows that the neighbor has started or has answered this node. If
// fresh is true, m contained a new offer, which relayTo also sends to the other neighbors.
func (r *run) relayTo(m *admm.Message, fresh bool) {
	switch m.Kind {
	case admm.Probe:
		now := signed.PackDevice(m.Epoch, m.Incarnation)
		if before, known := r.relays.process[m.From]; known && before != now { // a new process may lack offers
			delete(r.relays.theirs, m.From)
			delete(r.relays.sent, m.From)
			delete(r.relays.asked, m.From)
		}
		r.relays.process[m.From] = now
		r.relay(m.From, false)
	case admm.ProbeReply:
		r.relay(m.From, false)
	}
	if fresh {
		r.relayOn(m.From)
	}
}

func (r *run) relayOn(from int) {
	for _, j := range r.neighbors {
		if j != from {
			r.relay(j, false)
		}
	}
}

func (r *run) takeRelay(m *admm.Message) error {
	members := r.cfg.Fleet.Members
	if r.relays == nil || r.outbox[m.From] == nil {
		return errors.New("sdk: unexpected offers: the sender is not a neighbor, or only neighbors share noise in this fleet")
	}
	theirs, err := trust.ParseDevices(m.Signed.Known, len(members))
	if err != nil || r.secrets.Kept == nil {
		return err
	}
	r.relays.theirs[m.From] = theirs
	learned := false
	for b := range slices.Chunk(m.Signed.Relayed, signed.RelayedSize) {
		o, wrong := signed.ParseRelayed(b, signed.Offer)
		switch {
		case wrong == nil && o.Member >= len(members):
			wrong = fmt.Errorf("sdk: found an offer from member %d, want 0..%d", o.Member, len(members)-1)
		case wrong == nil:
			var fresh bool
			fresh, wrong = r.secrets.Relayed(r.claims, members[o.Member], o.Statement, r.cfg.Fleet.Method.Last())
			learned = learned || fresh
		}
		if errors.As(wrong, new(trust.Fork)) { // the member that made two offers is to blame, not the sender
			if !r.relays.doubles[o.Member] {
				r.relays.doubles[o.Member] = true
				r.log.Error("a device offered two different keys", "member", members[o.Member], "err", wrong)
			}
			continue
		}
		err = errors.Join(err, wrong)
	}
	if learned {
		delete(r.relays.asked, m.From)
		r.relayOn(m.From)
	}
	r.relay(m.From, len(m.Signed.Relayed) > 0)
	return err
}

// relayAgain is called at a tick, and repeats offers that may have been lost. At a tick without progress (still), it
// also asks for missing offers.
func (r *run) relayAgain(still bool) {
	if r.relays == nil || r.joining != nil {
		return
	}
	if clear(r.relays.sent); still {
		clear(r.relays.asked)
	}
	for _, j := range r.neighbors {
		r.relay(j, false)
	}
}
