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

// ErrClone says that two different releases of one round are signed with this node's key: another device, such as a
// copy of its folder, works in its name and looks at the same data.
var ErrClone = errors.New("another device makes releases in this node's name")

// claims is what a node has signed of its own releases and what it holds of its neighbors': the proof of everything
// that one member says of another's. It belongs to the goroutine of Run, but that seen and each countersign are changed
// under the node's lock, for Certificate.
type claims struct {
	key   ed25519.PrivateKey // nil: nothing is signed, and what neighbors say is believed and costs nothing
	keys  func(member string) []ed25519.PublicKey
	name  string
	scope signed.Scope
	heads *state.Heads // nil: what neighbors have signed is forgotten with the run

	checkpoint []byte      // of the node's ledger, as neighbors are told; nil if there is none
	lost       *lostLedger // the largest checkpoint of another ledger that a neighbor has shown, until it is dealt with
	beside     string      // a ledger that was not inherited, for Certificate

	incarnation uint64
	own         signed.Chain
	seen        *signed.Statement // the newest that may be seen: its release is stored and marked
	peers       map[int]*peerClaims
}

// peerClaims is what is held of one neighbor.
type peerClaims struct {
	name        string
	scope       signed.Scope
	held        signed.Chain
	ledger      []byte           // id of the ledger that it named when it started
	shown       signed.Head      // the state of it that it named
	countersign []byte           // of this node's last release
	evidence    *signed.Evidence // of a double of it
	told        bool             // the neighbor has been shown the evidence since the last tick
	asked       bool             // the neighbor was asked since the last tick what it holds
	ahead       int              // the release of this node, plus 1, in which that was asked last, and how often
	times       int
	corrected   bool   // a device of its name that another has replaced has been told since the last tick
	request     uint64 // the last takeover in which a device of its name has asked where this node stands
}

// newClaims returns the claims of a node at its start.
func newClaims(cfg *Config, hash [32]byte, incarnation uint64, neighbors []int) *claims {
	f := cfg.Fleet
	c := &claims{key: cfg.Key, keys: cfg.Keys, name: cfg.Name, scope: signed.NewScope(f.Run, hash, cfg.Name),
		heads: cfg.Heads, incarnation: incarnation, peers: make(map[int]*peerClaims)}
	for _, j := range neighbors {
		name := f.Members[j]
		c.peers[j] = &peerClaims{name: name, scope: signed.NewScope(f.Run, hash, name)}
	}
	return c
}

// signing reports whether releases are signed, and claims have to be proved.
func (c *claims) signing() bool { return c.key != nil }

// present returns the public key that the node signs with.
func (c *claims) present() []ed25519.PublicKey {
	return []ed25519.PublicKey{c.key.Public().(ed25519.PublicKey)}
}

// releaseOf returns the release behind a state, unsigned.
func (c *claims) releaseOf(s *admm.State, epoch uint16) signed.Statement {
	return signed.Statement{Epoch: epoch, Kind: signed.Release, Round: s.Round, Value: signed.Digest(s.X, s.Delta)}
}

// sign signs the release behind a state, which follows those that were signed before.
func (c *claims) sign(s *admm.State, epoch uint16, l *state.Ledger) (err error) {
	r := c.releaseOf(s, epoch)
	if before := c.own.Last(); before != nil {
		r.Prev = before.ID(c.scope)
	}
	if l != nil {
		if r.Ledger, err = signed.NewHead(l.Head()); err != nil {
			return err
		}
	}
	r.Sign(c.key, c.scope)
	c.own = c.own.Add(r)
	return nil
}

// resume takes over what is stored with a state: the node's own release, and the neighbors' latest. A key that was
// exchanged since then signs the release anew.
func (c *claims) resume(snap *wire.Snapshot) error {
	if !c.signing() {
		return nil
	}
	s := &snap.State
	r := c.releaseOf(s, snap.Epoch)
	if len(snap.Signed) > 0 {
		stored, err := signed.Parse(snap.Signed, signed.Release)
		if err != nil {
			return err
		}
		if stored.Round != r.Round || stored.Value != r.Value {
			return fmt.Errorf("sdk: what was signed is release %d, and not the one that is stored", stored.Round)
		}
		r = stored
	}
	if r.Verify(c.scope, c.present()) != nil {
		r.Sign(c.key, c.scope)
	}
	c.own = c.own.Add(r)
	for i, p := range snap.Peers {
		peer := c.peers[s.Edges[i].Peer]
		if peer == nil {
			continue
		}
		for b := range slices.Chunk(p.Signed, signed.Size) {
			r, err := signed.Parse(b, signed.Release)
			if err != nil {
				return fmt.Errorf("neighbor %q: %w", p.Name, err)
			}
			peer.held = peer.held.Add(r)
		}
	}
	return nil
}

// record adds to a snapshot what is to be stored with it.
func (c *claims) record(snap *wire.Snapshot) {
	snap.Signed = encoded(c.own.Last())
	for i := range snap.Peers {
		held := c.peers[snap.State.Edges[i].Peer].held
		for _, r := range held[max(0, len(held)-2):] {
			snap.Peers[i].Signed = r.Append(snap.Peers[i].Signed)
		}
	}
}

