package trust

import (
	"crypto/ed25519"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// Log holds the signed releases of a member and of its neighbors. Only one goroutine uses a Log, except for its field
// Seen and the field Countersign of each Peer: the node guards these two fields with its mutex.
type Log struct {
	Key    ed25519.PrivateKey // nil: nothing is signed; neighbors' claims need no proof and charge nothing
	Keys   func(member string) []ed25519.PublicKey
	Name   string
	Scope  signed.Scope
	Ledger *state.Ledger // may be nil
	Heads  *state.Heads  // nil: nothing is kept for later runs

	Checkpoint []byte // state of the node's ledger, for probes; nil without a ledger

	Incarnation uint64
	Own         signed.Chain
	Seen        *signed.Statement // newest release that is stored and marked
	Peers       map[int]*Peer

	run     string
	fleet   [32]byte
	members []string
}

// Peer is a member's record of one neighbor.
type Peer struct {
	Name        string
	Scope       signed.Scope
	Held        signed.Chain
	Shown       signed.Head // ledger that the neighbor named at its last start; zero if none
	Earlier     []byte      // answer to the neighbor's probe, see [Log.Earlier]
	Countersign []byte      // the neighbor's signature that it holds this node's last release
	said        Once        // messages sent to the neighbor since the last tick
}

// NewLog returns an empty log for a node that starts. self and neighbors are indexes in members.
func NewLog(run string, fleet [32]byte, members []string, self int, neighbors []int) *Log {
	l := &Log{Name: members[self], Incarnation: signed.NewIncarnation(), Peers: map[int]*Peer{},
		run: run, fleet: fleet, members: members}
	l.Scope = l.scope(l.Name)
	for _, j := range neighbors {
		l.Peers[j] = &Peer{Name: members[j], Scope: l.scope(members[j])}
	}
	return l
}

func (l *Log) scope(member string) signed.Scope { return signed.NewScope(l.run, l.fleet, member) }

// Signing reports whether releases are signed and claims need proof.
func (l *Log) Signing() bool { return l.Key != nil }

// Present returns the public key that the node signs with, as a list of one key.
func (l *Log) Present() []ed25519.PublicKey {
	return []ed25519.PublicKey{l.Key.Public().(ed25519.PublicKey)}
}

func releaseOf(s *admm.State) signed.Statement {
	return signed.Statement{Kind: signed.Release, Round: s.Round, Value: signed.Digest(s.X, s.Delta)}
}

// Sign signs the release of a state as the successor of the last release in l.Own, and adds the signed release to
// l.Own.
func (l *Log) Sign(s *admm.State) (err error) {
	r := releaseOf(s)
	if before := l.Own.Last(); before != nil {
		r.Prev = before.ID(l.Scope)
	}
	if l.Ledger != nil {
		if r.Ledger, err = signed.NewHead(l.Ledger.Head()); err != nil {
			return err
		}
	}
	r.Sign(l.Key, l.Scope)
	l.Own = l.Own.Add(r)
	return nil
}

// Resume restores the releases stored with a state. It signs the node's own release again if the key changed.
func (l *Log) Resume(snap *wire.Snapshot) error {
	if !l.Signing() {
		return nil
	}
	s := &snap.State
	r := releaseOf(s)
	if len(snap.Signed) > 0 {
		stored, err := signed.Parse(snap.Signed, signed.Release)
		if err != nil {
			return err
		}
		if stored.Round != r.Round || stored.Value != r.Value {
			return fmt.Errorf("trust: the stored signature belongs to release %d, and does not match the stored release", stored.Round)
		}
		r = stored
	}
	if r.Verify(l.Scope, l.Present()) != nil {
		r.Sign(l.Key, l.Scope)
	}
	l.Own = l.Own.Add(r)
	for i, p := range snap.Peers {
		peer := l.Peers[s.Edges[i].Peer]
		if peer == nil {
			continue
		}
		for b := range slices.Chunk(p.Signed, signed.Size) {
			r, err := signed.Parse(b, signed.Release)
			if err != nil {
				return fmt.Errorf("neighbor %q: %w", p.Name, err)
			}
			peer.Held = peer.Held.Add(r)
		}
	}
	return nil
}

// Record adds to a snapshot the last signed release of this member and the last two signed releases of each neighbor.
func (l *Log) Record(snap *wire.Snapshot) {
	snap.Signed = Encoded(l.Own.Last())
	for i := range snap.Peers {
		held := l.Peers[snap.State.Edges[i].Peer].Held
		for _, r := range held[max(0, len(held)-2):] {
			snap.Peers[i].Signed = r.Append(snap.Peers[i].Signed)
		}
	}
}

// Encoded returns the encoding of a signed release, or nil if there is no release.
func Encoded(r *signed.Statement) []byte {
	if r == nil {
		return nil
	}
	return r.Append(nil)
}

// Attach adds to an outgoing message the signed statements that prove its claims.
func (l *Log) Attach(m *admm.Message) {
	peer := l.Peers[m.To]
	if !l.Signing() || peer == nil {
		return
	}
	switch m.Kind {
	case admm.Release:
		m.Signed.Own = Encoded(l.Own.Of(m.Round))
		return
	case admm.Probe:
		m.Signed.Own = Encoded(l.Own.Last())
		m.Signed.Other = l.Checkpoint
	case admm.ProbeReply:
		m.Signed.Other = peer.Earlier
	}
	if r := peer.Held.Proving(m.Held); r != nil {
		m.Signed.Proof = r.Append(nil)
		if m.Kind == admm.Done {
			m.Signed.Countersign = r.Countersign(l.Key, peer.Scope)
		}
	}
}

// Earlier returns what a neighbor has signed about its ledgers in all runs, for the neighbor itself, except for the states
// that it shows to know. left is the number of statements that did not fit.
func (l *Log) Earlier(peer *Peer) (b []byte, left int) {
	newest, shown := peer.Held.Last(), peer.Shown
	list := l.Heads.Of(l.Keys(peer.Name))
	if at := slices.IndexFunc(list, func(e signed.Earlier) bool { return e.Ledger.ID == shown.ID }); at > 0 { // the ledger in use first
		list[0], list[at] = list[at], list[0]
	}
	for i := range list {
		known := newest != nil && list[i].Ledger.ID == newest.Ledger.ID && list[i].Ledger.Seq <= newest.Ledger.Seq
		switch {
		case known || list[i].Ledger == shown:
		case len(b) == signed.MaxEarlier*signed.EarlierSize:
			left++
		default:
			b = list[i].Append(b)
		}
	}
	return b, left
}
