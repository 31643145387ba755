package sdk

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// ErrClone is what an error wraps that says: two different releases of one round have been signed with this node's key. Another device
// works in its name, such as a copy of its folder, and together the two look at the data twice.
var ErrClone = errors.New("another device makes releases in this node's name")

// claims is what a node has signed of its own releases and what it holds of its neighbors': the proof of everything that one member
// says of another's. It belongs to the goroutine of Run, but that seen and each countersign are changed under the node's lock, for Certificate.
type claims struct {
	key   ed25519.PrivateKey // nil: nothing is signed, and what neighbors say is believed and costs nothing
	keys  func(member string) []ed25519.PublicKey
	name  string
	scope signed.Scope
	heads *state.Heads // nil: what neighbors have signed is forgotten with the run

	incarnation uint64
	own         []signed.Release // of the last releases, at most maxHeld, the newest last
	seen        *signed.Release  // the newest that may be seen: its release is kept and marked
	peers       map[int]*peerClaims
}

// peerClaims is what is held of one neighbor.
type peerClaims struct {
	name        string
	scope       signed.Scope
	held        []signed.Release // its latest, at most maxHeld, the newest last
	ledger      []byte           // id of the ledger that it named when it started
	countersign []byte           // of this node's last release
	evidence    *signed.Evidence // of a double of it
	told        bool             // the neighbor has been shown the evidence since the last tick
	corrected   bool             // a device of its name that another has replaced has been told since the last tick
}

// newClaims returns the claims of a node at its start.
func newClaims(cfg *Config, hash [32]byte, incarnation uint64, neighbors []int) *claims {
	f := cfg.Fleet
	c := &claims{key: cfg.Key, keys: cfg.Keys, name: cfg.Name, scope: signed.NewScope(f.Run, hash, cfg.Name), heads: cfg.Heads,
		incarnation: incarnation, peers: make(map[int]*peerClaims)}
	for _, j := range neighbors {
		name := f.Members[j]
		c.peers[j] = &peerClaims{name: name, scope: signed.NewScope(f.Run, hash, name)}
	}
	return c
}

// signing reports whether releases are signed, and claims have to be proved.
func (c *claims) signing() bool { return c.key != nil }

// last returns the newest of some releases, or nil.
func last(held []signed.Release) *signed.Release {
	if len(held) == 0 {
		return nil
	}
	return &held[len(held)-1]
}

// of returns the release of a round, or nil. The newest is looked at first: a device that took over has signed a round again.
func of(held []signed.Release, round int) *signed.Release {
	for i := len(held) - 1; i >= 0; i-- {
		if held[i].Round == round {
			return &held[i]
		}
	}
	return nil
}

// proving returns the release to show to whoever has made some up to held: the newest, or, if a device has taken over that has not come as
// far as the one before, the newest that has.
func proving(releases []signed.Release, held int) *signed.Release {
	for i := len(releases) - 1; i >= 0; i-- {
		if releases[i].Round >= held {
			return &releases[i]
		}
	}
	return last(releases)
}

// maxHeld bounds the releases that are held of a member: the last two, of the lost device too where one took over.
const maxHeld = 4

// add puts a release in its place among those held, of which the newest are kept. One of the same round and generation is replaced: it
// is the same, signed with another key.
func add(held []signed.Release, r signed.Release) []signed.Release {
	held = append(held, r)
	for i := len(held) - 1; i > 0; i-- {
		before := &held[i-1]
		if before.Generation == r.Generation && before.Round == r.Round {
			*before = r
			return append(held[:i], held[i+1:]...)
		}
		if before.Generation < r.Generation || before.Generation == r.Generation && before.Round < r.Round {
			break
		}
		held[i-1], held[i] = held[i], held[i-1]
	}
	return held[max(0, len(held)-maxHeld):]
}

// digestOf returns the digest of a release: of its change on the grid, or of its numbers if it has none.
func digestOf(x []float32, change []int32) [32]byte {
	if len(change) > 0 {
		return signed.DigestGrid(change)
	}
	return signed.DigestVector(x)
}

