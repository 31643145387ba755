package trust

import (
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// Config describes a member of a run. Members and neighbors have the numbers that they have in package admm.
type Config struct {
	Run       string
	Fleet     [32]byte // hash of the fleet
	Members   []string // names, by number
	Self      int      // number of this member
	Neighbors []int    // numbers of its neighbors
	Last      int      // number of the run's last release

	Key    ed25519.PrivateKey                      // nil: nothing is signed; what neighbors say needs no proof and charges nothing
	Keys   func(member string) []ed25519.PublicKey // a member's present, next and retired keys; may change
	Ledger *state.Ledger                           // only read, apart from [Machine.Remember]; nil without a ledger
}

// Machine holds the statements of a member and of its neighbors. Only one goroutine uses a Machine; others may read
// copies of its field Public, and call Signing.
type Machine struct {
	Config
	Incarnation uint64 // identifies this process
	Public      Public

	// Journal is what must survive the process. After each call, the driver stores it if Unstored is set, and clears
	// Unstored when that has succeeded. Until then, no neighbor is told that its edge is dropped.
	Journal  state.Journal
	Unstored bool

	scope      signed.Scope
	peers      map[int]*peer
	own        signed.Chain
	round      int    // this member's last release
	checkpoint []byte // state of the ledger when this process sent its first probe

	notes []Note         // of the verdict in progress
	send  []admm.Message // of the verdict in progress
}

// Public is what status and certificate show. Its contents are replaced and never modified, so copies may be read by
// other goroutines.
type Public struct {
	Head          *signed.Statement   // this member's newest release that is stored and marked; nil before the first
	Countersigned map[string][]byte   // by neighbor: its signature that it holds Head
	Evidence      []signed.Evidence   // against members that signed two releases of one round
	Ledgers       []state.OtherLedger // ledgers of this member that neighbors know of, and that its ledger does not count
}

// peer is what a member knows of one neighbor.
type peer struct {
	number  int
	name    string
	scope   signed.Scope
	held    signed.Chain
	shown   signed.Head       // ledger that the neighbor named at its last start; zero if none
	dropped *state.Quarantine // nil while the edge is in use
	heard   int               // highest release that the machine of package admm held when the edge was dropped
	said    once              // messages sent to the neighbor since the last tick
}

// New returns a machine without statements.
func New(cfg Config) *Machine {
	m := &Machine{Config: cfg, Incarnation: signed.NewIncarnation(), peers: map[int]*peer{}}
	m.Journal = state.Journal{Run: cfg.Run, Fleet: cfg.Fleet, Member: m.name()}
	m.scope = signed.NewScope(cfg.Run, cfg.Fleet, m.name())
	for _, j := range cfg.Neighbors {
		m.peers[j] = &peer{number: j, name: cfg.Members[j], scope: signed.NewScope(cfg.Run, cfg.Fleet, cfg.Members[j])}
	}
	return m
}

func (m *Machine) name() string { return m.Members[m.Self] }

// Signing reports whether releases are signed, and what neighbors say needs proof.
func (m *Machine) Signing() bool { return m.Key != nil }

func (m *Machine) note(level slog.Level, text string, args ...any) {
	m.notes = append(m.notes, Note{level, text, args})
}

// finish adds to a verdict what has come up on the way to it.
func (m *Machine) finish(v Verdict) Verdict {
	v.Notes, v.Send = m.notes, m.take()
	m.notes = nil
	return v
}

func (m *Machine) take() (list []admm.Message) {
	list, m.send = m.send, nil
	return list
}

// Load takes the journal that an earlier process has stored. The verdict is End if the journal proves that this member
// must not continue. The driver then drops the edges in Journal.Quarantine, see [Machine.Drop].
func (m *Machine) Load(j state.Journal) Verdict {
	m.Journal = j
	for _, o := range j.Ledgers {
		if m.uncounted(o.Signed) {
			m.Public.Ledgers = append(m.Public.Ledgers, o)
		}
	}
	for _, e := range j.Evidence {
		if m.Signing() {
			if err := e.Verify(m.Run, m.Fleet, m.Keys(e.Member)); err != nil {
				m.note(slog.LevelWarn, "ignoring stored evidence: verification failed", "err", err)
				continue
			}
		}
		if e.Member == m.name() {
			v := end(fmt.Errorf("trust: %v: %w; %s", e, ErrClone, findOther))
			v.Exposed = m.exposes(e)
			return m.finish(v)
		}
		m.Public.Evidence = append(m.Public.Evidence, e)
	}
	return m.finish(Verdict{})
}

func releaseOf(s *admm.State) signed.Statement {
	return signed.Statement{Kind: signed.Release, Round: s.Round, Value: signed.Digest(s.X, s.Delta)}
}

// Resume takes a stored state and the statements in it: the older state first, then the newer one. It signs the
// member's own release again if the key has changed.
func (m *Machine) Resume(snap *wire.Snapshot) error {
	s := &snap.State
	if m.round = s.Round; !m.Signing() {
		return nil
	}
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
	if r.Verify(m.scope, m.present()) != nil {
		r.Sign(m.Key, m.scope)
	}
	m.own = m.own.Add(r)
	for i, stored := range snap.Peers {
		p := m.peers[s.Edges[i].Peer]
		if p == nil {
			continue
		}
		for b := range slices.Chunk(stored.Signed, signed.Size) {
			r, err := signed.Parse(b, signed.Release)
			if err != nil {
				return fmt.Errorf("neighbor %q: %w", p.name, err)
			}
			p.held = p.held.Add(r)
		}
	}
	return nil
}

// present returns the public key that the member signs with, as a list of one key.
func (m *Machine) present() []ed25519.PublicKey {
	return []ed25519.PublicKey{m.Key.Public().(ed25519.PublicKey)}
}

// exposes reports whether the member's present key signed evidence. If only a retired key did, the member may continue
// once that key is removed from the fleet file.
func (m *Machine) exposes(e signed.Evidence) bool {
	return m.Signing() && e.Verify(m.Run, m.Fleet, m.present()) == nil
}

// Released takes the release of a state, and signs it as the successor of the member's previous release.
func (m *Machine) Released(s *admm.State) (err error) {
	if m.round = s.Round; !m.Signing() {
		return nil
	}
	r := releaseOf(s)
	if before := m.own.Last(); before != nil {
		r.Prev = before.ID(m.scope)
	}
	if m.Ledger != nil {
		if r.Ledger, err = signed.NewHead(m.Ledger.Head()); err != nil {
			return err
		}
	}
	r.Sign(m.Key, m.scope)
	m.own = m.own.Add(r)
	return nil
}

// Record adds to a snapshot the last signed release of this member and the last two signed releases of each neighbor.
func (m *Machine) Record(snap *wire.Snapshot) {
	snap.Signed = encoded(m.own.Last())
	for i := range snap.Peers {
		held := m.peers[snap.State.Edges[i].Peer].held
		for _, r := range held[max(0, len(held)-2):] {
			snap.Peers[i].Signed = r.Append(snap.Peers[i].Signed)
		}
	}
}

// Disclose lets certificates show the member's last release. Call it only after that release is stored and marked.
func (m *Machine) Disclose() {
	if own := m.own.Last(); own != nil {
		shown := *own
		m.Public.Head = &shown
	}
	m.Public.Countersigned = nil // they confirm the previous release
}

// encoded returns the encoding of a signed release, or nil if there is no release.
func encoded(r *signed.Statement) []byte {
	if r == nil {
		return nil
	}
	return r.Append(nil)
}
