package sdk

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// secrets is what a node agrees on with its neighbors. It is kept beside the states: after a restart a device has to draw
// what its neighbors draw. It belongs to the goroutine of Run.
type secrets struct {
	kept    *pair.Kept // nil before a takeover, and once the run is over
	offer   []byte     // what neighbors are told; there exactly if kept is
	changed bool       // since it was last kept
}

// keyUsed is told of every key that noise is made of, in tests.
var keyUsed func(n *Node, neighbor string, release int, key [32]byte)

// pairKey is [admm.Config].PairKey.
func (n *Node) pairKey(peer, release int) (key [32]byte, ok bool) {
	neighbor := n.cfg.Fleet.Members[peer]
	var s pair.Secret
	if n.secrets == nil {
		s, ok = n.cfg.Secret(neighbor), true
	} else if n.secrets.kept != nil {
		s, ok = n.secrets.kept.Secret(neighbor, release)
	}
	if !ok {
		n.log.Warn("no secret with a neighbor counts for this release: it shares noise with nobody", "release", release,
			"neighbor", neighbor)
		return key, false
	}
	key = s.Key(n.hash, release)
	if keyUsed != nil {
		keyUsed(n, neighbor, release, key)
	}
	return key, true
}

// loadSecrets takes over what was kept with the state of a release, or, before the first one, makes a new key pair.
func (n *Node) loadSecrets(release int) error {
	s := n.secrets
	if s == nil {
		return nil
	}
	if n.cfg.Store != nil {
		text, err := n.cfg.Store.Kept(state.SecretsName)
		var k *pair.Kept
		if err == nil && text != nil {
			k, err = pair.ParseKept(text)
		}
		if err != nil {
			return err
		}
		if k != nil && k.Fleet == n.hash && k.Member == n.cfg.Name && k.Epoch == n.epoch {
			s.kept = k
			n.sealOffer()
			return n.retireSecrets(release)
		}
	}
	switch {
	case n.machine.Alone() || release == n.method().Last(): // they were removed, and are not needed
		return nil
	case release == 0:
		return n.newSecrets(1)
	}
	return fmt.Errorf("sdk: stored state of release %d: the secrets of its run are not beside it, and no neighbor takes new "+
		"ones of this device: bring them back, or let the device take the place of a lost one, in an empty folder", release)
}

// newSecrets makes a key pair for the releases from one on, and keeps it: no neighbor has heard of it before.
func (n *Node) newSecrets(from int) error {
	if n.secrets == nil {
		return nil
	}
	private, err := pair.NewPrivate()
	if err != nil {
		return err
	}
	n.secrets.kept = &pair.Kept{Fleet: n.hash, Member: n.cfg.Name, Epoch: n.epoch, From: from,
		Public: [32]byte(private.PublicKey().Bytes()), Private: private}
	n.secrets.changed = true
	n.sealOffer()
	return n.keepSecrets()
}

// sealOffer signs what neighbors are told, with the key that the member has now.
func (n *Node) sealOffer() {
	o := n.secrets.kept.Offer()
	if n.claims.Signing() {
		o.Sign(n.claims.Key, n.claims.Scope)
	}
	n.secrets.offer = o.Append(nil)
}

// keepSecrets makes durable what neighbors have offered, before a release rests on it.
func (n *Node) keepSecrets() error {
	s := n.secrets
	if s == nil || !s.changed || n.cfg.Store == nil {
		return nil
	}
	text, err := s.kept.Encode()
	if err == nil {
		err = n.cfg.Store.Keep(state.SecretsName, text)
	}
	if err != nil {
		return fmt.Errorf("sdk: the secrets of the run cannot be stored: %w", err)
	}
	s.changed = false
	return nil
}

// retireSecrets forgets the private key once the last release that it makes noise for is stored and marked. Neighbors
// that are behind are still told the public one.
func (n *Node) retireSecrets(release int) error {
	s, m := n.secrets, n.method()
	if s == nil || s.kept == nil || s.kept.Private == nil || m.Data(release) < m.Rounds {
		return nil
	}
	s.kept.Private, s.changed = nil, true
	return n.keepSecrets()
}