// sign signs the release behind a state, which follows those that were signed before.
func (c *claims) sign(s *admm.State, generation int, l *state.Ledger) error {
	r := signed.Release{Generation: uint16(generation), Incarnation: c.incarnation, Round: s.Round, Digest: digestOf(s.X, s.Delta)}
	if before := last(c.own); before != nil {
		r.Prev = before.ID(c.scope)
	}
	if l != nil {
		var err error
		if r.Ledger, err = signed.NewHead(l.Head()); err != nil {
			return err
		}
	}
	r.Sign(c.key, c.scope)
	c.own = add(c.own, r)
	return nil
}

// resume takes over what was kept with a state: the node's own release, and the neighbors' latest. A key that was exchanged since then
// signs the release anew.
func (c *claims) resume(cp *wire.Checkpoint, s *admm.State, number map[string]int) error {
	if !c.signing() {
		return nil
	}
	r := signed.Release{Generation: uint16(cp.Device), Incarnation: c.incarnation, Round: s.Round, Digest: digestOf(s.X, s.Delta)}
	if len(cp.Signed) > 0 {
		kept, err := signed.Parse(cp.Signed)
		if err != nil {
			return err
		}
		if kept.Round != r.Round || kept.Digest != r.Digest {
			return fmt.Errorf("sdk: what was signed is release %d, and not the one that is kept", kept.Round)
		}
		r = kept
	}
	if r.Verify(c.scope, publics(c.key)) != nil {
		r.Sign(c.key, c.scope)
	}
	c.own = add(c.own, r)
	for _, e := range cp.Edges {
		peer := c.peers[number[e.Peer]]
		if peer == nil {
			continue
		}
		for b := e.Signed; len(b) > 0; b = b[min(signed.Size, len(b)):] {
			r, err := signed.Parse(b[:min(signed.Size, len(b))])
			if err != nil {
				return fmt.Errorf("neighbor %q: %w", e.Peer, err)
			}
			peer.held = add(peer.held, r)
		}
	}
	return nil
}

// keep adds to a state what is to be kept with it.
func (c *claims) keep(cp *wire.Checkpoint, number map[string]int) {
	if r := last(c.own); r != nil {
		cp.Signed = r.Append(nil)
	}
	for i := range cp.Edges {
		e := &cp.Edges[i]
		held := c.peers[number[e.Peer]].held
		for _, r := range held[max(0, len(held)-2):] {
			e.Signed = r.Append(e.Signed)
		}
	}
}

// attach adds to a frame to a neighbor what proves it.
func (c *claims) attach(f *wire.Frame, to int, l *state.Ledger) {
	peer := c.peers[to]
	if !c.signing() || peer == nil {
		return
	}
	switch f.Kind {
	case wire.Message, wire.Release:
		if r := of(c.own, f.Round); r != nil {
			f.Own = r.Append(nil)
		}
		return
	case wire.Hail:
		if !f.Resent {
			if r := last(c.own); r != nil {
				f.Own = r.Append(nil)
			}
			if l != nil {
				f.Ledger, _ = hex.DecodeString(l.Head().ID)
			}
		} else if scope, r, ok := c.heads.Find(c.keys(peer.name), peer.ledger); ok && (last(peer.held) == nil || r.Ledger.Seq > last(peer.held).Ledger.Seq) {
			f.Other = r.Append(scope[:])
		}
	}
	if r := proving(peer.held, f.Held); r != nil {
		f.Proof = r.Append(nil)
		if f.Kind == wire.Done {
			f.Countersign = r.Countersign(c.key, peer.scope)
		}
	}
}

// contradiction is the error of a frame that shows a neighbor's double.
type contradiction struct{ first, second signed.Release }

func (e *contradiction) Error() string {
	return fmt.Sprintf("sdk: release %d is signed, and is another than the release %d that the sender has signed before: it has a double",
		e.second.Round, e.first.Round)
}

