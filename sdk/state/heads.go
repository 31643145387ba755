package state

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Heads stores, across runs, the newest state of each ledger that each neighbor signed with a release, in a file next to
// the node's own ledger. [OpenLedger] and [CreateLedger] open it. The node shows a neighbor these states: a neighbor whose
// ledger was set back between two runs then makes no release, and a neighbor with a new ledger learns of the others. Heads
// is safe for concurrent use. A nil *Heads stores nothing.
type Heads struct {
	path string

	mu      sync.Mutex
	entries []headEntry
	changed bool
}

// headEntry is one line of the file: a neighbor's newest signed release for one ledger.
type headEntry struct {
	Key    hexText        `json:"key"`    // key of the neighbor that signed
	Ledger hexText        `json:"ledger"` // the ledger's id
	Signed signed.Earlier `json:"signed"`
}

type hexText []byte

func (h hexText) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

func (h *hexText) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// Heads returns what neighbors have signed about their ledgers. It is nil for a nil l, and for a ledger that [ReadLedger]
// has opened.
func (l *Ledger) Heads() *Heads {
	if l == nil {
		return nil
	}
	return l.heads
}

// openHeads reads the file that [Heads.Save] writes. A missing file yields an empty list; a damaged file is an error.
func openHeads(path string) (*Heads, error) {
	text, err := readIfThere(path)
	if err != nil {
		return nil, err
	}
	entries, err := parseLines(text, (*headEntry).check)
	if err != nil {
		return nil, fmt.Errorf("state: %s: %w; restore the file from a copy, or remove it and lose the neighbors' "+
			"signed statements", path, err)
	}
	return &Heads{path: path, entries: entries}, nil
}

func (e *headEntry) check() error {
	if id := e.Signed.Ledger.ID[:]; !bytes.Equal(id, e.Ledger) || e.Signed.Kind != signed.Release {
		return fmt.Errorf("ledger id is %x, want %x as in the signed statement, a release", e.Ledger, id)
	}
	return e.Signed.Verify(e.Signed.Scope, []ed25519.PublicKey{ed25519.PublicKey(e.Key)})
}

// by reports whether one of the given keys signed the entry.
func (e *headEntry) by(keys []ed25519.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return bytes.Equal(k, e.Key) })
}

// Of returns the newest state of each ledger, signed by one of the given keys: the present and retired keys of a member.
func (h *Heads) Of(keys []ed25519.PublicKey) (list []signed.Earlier) {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.entries {
		if e.by(keys) {
			list = append(list, e.Signed)
		}
	}
	return list
}

// Learn keeps a member's release, which one of its present and retired keys signed, unless a later state of the same
// ledger is known. It fails if there is no room for a further ledger: signed.MaxEarlier ledgers of one member are kept,
// and none of them is dropped for another one. [Heads.Save] writes the kept statements to the file.
func (h *Heads) Learn(keys []ed25519.PublicKey, s signed.Earlier) error {
	if h == nil || s.Ledger == (signed.Head{}) || s.Kind != signed.Release {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.IndexFunc(keys, func(k ed25519.PublicKey) bool { return s.Verify(s.Scope, []ed25519.PublicKey{k}) == nil })
	if at < 0 {
		return nil
	}
	e := headEntry{Key: hexText(keys[at]), Ledger: s.Ledger.ID[:], Signed: s}
	ledgers := 0
	for i := range h.entries {
		old := &h.entries[i]
		if !old.by(keys) {
			continue
		}
		if bytes.Equal(old.Ledger, e.Ledger) {
			if s.Ledger.Seq > old.Signed.Ledger.Seq {
				*old, h.changed = e, true
			}
			return nil
		}
		ledgers++
	}
	if ledgers >= signed.MaxEarlier || len(h.entries) >= maxLines {
		return fmt.Errorf("state: %s has no room for ledger %x: it has %d ledgers of this member (maximum %d) and %d lines (maximum "+
			"%d); if some of them are no longer in use, remove their lines while the node is stopped", h.path, e.Ledger, ledgers,
			signed.MaxEarlier, len(h.entries), maxLines)
	}
	h.entries, h.changed = append(h.entries, e), true
	return nil
}

// Save replaces the file if something changed. After a crash the file has either the old or the new content.
func (h *Heads) Save() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.changed {
		return nil
	}
	err := replaceLines(h.path, h.entries)
	h.changed = err != nil
	return err
}