// dropSecrets forgets the secrets of a run that is over for this node and its neighbors, or that it can never continue.
func (n *Node) dropSecrets() {
	s := n.secrets
	if s == nil {
		return
	}
	if *s = (secrets{}); n.cfg.Store == nil {
		return
	}
	if err := n.cfg.Store.Keep(state.SecretsName, nil); err != nil {
		n.log.Error("the secrets of the run are not needed any more, and cannot be removed", "err", err)
	}
}

// attach adds to a message what proves it, what the node offers, and what stops it knows of.
func (n *Node) attach(m *admm.Message) {
	n.claims.Attach(m)
	n.attachStops(m)
	if n.secrets != nil && (m.Kind == admm.Probe || m.Kind == admm.ProbeReply || m.Kind == admm.Start) {
		m.Signed.Offer = n.secrets.offer
	}
}

// offered checks what a neighbor offers. It returns nil if a message offers nothing that is new and counts.
func (r *run) offered(m *admm.Message) (*signed.Statement, error) {
	probe := m.Kind == admm.Probe || m.Kind == admm.Start // whose Epoch is the sender's
	switch {
	case r.secrets == nil || r.secrets.kept == nil || r.secrets.kept.Private == nil || !probe && m.Kind != admm.ProbeReply:
		return nil, nil
	case probe && m.Epoch < r.machine.Epoch(m.From): // a device that another has replaced is told so
		return nil, nil
	case !probe && (m.Epoch != r.epoch || m.Incarnation != r.claims.Incarnation): // it was not checked
		return nil, nil
	case len(m.Signed.Offer) == 0 && (!probe || m.Round >= r.method().Last()):
		return nil, nil // whose run is over has none any more
	}
	peer := r.claims.Peers[m.From]
	if peer == nil {
		return nil, nil
	}
	o, err := signed.Parse(m.Signed.Offer, signed.Offer)
	if err != nil {
		return nil, fmt.Errorf("sdk: the members share noise, and %q offers no key for it: %w", peer.Name, err)
	}
	if r.claims.Signing() {
		if err := o.Verify(peer.Scope, r.claims.Keys(peer.Name)); err != nil {
			return nil, err
		}
	}
	known := r.secrets.kept.Peers[peer.Name]
	if n := len(known); n > 0 && o.Epoch < known[n-1].Epoch {
		return nil, nil
	}
	if probe && o.Epoch != m.Epoch {
		return nil, fmt.Errorf("sdk: the sender is epoch %d, and offers a key of epoch %d", m.Epoch,
			o.Epoch)
	}
	// A device that took over after some release begins with the next one.
	if least, most := 2, m.Round+1; o.Epoch == 0 && o.Round != 1 || o.Epoch > 0 && (o.Round < least || o.Round > most) {
		return nil, fmt.Errorf("sdk: epoch %d of %q offers a key from release %d on, want 1 of epoch 0, and %d to %d "+
			"of another", o.Epoch, peer.Name, o.Round, least, most)
	}
	for i := range known {
		if old := &known[i]; old.Epoch == o.Epoch {
			if old.Round == o.Round && old.Value == o.Value {
				return nil, nil
			}
			if m.Round > 0 || r.machine.Heard(m.From) > 0 {
				r.correct(m.From, peer) // a device that has lost all that it was is shown what it has released, and ends
				return nil, fmt.Errorf("sdk: epoch %d of %q offers another key than before: it has a double, or has lost its "+
					"secrets", o.Epoch, peer.Name)
			}
		}
	}
	_, err = pair.Agree(r.secrets.kept.Private, r.cfg.Name, o.Value, peer.Name, r.hash)
	return &o, err
}

// learn takes in what a neighbor offers.
func (r *run) learn(neighbor string, o *signed.Statement) {
	if o != nil {
		r.secrets.kept.Add(neighbor, *o)
		r.secrets.changed = true
	}
}
