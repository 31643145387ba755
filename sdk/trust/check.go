package trust

import (
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Contradiction is the error for a frame that proves a neighbor's equivocation.
type Contradiction struct{ signed.Evidence }

func (e *Contradiction) Error() string {
	return fmt.Sprintf("trust: signed release %d differs from the release %d that the sender has signed before: "+
		"the sender's device was copied or rolled back", e.Second.Round, e.First.Round)
}

// Fork reports that two devices use one name: a release does not continue the sender's previous release, or a device
// offers a second key.
type Fork struct{ error }

// theirs parses a release b, checks that the peer signed it, and adds it to peer.Held.
func (l *Log) theirs(peer *Peer, b []byte) (*signed.Statement, error) {
	r, err := signed.Parse(b, signed.Release)
	if err != nil {
		return nil, err
	}
	if known := peer.Held.Of(r.Round); known != nil && *known == r {
		return known, nil // already checked
	}
	if err := r.Verify(peer.Scope, l.Keys(peer.Name)); err != nil {
		return nil, err
	}
	for i := range peer.Held {
		if before := &peer.Held[i]; before.Contradicts(&r) {
			return nil, &Contradiction{signed.NewEvidence(peer.Name, before, &r)}
		}
	}
	if before := peer.Held.Of(r.Round - 1); before != nil && r.Prev != before.ID(peer.Scope) {
		return nil, Fork{fmt.Errorf("trust: signed release %d does not continue the sender's signed release %d", r.Round, before.Round)}
	}
	if after := peer.Held.Of(r.Round + 1); after != nil && after.Prev != r.ID(peer.Scope) {
		return nil, fmt.Errorf("trust: signed release %d differs from the release that the sender's signed release "+
			"%d continues", r.Round, after.Round)
	}
	peer.Held = peer.Held.Add(r)
	return &r, nil
}

// Release checks the signature of the release in m.
func (l *Log) Release(peer *Peer, m *admm.Message) error {
	if len(m.Signed.Own) == 0 {
		return fmt.Errorf("trust: release %d is not signed, want the signature of %q", m.Round, peer.Name)
	}
	r, err := signed.Parse(m.Signed.Own, signed.Release)
	if err != nil {
		return err
	}
	if r.Round != m.Round || m.Kind == admm.Release && signed.Digest(m.Vector, m.Grid) != r.Value {
		return fmt.Errorf("trust: the content of release %d differs from the content that the sender has signed as release %d",
			m.Round, r.Round)
	}
	_, err = l.theirs(peer, m.Signed.Own)
	return err
}

// Proof parses and checks the proof in m that the sender holds a release of this node: that release, or a later one, with
// this node's signature. held is the number of the release that the sender claims to hold. Proof returns nil if m has no
// proof and held is 0.
func (l *Log) Proof(m *admm.Message, held int) (*signed.Statement, error) {
	r := new(signed.Statement)
	if len(m.Signed.Proof) > 0 {
		var err error
		if r, err = l.OwnRelease(m.Signed.Proof); err != nil {
			return nil, fmt.Errorf("trust: the sender claims to hold release %d of this node, but the proof is not valid: %w", held, err)
		}
	} else if held == 0 {
		return nil, nil
	}
	if r.Round < held {
		return nil, fmt.Errorf("trust: the sender claims to hold release %d of this node, but shows no signature of that release", held)
	}
	return r, nil
}

// OwnRelease parses a release and checks that one of this member's keys signed it.
func (l *Log) OwnRelease(b []byte) (*signed.Statement, error) {
	r, err := signed.Parse(b, signed.Release)
	if err == nil && !slices.Contains(l.Own, r) {
		err = r.Verify(l.Scope, l.Keys(l.Name))
	}
	return &r, err
}

// Made checks that a probe shows the signed release that the sender claims to have made last.
func (l *Log) Made(peer *Peer, m *admm.Message) error {
	if len(m.Signed.Own) == 0 {
		return fmt.Errorf("trust: %q claims to have made release %d, but shows no signature of that release", peer.Name, m.Round)
	}
	own, err := l.theirs(peer, m.Signed.Own)
	if err == nil && own.Round != m.Round {
		err = fmt.Errorf("trust: %q claims to have made release %d, but has signed release %d", peer.Name, m.Round, own.Round)
	}
	return err
}