// theirs reads and checks a release that its sender has signed, and takes it in if it is newer than what is held. Nothing else of the
// sender's is believed.
func (c *claims) theirs(peer *peerClaims, b []byte) (*signed.Release, error) {
	r, err := signed.Parse(b)
	if err != nil {
		return nil, err
	}
	known := of(peer.held, r.Round)
	if known != nil && *known == r {
		return known, nil // it has been checked before
	}
	if err := r.Verify(peer.scope, c.keys(peer.name)); err != nil {
		return nil, err
	}
	for i := range peer.held {
		if before := &peer.held[i]; before.Contradicts(&r) {
			return nil, &contradiction{*before, r}
		}
	}
	if before := of(peer.held, r.Round-1); before != nil && before.Generation == r.Generation && r.Prev != before.ID(peer.scope) {
		return nil, fmt.Errorf("sdk: signed release %d does not continue release %d, which the sender has signed", r.Round, before.Round)
	}
	if after := of(peer.held, r.Round+1); after != nil && after.Generation == r.Generation && after.Prev != r.ID(peer.scope) {
		return nil, fmt.Errorf("sdk: signed release %d is not the one that release %d continues, which the sender has signed", r.Round, after.Round)
	}
	peer.held = add(peer.held, r)
	return &r, nil
}

// mine reads and checks a release that this node is said to have signed.
func (c *claims) mine(b []byte) (*signed.Release, error) {
	r, err := signed.Parse(b)
	if err != nil {
		return nil, err
	}
	for i := range c.own {
		if c.own[i] == r {
			return &c.own[i], nil
		}
	}
	if err := r.Verify(c.scope, c.keys(c.name)); err != nil {
		return nil, err
	}
	return &r, nil
}

// release checks the signature of a release that a frame carries. It is outdated if a device has made it that another has replaced.
func (c *claims) release(peer *peerClaims, f *wire.Frame) (outdated bool, err error) {
	if len(f.Own) == 0 {
		return false, fmt.Errorf("sdk: release %d is not signed, want the signature of %q", f.Round, peer.name)
	}
	r, err := signed.Parse(f.Own)
	if err != nil {
		return false, err
	}
	if r.Round != f.Round {
		return false, fmt.Errorf("sdk: a frame of release %d carries the signature of release %d", f.Round, r.Round)
	}
	// A message to one neighbor is made of the release and of the edge; only the release itself can be compared.
	if f.Kind == wire.Release && digestOf(f.Vector, f.Grid) != r.Digest {
		return false, fmt.Errorf("sdk: release %d is not the one that the sender has signed", f.Round)
	}
	took, err := c.theirs(peer, f.Own)
	if err != nil {
		return false, err
	}
	// What a lost device made before another took over is still right, whoever brings it.
	l := last(peer.held)
	if outdated = took.Generation < l.Generation; outdated && took.Round > l.Round {
		err = fmt.Errorf("sdk: release %d is of device %d, which device %d has replaced", f.Round, took.Generation, l.Generation)
	}
	return outdated, err
}

// proof checks what a frame says of this node's releases, up to held.
func (c *claims) proof(f *wire.Frame, held int) (*signed.Release, error) {
	if len(f.Proof) == 0 {
		if held == 0 {
			return nil, nil
		}
		return nil, fmt.Errorf("sdk: the sender says that it holds release %d of this node, and shows no signature of it", held)
	}
	r, err := c.mine(f.Proof)
	if err != nil {
		return nil, fmt.Errorf("sdk: the sender says that it holds release %d of this node: %w", held, err)
	}
	return r, nil
}

// publics returns the public half of a key, as a list of one.
func publics(key ed25519.PrivateKey) []ed25519.PublicKey {
	return []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}
}

// hasKey reports whether keys has the public half of key.
func hasKey(keys []ed25519.PublicKey, key ed25519.PrivateKey) bool {
	return slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return k.Equal(key.Public()) })
}