// encoded returns the encoding of a signed release, or nil for none.
func encoded(r *signed.Statement) []byte {
	if r == nil {
		return nil
	}
	return r.Append(nil)
}

// attach adds to a message what proves it.
func (c *claims) attach(m *admm.Message, l *state.Ledger) {
	peer := c.peers[m.To]
	if !c.signing() || peer == nil {
		return
	}
	switch m.Kind {
	case admm.EdgeMessage, admm.Release, admm.Start:
		m.Signed.Own = encoded(c.own.Of(m.Round))
		return
	case admm.Probe:
		m.Signed.Own = encoded(c.own.Last())
		if l != nil {
			m.Signed.Ledger, _ = hex.DecodeString(l.Head().ID)
		}
	}
	if m.Kind == admm.Probe || m.Kind == admm.ProbeReply {
		c.proveEarlier(m, peer)
	}
	if r := peer.held.Proving(m.Held); r != nil {
		m.Signed.Proof = r.Append(nil)
		if m.Kind == admm.Done {
			m.Signed.Countersign = r.Countersign(c.key, peer.scope)
		}
	}
}

// contradiction is the error of a frame that shows a neighbor's double.
type contradiction struct{ first, second signed.Statement }

func (e *contradiction) Error() string {
	return fmt.Sprintf("sdk: release %d is signed, and is another than the release %d that the sender has signed "+
		"before: it has a double", e.second.Round, e.first.Round)
}

// fork is the error of a release that does not continue the one before it, of the same epoch: two devices with the
// same key are at work, and each has made one of them.
type fork struct{ error }

// theirs reads and checks a release that its sender has signed, and takes it in if it is newer than what is held.
// Nothing else of the sender's is believed.
func (c *claims) theirs(peer *peerClaims, b []byte) (*signed.Statement, error) {
	r, err := signed.Parse(b, signed.Release)
	if err != nil {
		return nil, err
	}
	if known := peer.held.Of(r.Round); known != nil && *known == r {
		return known, nil // it has been checked before
	}
	if err := r.Verify(peer.scope, c.keys(peer.name)); err != nil {
		return nil, err
	}
	if r.Epoch > admm.MaxTakeovers {
		return nil, fmt.Errorf("sdk: signed release %d is of epoch %d, want at most %d replaced devices", r.Round,
			r.Epoch, admm.MaxTakeovers)
	}
	for i := range peer.held {
		if before := &peer.held[i]; before.Contradicts(&r) {
			return nil, &contradiction{*before, r}
		}
	}
	follows := func(r, before *signed.Statement) bool {
		return r.Epoch != before.Epoch || r.Prev == before.ID(peer.scope)
	}
	if before := peer.held.Of(r.Round - 1); before != nil && !follows(&r, before) {
		return nil, fork{fmt.Errorf("sdk: signed release %d does not continue release %d, which the sender has signed",
			r.Round, before.Round)}
	}
	if after := peer.held.Of(r.Round + 1); after != nil && !follows(after, &r) {
		return nil, fmt.Errorf("sdk: signed release %d is not the one that release %d continues, which the sender has signed",
			r.Round, after.Round)
	}
	peer.held = peer.held.Add(r)
	return &r, nil
}

// mine reads and checks a release that this node is said to have signed.
func (c *claims) mine(b []byte) (*signed.Statement, error) {
	r, err := signed.Parse(b, signed.Release)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(c.own, r) {
		err = r.Verify(c.scope, c.keys(c.name))
	}
	return &r, err
}

// release checks the signature of a release that a message carries. It is outdated if a device has made it that another
// has replaced.
func (c *claims) release(peer *peerClaims, m *admm.Message) (outdated bool, err error) {
	if len(m.Signed.Own) == 0 {
		return false, fmt.Errorf("sdk: release %d is not signed, want the signature of %q", m.Round, peer.name)
	}
	r, err := signed.Parse(m.Signed.Own, signed.Release)
	if err != nil {
		return false, err
	}
	if r.Round != m.Round {
		return false, fmt.Errorf("sdk: a frame of release %d carries the signature of release %d", m.Round, r.Round)
	}
	// A message to one neighbor is made of the release and of the edge; only the release itself can be compared.
	if m.Kind == admm.Release && signed.Digest(m.Vector, m.Grid) != r.Value {
		return false, fmt.Errorf("sdk: release %d is not the one that the sender has signed", m.Round)
	}
	took, err := c.theirs(peer, m.Signed.Own)
	if err != nil {
		return false, err
	}
	return took.Epoch < peer.held.Last().Epoch, nil
}

// Proof checks what a message says of this node's releases, up to held.
func (c *claims) Proof(m *admm.Message, held int) (*signed.Statement, error) {
	if len(m.Signed.Proof) == 0 {
		if held == 0 {
			return nil, nil
		}
		return nil, fmt.Errorf("sdk: the sender says that it holds release %d of this node, and shows no signature of it",
			held)
	}
	r, err := c.mine(m.Signed.Proof)
	if err != nil {
		return nil, fmt.Errorf("sdk: the sender says that it holds release %d of this node: %w", held, err)
	}
	return r, nil
}
