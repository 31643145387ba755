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

// relays records which offers neighbors hold. Only the goroutine of Run may use it.
type relays struct {
	partners []int
	peers    map[int]*relayPeer // by neighbor
	doubles  map[int]bool       // members whose second offer was logged
}

type relayPeer struct {
	theirs  []uint8 // by member: the device whose offer the neighbor holds, see trust.Secrets.Holds
	sent    []uint8 // by member: the offers sent since the last tick
	asked   bool    // the neighbor already has this node's report
	process uint64  // the process that sent the neighbor's last probe; 0: none
}

func newRelays(members int, partners, neighbors []int) *relays {
	r := &relays{partners: partners, peers: map[int]*relayPeer{}, doubles: map[int]bool{}}
	for _, j := range neighbors {
		r.peers[j] = &relayPeer{theirs: make([]uint8, members), sent: make([]uint8, members)}
	}
	return r
}

// missing returns the partners whose missing offers delay a release. Only a device's first release waits for offers.
func (n *Node) missing(release int) (names []string) {
	if n.relays == nil || n.secrets.Kept == nil || release != n.secrets.Kept.Own.Round {
		return nil
	}
	for _, j := range n.relays.partners {
		name := n.cfg.Fleet.Members[j]
		device, _ := n.secrets.Holds(name)
		if device == 0 && n.cases[j] == nil && !slices.Contains(n.cfg.Without, name) {
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
	p := r.relays.peers[to]
	mine, lacks := make([]uint8, len(members)), false
	m := &admm.Message{Kind: admm.Relay}
	for i, name := range members {
		device, offer := r.secrets.Holds(name)
		lacks = lacks || device == 0 || device < p.theirs[i]
		if mine[i] = device; device > max(p.theirs[i], p.sent[i]) && len(m.Signed.Relayed) < signed.MaxOffers*signed.RelayedSize {
			one := signed.Relayed{Member: i, Statement: offer}
			m.Signed.Relayed, p.sent[i] = one.Append(m.Signed.Relayed), device
		}
	}
	if len(m.Signed.Relayed) == 0 && !answer && (!lacks || p.asked) {
		return
	}
	p.asked = true
	m.Signed.Known = trust.PackDevices(mine)
	_ = r.post(to, m) // always within limits
}

// relayTo sends offers to a neighbor whose message m shows that the neighbor has started or has answered this node. If
// fresh is true, m contained a new offer, which relayTo also sends to the other neighbors.
func (r *run) relayTo(m *admm.Message, fresh bool) {
	switch m.Kind {
	case admm.Probe:
		now := m.Incarnation
		p := r.relays.peers[m.From]
		if p.process != 0 && p.process != now { // a new process may lack offers
			clear(p.theirs)
			clear(p.sent)
			p.asked = false
		}
		p.process = now
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
	if r.relays == nil {
		return errors.New("sdk: unexpected offers: only neighbors share noise in this fleet")
	}
	theirs, err := trust.ParseDevices(m.Signed.Known, len(members))
	if err != nil || r.secrets.Kept == nil {
		return err
	}
	p, learned := r.relays.peers[m.From], false
	p.theirs = theirs
	for b := range slices.Chunk(m.Signed.Relayed, signed.RelayedSize) {
		o, wrong := signed.ParseRelayed(b, signed.Offer)
		switch {
		case wrong == nil && o.Member >= len(members):
			wrong = fmt.Errorf("sdk: found an offer from member %d, want 0..%d", o.Member, len(members)-1)
		case wrong == nil:
			var fresh bool
			fresh, wrong = r.secrets.Relayed(r.claims, members[o.Member], o.Statement)
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
		p.asked = false
		r.relayOn(m.From)
	}
	r.relay(m.From, len(m.Signed.Relayed) > 0)
	return err
}

// relayAgain is called at a tick, and repeats offers that may have been lost. At a tick without progress (still), it
// also asks for missing offers.
func (r *run) relayAgain(still bool) {
	if r.relays == nil {
		return
	}
	for _, j := range r.neighbors {
		p := r.relays.peers[j]
		clear(p.sent)
		p.asked = p.asked && !still
		r.relay(j, false)
	}
}
