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

// Fork reports that two devices share one epoch: a release does not continue the sender's previous release, or a device
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
	if r.Epoch > admm.MaxTakeovers {
		return nil, fmt.Errorf("trust: signed release %d has epoch %d, want at most %d", r.Round, r.Epoch, admm.MaxTakeovers)
	}
	for i := range peer.Held {
		if before := &peer.Held[i]; before.Contradicts(&r) {
			return nil, &Contradiction{signed.NewEvidence(peer.Name, before, &r)}
		}
	}
	follows := func(r, before *signed.Statement) bool {
		return r.Epoch != before.Epoch || r.Prev == before.ID(peer.Scope)
	}
	if before := peer.Held.Of(r.Round - 1); before != nil && !follows(&r, before) {
		return nil, Fork{fmt.Errorf("trust: signed release %d does not continue the sender's signed release %d", r.Round, before.Round)}
	}
	if after := peer.Held.Of(r.Round + 1); after != nil && !follows(after, &r) {
		return nil, fmt.Errorf("trust: signed release %d differs from the release that the sender's signed release "+
			"%d continues", r.Round, after.Round)
	}
	peer.Held = peer.Held.Add(r)
	return &r, nil
}

// Release checks the signature of the release in m. outdated reports whether the device that made the release has been
// replaced.
func (l *Log) Release(peer *Peer, m *admm.Message) (outdated bool, err error) {
	if len(m.Signed.Own) == 0 {
		return false, fmt.Errorf("trust: release %d is not signed, want the signature of %q", m.Round, peer.Name)
	}
	r, err := signed.Parse(m.Signed.Own, signed.Release)
	if err != nil {
		return false, err
	}
	if r.Round != m.Round || m.Kind == admm.Release && signed.Digest(m.Vector, m.Grid) != r.Value {
		return false, fmt.Errorf("trust: the content of release %d differs from the content that the sender has signed as release %d",
			m.Round, r.Round)
	}
	took, err := l.theirs(peer, m.Signed.Own)
	if err != nil {
		return false, err
	}
	return took.Epoch < peer.Held.Last().Epoch, nil
}

// Proof parses and checks the proof in m that the sender holds a release of this node: that release, or a later one, with
// this node's signature. held is the number of the release that the sender claims to hold. Proof returns nil if m has no
// proof and held is 0.
func (l *Log) Proof(m *admm.Message, held int) (*signed.Statement, error) {
	var r signed.Statement
	if len(m.Signed.Proof) > 0 {
		var err error
		if r, err = signed.Parse(m.Signed.Proof, signed.Release); err == nil && !slices.Contains(l.Own, r) {
			err = r.Verify(l.Scope, l.Keys(l.Name))
		}
		if err != nil {
			return nil, fmt.Errorf("trust: the sender claims to hold release %d of this node, but the proof is not valid: %w", held, err)
		}
	} else if held == 0 {
		return nil, nil
	}
	if r.Round < held {
		return nil, fmt.Errorf("trust: the sender claims to hold release %d of this node, but shows no signature of that release", held)
	}
	return &r, nil
}

// Stands compares the sender's claims with the sender's own signed release in m, and returns this release. The claims
// are the number of releases that the sender has made, its model and, if epoch is true, its epoch. A model on a grid is
// not compared, because the sender signs only the change.
func (l *Log) Stands(peer *Peer, m *admm.Message, epoch bool) (*signed.Statement, error) {
	if len(m.Signed.Own) == 0 {
		return nil, fmt.Errorf("trust: %q claims to be at epoch %d and to have made release %d, but shows no "+
			"signature of that release", peer.Name, m.Epoch, m.Round)
	}
	own, err := l.theirs(peer, m.Signed.Own)
	switch {
	case err != nil:
	case own.Round != m.Round:
		err = fmt.Errorf("trust: %q claims to have made release %d, but has signed release %d", peer.Name, m.Round, own.Round)
	case len(m.Vector) > 0 && own.Value != signed.Digest(m.Vector, nil):
		err = fmt.Errorf("trust: the model of %q after release %d differs from the model that %[1]q has signed", peer.Name, m.Round)
	case epoch && own.Epoch != m.Epoch:
		err = fmt.Errorf("trust: %q claims to be at epoch %d, but has signed release %d in epoch %d",
			peer.Name, m.Epoch, own.Round, own.Epoch)
	}
	return own, err
}

// Standing checks the proofs in a neighbor's answer to a replacement device.
func (l *Log) Standing(peer *Peer, m *admm.Message) error {
	if m.Round > 0 {
		if _, err := l.Stands(peer, m, false); err != nil {
			return err
		}
	}
	shown, err := l.Proof(m, m.Held)
	if err == nil && m.Epoch > 0 && (shown == nil || shown.Epoch < m.Epoch) {
		err = fmt.Errorf("trust: %q claims that this device was replaced %d times, but shows no signature that proves it",
			peer.Name, m.Epoch)
	}
	return err
}

// Start checks the proof in a Start message. recovered is the release after which this node replaced a lost device, or
// 0 if it did not.
func (l *Log) Start(peer *Peer, m *admm.Message, recovered int) error {
	own, err := l.Stands(peer, m, true)
	if err != nil {
		return err
	}
	if m.Epoch > 0 && recovered != m.Round && own.Value != signed.Digest(m.Vector, m.Grid) {
		return fmt.Errorf("trust: %q starts after release %d from a model that differs from the model signed by %[1]q", peer.Name, m.Round)
	}
	return nil
}
