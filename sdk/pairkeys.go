package sdk

import (
	"crypto/ecdh"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// A run with pairwise noise uses one X25519 key of each member, listed in [Fleet].PairKeys and thus covered by the
// fleet's hash. A node takes the private half from [Config].PairKeys when it starts, binds the key to the run before
// the first release, and deletes the private half after the last release with noise. So any two members share a secret
// without a message, and a thief learns nothing of finished runs.

// secrets are the secrets of pairwise noise that a node shares with other members.
type secrets struct {
	cfg   *Config
	of    map[int]pair.Secret // by member; nil without [Config].PairKeys, and once not needed
	bound bool                // this process has bound the one-time key to the run
}

// keyUsed is a test hook. If it is not nil, it is called with every pairwise-noise key that a node uses.
var keyUsed func(member, neighbor string, release int, key [32]byte)

// key implements [admm.Config].PairKey: it returns the key of the pairwise noise that this node and another member use
// in a release.
func (s *secrets) key(peer, release int) [32]byte {
	neighbor, secret := s.cfg.plan.fleet.Members[peer], s.of[peer]
	if s.cfg.Secret != nil {
		secret = s.cfg.Secret(neighbor)
	}
	key := secret.Key(s.cfg.plan.hash(), release)
	if keyUsed != nil {
		keyUsed(s.cfg.Name, neighbor, release, key)
	}
	return key
}

// agrees reports whether this node derives the secrets of pairwise noise from one-time keys.
func (c *Config) agrees() bool { return c.plan.fleet.Privacy.PairSigma > 0 && c.Secret == nil }

// public returns the public half of this member's one-time key.
func (c *Config) public() pair.Public {
	return c.plan.fleet.PairKeys[c.plan.number[c.Name]]
}

// findPair returns the private half of this member's one-time key, for the releases after the given one.
func (c *Config) findPair(release int) (*ecdh.PrivateKey, error) {
	private, err := c.PairKeys.Find(c.public(), c.plan.hash())
	switch {
	case err != nil:
		err = fmt.Errorf("sdk: %q cannot share noise in this run: %w", c.Name, err)
	case private == nil:
		err = fmt.Errorf("sdk: the private half of the one-time key %v was deleted, as after the last release with noise, "+
			"but the stored state ends with release %d: %w", c.public(), release, state.ErrRollback)
	}
	return private, err
}

// loadSecrets computes the secrets that this node shares with its partners, for the rest of the run. If nothing is left
// that needs them, it deletes the private half, which the last process may have left.
func (n *Node) loadSecrets() error {
	s, p, release := n.secrets, n.cfg.plan, n.machine.Status().Round
	switch {
	case !n.cfg.agrees():
		return nil
	case n.machine.Alone() || n.cfg.quiet(release):
		return s.delete()
	}
	private, err := n.cfg.findPair(release)
	if err != nil {
		return err
	}
	s.of = map[int]pair.Secret{}
	for _, j := range p.noise.Neighbors(n.peer(n.cfg.Name)) {
		if s.of[j], err = pair.Agree(private, n.cfg.Name, p.fleet.PairKeys[j], p.fleet.Members[j], p.hash()); err != nil {
			return fmt.Errorf("sdk: %w", err)
		}
	}
	return nil
}

// bind durably binds the one-time key to this run. Call it before making the first release that depends on it.
func (s *secrets) bind() error {
	if s.of == nil || s.bound {
		return nil
	}
	if err := s.cfg.PairKeys.Bind(s.cfg.public(), s.cfg.plan.hash()); err != nil {
		return fmt.Errorf("sdk: the next release was not made: %w", err)
	}
	s.bound = true
	return nil
}

// made takes note of a release that is stored: after the last one with noise, it deletes the private half.
func (s *secrets) made(release int) error {
	if s.of == nil || !s.cfg.quiet(release) {
		return nil
	}
	return s.delete()
}

// delete deletes the private half of the one-time key of a run that no longer needs it, or can never continue.
func (s *secrets) delete() error {
	if !s.cfg.agrees() {
		return nil
	}
	clear(s.of)
	s.of = nil
	if err := s.cfg.PairKeys.Delete(s.cfg.public(), s.cfg.plan.hash()); err != nil && !errors.Is(err, pair.ErrMissing) {
		return fmt.Errorf("sdk: the private half of a one-time key that is no longer needed was not deleted: %w", err)
	}
	return nil
}

// drop is delete for a run that ends with another error.
func (s *secrets) drop(log *slog.Logger) {
	if err := s.delete(); err != nil {
		log.Error("a private key is left on the disk; delete it", "err", err)
	}
}
