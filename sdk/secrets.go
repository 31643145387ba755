package sdk

import (
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// keyUsed is a test hook. If it is not nil, it is called with every pairwise-noise key that a node uses.
var keyUsed func(n *Node, neighbor string, release int, key [32]byte)

// pairKey implements [admm.Config].PairKey: it returns the key of the pairwise noise that this node and another member
// use in a release, or false if no secret is valid for that release.
func (n *Node) pairKey(peer, release int) (key [32]byte, ok bool) {
	neighbor := n.cfg.Fleet.Members[peer]
	var s pair.Secret
	if n.secrets == nil {
		s, ok = n.cfg.Secret(neighbor), true
	} else {
		s, ok = n.secrets.Kept.Secret(neighbor, release)
	}
	if !ok {
		n.log.Warn("no shared secret is valid for this member and release, so the release contains no noise shared "+
			"with the member", "release", release, "member", neighbor)
		return key, false
	}
	key = s.Key(n.hash, release)
	if keyUsed != nil {
		keyUsed(n, neighbor, release, key)
	}
	return key, true
}

// loadSecrets loads the stored secrets. Before the first release, if none are stored, it makes a key pair.
func (n *Node) loadSecrets() error {
	s, release := n.secrets, n.machine.Status().Round
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
		if k != nil && k.Fleet == n.hash && k.Member == n.cfg.Name {
			s.Set(n.claims, k)
			return n.retireSecrets(release)
		}
	}
	switch {
	case n.machine.Alone() || release == n.cfg.Fleet.Method.Last(): // the secrets were deleted
		return nil
	case release == 0:
		return n.newSecrets(1)
	}
	return fmt.Errorf("sdk: stored state of release %d: the secrets of the run are missing, and neighbors accept no "+
		"new secrets from this device: restore the secrets; without them, this device is out of this run", release)
}

// newSecrets makes the key pair for the given release and all later releases, and stores the key pair before the node
// sends the public key.
func (n *Node) newSecrets(from int) error {
	if n.secrets == nil {
		return nil
	}
	if err := n.secrets.New(n.claims, from); err != nil {
		return err
	}
	return n.keepSecrets()
}

// keepSecrets stores the key pair and the other members' offers if any of them has changed. Call it before making a
// release that depends on these secrets.
func (n *Node) keepSecrets() error {
	s := n.secrets
	if s == nil || !s.Changed || n.cfg.Store == nil {
		return nil
	}
	text, err := s.Kept.Encode()
	if err == nil {
		err = n.cfg.Store.Keep(state.SecretsName, text)
	}
	if err != nil {
		return fmt.Errorf("sdk: cannot store the secrets of the run: %w", err)
	}
	s.Changed = false
	return nil
}

// retireSecrets deletes the private key, but not the public key, once the last release whose noise needs the private
// key is marked as possibly sent.
func (n *Node) retireSecrets(release int) error {
	if m := n.cfg.Fleet.Method; n.secrets == nil || m.Data(release) < m.Rounds {
		return nil
	}
	if k := n.secrets.Kept; k != nil && k.Private != nil {
		k.Private, n.secrets.Changed = nil, true
	}
	return n.keepSecrets()
}

// dropSecrets deletes the secrets of a run that is over or can never continue.
func (n *Node) dropSecrets() {
	s := n.secrets
	if s == nil {
		return
	}
	if *s = (trust.Secrets{}); n.cfg.Store == nil {
		return
	}
	if err := n.cfg.Store.Keep(state.SecretsName, nil); err != nil {
		n.log.Error("the secrets of the run, which are no longer needed, cannot be deleted", "err", err)
	}
}

// attach adds to a message the signed statements that prove its claims, and the node's offer if messages of this kind carry offers.
func (n *Node) attach(m *admm.Message) {
	n.claims.Attach(m)
	if n.secrets != nil && n.secrets.Kept != nil && trust.Offers(m.Kind) {
		m.Signed.Offer = n.secrets.Kept.Own.Append(nil)
	}
}

// offered checks the offer in a neighbor's message and returns it. It returns nil if the message has no offer, or an
// offer that this node does not use.
func (r *run) offered(m *admm.Message) (*signed.Statement, error) {
	peer, probe := r.claims.Peers[m.From], m.Kind != admm.ProbeReply
	switch {
	case r.secrets == nil || r.secrets.Kept == nil || r.secrets.Kept.Private == nil || !trust.Offers(m.Kind):
		return nil, nil
	case !probe && m.Incarnation != r.claims.Incarnation, // unverified
		len(m.Signed.Offer) == 0 && (!probe || m.Round >= r.cfg.Fleet.Method.Last()): // the sender's run is over
		return nil, nil
	}
	o, err := r.secrets.Check(r.claims, peer, m, max(m.Round, r.machine.Heard(m.From)))
	if errors.As(err, new(trust.Fork)) {
		r.correct(m.From, peer) // a device that lost its state ends when it sees its own releases
	}
	return o, err
}
