package trust

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Secrets is what a member agrees on with its neighbors, to draw the same noise. Store it whenever Changed.
type Secrets struct {
	Kept    *pair.Kept // nil before a takeover, and once the run is over
	Offer   []byte     // what neighbors are told; there exactly if Kept is
	Changed bool       // since it was last kept
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
		case release > 0:
			return nil, Fork{fmt.Errorf("trust: epoch %d of %q offers another key than before: it has a double, or has lost its "+
				"secrets", o.Epoch, peer.Name)}
		}
	}
	_, err = pair.Agree(s.Kept.Private, l.Name, o.Value, peer.Name, s.Kept.Fleet)
	return &o, err
}
