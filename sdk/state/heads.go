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

// Heads remembers, over all runs, the latest state and the latest checkpoint that each neighbor signed of its lifetime
// ledger, in a file beside the node's own ledger. A neighbor whose ledger was set back between two runs is shown that
// state, and makes no release; one that lost its ledger is shown the checkpoint, and its new ledger begins with that. Any
// goroutine may use it. A nil *Heads remembers nothing.
type Heads struct {
	path string

	mu      sync.Mutex
	entries []headEntry
	changed bool
}

// headEntry is one line of the file: the latest release or the latest checkpoint that names a ledger.
type headEntry struct {
	Key    hexText        `json:"key"`    // of the neighbor that signed
	Ledger hexText        `json:"ledger"` // its id
	Signed signed.Earlier `json:"signed"`
}

// hexText is written in hexadecimal digits.
type hexText []byte

func (h hexText) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

func (h *hexText) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// headsOfKey bounds the entries of one key that are remembered: two of a ledger.
const headsOfKey = 16

// OpenHeads reads a file of heads. A missing file is empty; a damaged file is an error.
func OpenHeads(path string) (*Heads, error) {
	text, err := readIfThere(path)
	if err != nil {
		return nil, err
	}
	entries, err := parseLines(text, (*headEntry).check)
	if err != nil {
		return nil, fmt.Errorf("state: %s, %w; bring it back from a copy, or remove it and forget what neighbors have signed",
			path, err)
	}
	return &Heads{path: path, entries: entries}, nil
}

// check checks the signature.
func (e *headEntry) check() error {
	if id := e.Signed.Ledger.ID[:]; !bytes.Equal(id, e.Ledger) {
		return fmt.Errorf("ledger is %x, and %x was signed", e.Ledger, id)
	}
	return e.Signed.Verify(e.Signed.Scope, []ed25519.PublicKey{ed25519.PublicKey(e.Key)})
}

// Find returns the latest state of the ledger with an id that one of keys has signed; nil for none, or if it is the one
// that is known. One that is older than that counts as well: a ledger that was set back and went on does not contain it.
func (h *Heads) Find(keys []ed25519.PublicKey, ledger []byte, known signed.Head) *signed.Earlier {
	e := h.most(keys, func(e, than *signed.Earlier) bool {
		return bytes.Equal(e.Ledger.ID[:], ledger) && (than == nil || e.Ledger.Seq > than.Ledger.Seq ||
			e.Ledger.Seq == than.Ledger.Seq && than.Ledger == known)
	})
	if e != nil && e.Ledger == known {
		return nil
	}
	return e
}

// Lost returns the checkpoint of another ledger than the one with an id, that one of keys has signed and that has spent
// the most beside the run of a scope; nil for none. So a member with a new ledger is told what its lost one had spent.
func (h *Heads) Lost(keys []ed25519.PublicKey, ledger []byte, run signed.Scope) *signed.Earlier {
	return h.most(keys, func(e, than *signed.Earlier) bool {
		if e.Kind != signed.Checkpoint || bytes.Equal(e.Ledger.ID[:], ledger) {
			return false
		}
		if than == nil {
			return true
		}
		have, _ := e.Spent(run)
		most, _ := than.Spent(run)
		return have.All > most.All
	})
}

// most returns the entry that is more than all others.
func (h *Heads) most(keys []ed25519.PublicKey, more func(e, than *signed.Earlier) bool) (found *signed.Earlier) {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.entries {
		e := &h.entries[i]
		byKey := func(k ed25519.PublicKey) bool { return bytes.Equal(k, e.Key) }
		if slices.ContainsFunc(keys, byKey) && more(&e.Signed, found) {
			one := e.Signed
			found = &one
		}
	}
	return found
}

// Learn takes in what one of keys has signed, unless a later state of its ledger is known. See [Heads.Save].
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
	var ofKey []int // entries of this key, the oldest first
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

// later reports whether s takes the place of what was learned of the same ledger before. Of checkpoints that is the one
// with the larger cost: what open runs may spend is in it, and nobody can make it smaller.
func later(s, old *signed.Earlier) bool {
	if s.Kind == signed.Checkpoint {
		have, _ := s.Spent(signed.Scope{})
		most, _ := old.Spent(signed.Scope{})
		return have.All > most.All || have.All == most.All && s.Ledger.Seq > old.Ledger.Seq
	}
	// A device that took over from a lost one may continue with an older copy of its ledger.
	return s.Ledger.Seq > old.Ledger.Seq || s.Scope == old.Scope && s.Epoch > old.Epoch
}

// Save writes the file if something has changed: after a crash it has the old content or the new one.
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
