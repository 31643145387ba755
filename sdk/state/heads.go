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

// Heads stores, across runs, the latest ledger state and the latest checkpoint that each neighbor signed, in a file
// next to the node's own ledger. A neighbor whose ledger was rolled back between two runs receives the state and makes
// no release. A neighbor that lost its ledger receives the checkpoint, and its new ledger begins with the cost stated
// there. Heads is safe for concurrent use. A nil *Heads stores nothing.
type Heads struct {
	path string

	mu      sync.Mutex
	entries []headEntry
	changed bool
}

// headEntry is one line of the file: a neighbor's latest signed release, or its latest signed checkpoint, for one
// ledger.
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

// headsOfKey is the maximum number of stored entries per key. A ledger has up to two entries: a release and a
// checkpoint.
const headsOfKey = 16

// OpenHeads reads the file that [Heads.Save] writes. A missing file yields an empty list; a damaged file is an error.
func OpenHeads(path string) (*Heads, error) {
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
	if id := e.Signed.Ledger.ID[:]; !bytes.Equal(id, e.Ledger) {
		return fmt.Errorf("ledger id is %x, want %x as in the signed statement", e.Ledger, id)
	}
	return e.Signed.Verify(e.Signed.Scope, []ed25519.PublicKey{ed25519.PublicKey(e.Key)})
}

// Find returns the latest state of a ledger, signed by one of the given keys, or nil if there is none or if the latest
// state equals known. Find also returns a state that is older than known, because a ledger that was rolled back and
// then continued does not contain that state.
func (h *Heads) Find(keys []ed25519.PublicKey, ledger []byte, known signed.Head) (found *signed.Earlier) {
	for _, e := range h.signedBy(keys) {
		if bytes.Equal(e.Ledger.ID[:], ledger) && (found == nil || e.Ledger.Seq > found.Ledger.Seq ||
			e.Ledger.Seq == found.Ledger.Seq && found.Ledger == known) {
			found = &e
		}
	}
	if found != nil && found.Ledger == known {
		return nil
	}
	return found
}

// Lost returns the checkpoint, signed by one of the given keys, of any ledger other than the given ledger, or nil if
// there is none. If there are several, it returns the checkpoint with the largest cost outside the run. The checkpoint
// shows a member with a new ledger what its lost ledger had spent.
func (h *Heads) Lost(keys []ed25519.PublicKey, ledger []byte, run signed.Scope) (found *signed.Earlier) {
	most := 0.0 // cost of found
	for _, e := range h.signedBy(keys) {
		if e.Kind != signed.Checkpoint || bytes.Equal(e.Ledger.ID[:], ledger) {
			continue
		}
		if spent, _ := e.Spent(run); found == nil || spent.All > most {
			found, most = &e, spent.All
		}
	}
	return found
}

// signedBy returns copies of the statements that are signed by one of the given keys.
func (h *Heads) signedBy(keys []ed25519.PublicKey) (list []signed.Earlier) {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.entries {
		if slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return bytes.Equal(k, e.Key) }) {
			list = append(list, e.Signed)
		}
	}
	return list
}

// Learn keeps a statement signed by one of the given keys, unless a later state of the same ledger is known.
// [Heads.Save] writes the kept statements to the file.
func (h *Heads) Learn(keys []ed25519.PublicKey, s signed.Earlier) {
	if h == nil || s.Ledger == (signed.Head{}) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.IndexFunc(keys, func(k ed25519.PublicKey) bool { return s.Verify(s.Scope, []ed25519.PublicKey{k}) == nil })
	if at < 0 {
		return
	}
	e := headEntry{Key: hexText(keys[at]), Ledger: s.Ledger.ID[:], Signed: s}
	var ofKey []int // indexes of the entries of this key, the oldest entry first
	for i := range h.entries {
		old := &h.entries[i]
		if !bytes.Equal(old.Key, e.Key) {
			continue
		}
		if bytes.Equal(old.Ledger, e.Ledger) && old.Signed.Kind == s.Kind {
			if later(&s, &old.Signed) {
				h.entries, h.changed = append(slices.Delete(h.entries, i, i+1), e), true
			}
			return
		}
		ofKey = append(ofKey, i)
	}
	if len(ofKey) >= headsOfKey || len(h.entries) >= maxLines {
		oldest := append(ofKey, 0)[0]
		h.entries = slices.Delete(h.entries, oldest, oldest+1)
	}
	h.entries, h.changed = append(h.entries, e), true
}

// later reports whether s replaces old, an entry of the same ledger. Of two checkpoints, the checkpoint with the larger
// cost is kept, even if it is the earlier one: a checkpoint's cost includes the planned cost of open runs, and no later
// statement can reduce that cost.
func later(s, old *signed.Earlier) bool {
	if s.Kind == signed.Checkpoint {
		have, _ := s.Spent(signed.Scope{})
		most, _ := old.Spent(signed.Scope{})
		return have.All > most.All || have.All == most.All && s.Ledger.Seq > old.Ledger.Seq
	}
	return s.Ledger.Seq > old.Ledger.Seq
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
	text, err := encodeLines(h.entries)
	if err == nil {
		err = named(replaceFile(h.path, text))
	}
	h.changed = err != nil
	return err
}
