package trust

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Secrets holds a member's key pair and the offers of other members, which contain their public keys. Both members of a
// pair derive the same noise from the keys and the offers. Store Secrets whenever Changed is set.
type Secrets struct {
	Kept    *pair.Kept // nil once the run is over
	Changed bool       // the secrets have changed since they were last stored
	Relays  bool       // members relay offers: a device's first offer is final, because other members may have used it
}

// Set restores stored secrets, and signs the offer with the member's current key.
func (s *Secrets) Set(l *Log, k *pair.Kept) {
	if l.Signing() {
		k.Own.Sign(l.Key, l.Scope)
	}
	s.Kept = k
}

// New creates a key pair for all releases from the given release on. Store the Secrets before sending the offer to a
// neighbor.
func (s *Secrets) New(l *Log, from int) error {
	private, err := pair.NewPrivate()
	if err != nil {
		return err
	}
	own := signed.Statement{Kind: signed.Offer, Round: from, Value: [32]byte(private.PublicKey().Bytes())}
	s.Set(l, &pair.Kept{Fleet: l.fleet, Member: l.Name, Own: own, Private: private})
	s.Changed = true
	return nil
}

// Offers reports whether messages of a kind carry an offer.
func Offers(kind admm.Kind) bool {
	return kind == admm.Probe || kind == admm.ProbeReply
}

// Check returns a neighbor's offer, or nil if it is not new. m is a Probe, or an answer to a Probe of
// this incarnation. release is the latest release of either end that has reached the other end,
// or 0 if there is none. If release is above 0, or s.Relays is true, a second key of one device is a [Fork].
func (s *Secrets) Check(l *Log, peer *Peer, m *admm.Message, release int) (*signed.Statement, error) {
	o, err := signed.Parse(m.Signed.Offer, signed.Offer)
	if err != nil {
		return nil, fmt.Errorf("trust: %q offers no valid key for pairwise noise: %w", peer.Name, err)
	}
	if l.Signing() {
		if err := o.Verify(peer.Scope, l.Keys(peer.Name)); err != nil {
			return nil, err
		}
	}
	if fresh, err := s.admit(l, peer.Name, o, release > 0 || s.Relays); !fresh {
		return nil, err
	}
	return &o, nil
}

// Relayed records another member's offer that a neighbor relays, and reports whether the offer is new. A second key of
// one device is a [Fork], for which the relaying neighbor is not to blame.
func (s *Secrets) Relayed(l *Log, member string, o signed.Statement) (fresh bool, err error) {
	if member == l.Name || slices.Contains(s.Kept.Peers[member], o) {
		return false, nil
	}
	if err := o.Verify(l.scope(member), l.Keys(member)); err != nil {
		return false, err
	}
	if fresh, err = s.admit(l, member, o, true); !fresh {
		return false, err
	}
	s.Kept.Add(member, o)
	s.Changed = true
	return true, nil
}

// admit reports whether an offer is new and valid. If fixed is true, only a device's first offer is valid, and a
// different offer is a [Fork].
func (s *Secrets) admit(l *Log, member string, o signed.Statement, fixed bool) (fresh bool, err error) {
	known := s.Kept.Peers[member]
	if o.Round != 1 {
		return false, fmt.Errorf("trust: the offer from %q starts at release %d, want release 1", member, o.Round)
	}
	for i := range known {
		switch old := &known[i]; {
		case old.Value == o.Value: // possibly signed by another key of the member
			s.Changed = s.Changed || old.Signature != o.Signature
			old.Signature = o.Signature
			return false, nil
		case fixed:
			return false, Fork{fmt.Errorf("trust: %q has offered two keys: its device was copied, or has lost its secrets", member)}
		}
	}
	if s.Kept.Private != nil { // nil: this member needs no more keys, but other members may
		_, err = pair.Agree(s.Kept.Private, l.Name, o.Value, member, s.Kept.Fleet)
	}
	return err == nil, err
}

// Holds returns the latest stored offer of a member, and the number, counted from 1, of the device that made the offer.
// If there is no offer, device is 0.
func (s *Secrets) Holds(member string) (device uint8, o signed.Statement) {
	if s.Kept == nil {
		return 0, o
	}
	known := s.Kept.Peers[member]
	if member == s.Kept.Member {
		known = []signed.Statement{s.Kept.Own}
	}
	if len(known) == 0 {
		return 0, o
	}
	o = known[len(known)-1]
	return 1, o
}

// PackDevices encodes the devices that [Secrets.Holds] returns, two bits for each member, starting at the lowest bits
// of the first byte.
func PackDevices(devices []uint8) []byte {
	b := make([]byte, (len(devices)+3)/4)
	for i, d := range devices {
		b[i/4] |= d << (i % 4 * 2)
	}
	return b
}

// ParseDevices parses the output of PackDevices for the given number of members.
func ParseDevices(b []byte, members int) ([]uint8, error) {
	devices := make([]uint8, members)
	for i := range min(members, 4*len(b)) {
		devices[i] = b[i/4] >> (i % 4 * 2) & 3
	}
	if !bytes.Equal(PackDevices(devices), b) {
		return nil, fmt.Errorf("trust: the sender's list of offers, %d bytes, is not a list for %d members", len(b), members)
	}
	return devices, nil
}
