package trust

import (
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Secrets is what a member agrees on with others, to draw the same noise. Store it whenever Changed.
type Secrets struct {
	Kept    *pair.Kept // nil before a takeover, and once the run is over
	Offer   []byte     // what neighbors are told; there exactly if Kept is
	Changed bool       // since it was last kept
	// Relays says that members pass on each other's offers. The first offer of a device then counts for the whole run: others
	// may have used it already.
	Relays bool
}

// Set takes over what was kept, and signs what neighbors are told with the key that the member has now.
func (s *Secrets) Set(l *Log, k *pair.Kept) {
	o := k.Offer()
	if l.Signing() {
		o.Sign(l.Key, l.Scope)
	}
	s.Kept, s.Offer = k, o.Append(nil)
}

// New makes a key pair for the releases from one on. No neighbor may hear of it before it is kept.
func (s *Secrets) New(l *Log, fleet [32]byte, from int) error {
	private, err := pair.NewPrivate()
	if err != nil {
		return err
	}
	s.Set(l, &pair.Kept{Fleet: fleet, Member: l.Name, Epoch: l.Epoch, From: from,
		Public: [32]byte(private.PublicKey().Bytes()), Private: private})
	s.Changed = true
	return nil
}

// Offers reports whether messages of a kind carry an offer.
func Offers(kind admm.Kind) bool {
	return kind == admm.Probe || kind == admm.ProbeReply || kind == admm.Start
}

// Check checks what a neighbor offers in a message, which is a probe or a start of its present epoch, or an answer to this
// incarnation. release is the last one that either end has heard of the other, 0 for none. It returns nil if the offer is
// not new, and a [Fork] if the neighbor has offered another key before.
func (s *Secrets) Check(l *Log, peer *Peer, m *admm.Message, release int) (*signed.Statement, error) {
	o, err := signed.Parse(m.Signed.Offer, signed.Offer)
	if err != nil {
		return nil, fmt.Errorf("trust: the members share noise, and %q offers no key for it: %w", peer.Name, err)
	}
	if l.Signing() {
		if err := o.Verify(peer.Scope, l.Keys(peer.Name)); err != nil {
			return nil, err
		}
	}
	known := s.Kept.Peers[peer.Name]
	if n := len(known); n > 0 && o.Epoch < known[n-1].Epoch {
		return nil, nil
	}
	if m.Kind != admm.ProbeReply && o.Epoch != m.Epoch {
		return nil, fmt.Errorf("trust: the sender is epoch %d, and offers a key of epoch %d", m.Epoch, o.Epoch)
	}
	// A device that took over after some release begins with the next one.
	if least, most := 2, m.Round+1; o.Epoch == 0 && o.Round != 1 || o.Epoch > 0 && (o.Round < least || o.Round > most) {
		return nil, fmt.Errorf("trust: epoch %d of %q offers a key from release %d on, want 1 of epoch 0, and %d to %d "+
			"of another", o.Epoch, peer.Name, o.Round, least, most)
	}
	for i := range known {
		switch old := &known[i]; {
		case old.Epoch != o.Epoch:
		case old.Round == o.Round && old.Value == o.Value:
			return nil, nil
		case release > 0 || s.Relays:
			return nil, Fork{fmt.Errorf("trust: epoch %d of %q offers another key than before: it has a double, or has lost its "+
				"secrets", o.Epoch, peer.Name)}
		}
	}
	_, err = pair.Agree(s.Kept.Private, l.Name, o.Value, peer.Name, s.Kept.Fleet)
	return &o, err
}

// Relayed takes in an offer of any other member that a neighbor passes on, in a run whose last release is last.
// It reports whether the offer is new. A second, different offer of one device is refused with a [Fork], which is not the
// fault of the neighbor.
func (s *Secrets) Relayed(l *Log, member string, o signed.Statement, last int) (fresh bool, err error) {
	known := s.Kept.Peers[member]
	if n := len(known); member == l.Name || n > 0 && o.Epoch < known[n-1].Epoch || slices.Contains(known, o) {
		return false, nil
	}
	if err := o.Verify(signed.NewScope(l.Run, s.Kept.Fleet, member), l.Keys(member)); err != nil {
		return false, err
	}
	least, most := 1, 1
	if o.Epoch > 0 { // a device that took over after some release begins with the next one
		least, most = 2, last+1
	}
	if o.Epoch > admm.MaxTakeovers || o.Round < least || o.Round > most {
		return false, fmt.Errorf("trust: an offer of epoch %d of %q is from release %d on, want %d to %d, and at most epoch %d", o.Epoch,
			member, o.Round, least, most, admm.MaxTakeovers)
	}
	for i := range known {
		switch old := &known[i]; {
		case old.Epoch != o.Epoch:
		case old.Round != o.Round || old.Value != o.Value:
			return false, Fork{fmt.Errorf("trust: epoch %d of %q has signed two offers of different keys: it has a double, or has lost its "+
				"secrets; the first one counts", o.Epoch, member)}
		default: // the same key, signed by another key of the member
			old.Signature, s.Changed = o.Signature, true
			return false, nil
		}
	}
	if s.Kept.Private != nil { // nil: this member needs no more keys, and others may
		if _, err := pair.Agree(s.Kept.Private, l.Name, o.Value, member, s.Kept.Fleet); err != nil {
			return false, err
		}
	}
	s.Kept.Add(member, o)
	s.Changed = true
	return true, nil
}

// Holds returns which device of a member has made the offer that counts, counted from 1, and the offer; 0 for none.
func (s *Secrets) Holds(l *Log, member string) (device uint8, o signed.Statement) {
	if s.Kept == nil {
		return 0, o
	}
	if member == l.Name {
		o, _ = signed.Parse(s.Offer, signed.Offer) // it is there, see Set
		return uint8(o.Epoch) + 1, o
	}
	if known := s.Kept.Peers[member]; len(known) > 0 {
		o = known[len(known)-1]
		return uint8(o.Epoch) + 1, o
	}
	return 0, o
}
