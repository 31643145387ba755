package sdk

import (
	"crypto/ecdh"
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// A run with pairwise noise uses one X25519 key of each member, listed in [Fleet].PairKeys and thus covered by the
// fleet's hash. A node takes the private half from [Config].PairKeys when it starts, binds the key to the run before
// the first release, and deletes the private half after the last release with noise. So any two members share a secret
// without a message, and a thief learns nothing of finished runs.

// keyUsed is a test hook. If it is not nil, it is called with every pairwise-noise key that a node uses.
var keyUsed func(n *Node, neighbor string, release int, key [32]byte)

// pairKey implements [admm.Config].PairKey: it returns the key of the pairwise noise that this node and another member
// use in a release.
func (n *Node) pairKey(peer, release int) [32]byte {
	neighbor, s := n.fleet.Members[peer], n.shared[peer]
	if n.cfg.Secret != nil {
		s = n.cfg.Secret(neighbor)
	}
	key := s.Key(n.hash, release)
	if keyUsed != nil {
		keyUsed(n, neighbor, release, key)
	}
	return key
}

// agrees reports whether this node derives the secrets of pairwise noise from one-time keys.
func (c *Config) agrees() bool { return c.plan.fleet.Privacy.PairSigma > 0 && c.Secret == nil }

// public returns the public half of this member's one-time key.
func (c *Config) public() pair.Public {
	return c.plan.fleet.PairKeys[slices.Index(c.plan.fleet.Members, c.Name)]
}

// findPair returns the private half of this member's one-time key, for the releases after the given one.
func (c *Config) findPair(hash [32]byte, release int) (*ecdh.PrivateKey, error) {
	private, err := c.PairKeys.Find(c.public(), hash)
	switch {
	case err != nil:
		err = fmt.Errorf("sdk: %q cannot share noise in this run: %w", c.Name, err)
	case private == nil:
		err = fmt.Errorf("sdk: the private half of the one-time key %v was deleted, as after the last release with noise, "+
			"but the stored state ends with release %d: %w", c.public(), release, state.ErrRollback)
	}
	return private, err
}

// loadPair computes the secrets that this node shares with other members, unless the run needs them no more.
func (n *Node) loadPair() error {
	if !n.cfg.agrees() {
		return nil
	}
	release := n.machine.Status().Round
	if n.machine.Alone() || n.quiet(release) {
		return n.deletePair()
	}
	private, err := n.cfg.findPair(n.hash, release)
	if err != nil {
		return err
	}
	n.shared = map[int]pair.Secret{}
	for _, j := range n.plan.noise.Neighbors(n.number[n.cfg.Name]) {
		f := n.fleet
		if n.shared[j], err = pair.Agree(private, n.cfg.Name, f.PairKeys[j], f.Members[j], n.hash); err != nil {
			return fmt.Errorf("sdk: %w", err)
		}
	}
	return nil
}

// quiet reports whether all releases after the given one have no noise.
func (n *Node) quiet(release int) bool {
	m := n.fleet.Method
	return m.Data(release) >= m.Rounds
}

// bindPair durably binds the one-time key to this run. Call it before making the first release that depends on it.
func (n *Node) bindPair() error {
	if n.shared == nil || n.bound {
		return nil
	}
	if err := n.cfg.PairKeys.Bind(n.cfg.public(), n.hash); err != nil {
		return fmt.Errorf("sdk: the next release was not made: %w", err)
	}
	n.bound = true
	return nil
}

// deletePair deletes the private half of the one-time key of a run that needs it no more, or can never continue.
func (n *Node) deletePair() error {
	if !n.cfg.agrees() {
		return nil
	}
	clear(n.shared)
	n.shared = nil
	if err := n.cfg.PairKeys.Delete(n.cfg.public(), n.hash); err != nil && !errors.Is(err, pair.ErrMissing) {
		return fmt.Errorf("sdk: the private half of a one-time key that is no longer needed was not deleted: %w", err)
	}
	return nil
}

// dropPair is deletePair for a run that ends with another error.
func (n *Node) dropPair() {
	if err := n.deletePair(); err != nil {
		n.log.Error("a private key is left on the disk; delete it", "err", err)
	}
}
