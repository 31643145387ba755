package state

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Heads remembers, over all runs, the latest state of each neighbor's lifetime ledger that the neighbor has signed. A
// neighbor whose ledger was set back between two runs is shown that state, and makes no release. It is a small file
// beside the node's own ledger. Any goroutine may use it. A nil *Heads remembers nothing.
type Heads struct {
	path string

	mu      sync.Mutex
	entries []headEntry
	changed bool
}

// headEntry is one line of the file.
type headEntry struct {
	Key     string `json:"key"`     // of the neighbor that signed, 64 hexadecimal digits
	Ledger  string `json:"ledger"`  // its id, 32 hexadecimal digits
	Scope   string `json:"scope"`   // of the signature
	Release string `json:"release"` // as package signed writes it

	scope   signed.Scope
	release signed.Release
}

// Limits of a file of heads.
const (
	maxHeads   = 4096
	headsOfKey = 8 // ledgers of one key that are remembered
)

// OpenHeads reads a file of heads. A file that does not exist is empty, and the first change makes it. A damaged file
// is an error: without it a ledger that was set back may stay undetected.
func OpenHeads(path string) (*Heads, error) {
	h := &Heads{path: path}
	err := eachLine(path, func(line []byte) error {
		if len(h.entries) == maxHeads {
			return fmt.Errorf("there are more than %d", maxHeads)
		}
		var e headEntry
		err := e.parse(line)
		h.entries = append(h.entries, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w; bring the file back from a copy, or remove it and forget what neighbors have signed", err)
	}
	return h, nil
}

// parse reads a line and checks its signature.
func (e *headEntry) parse(line []byte) error {
	if err := strictJSON(line, e); err != nil {
		return err
	}
	key, errKey := hex.DecodeString(e.Key)
	scope, errScope := hex.DecodeString(e.Scope)
	text, errRelease := hex.DecodeString(e.Release)
	err := errors.Join(errKey, errScope, errRelease)
	if err == nil && len(scope) != len(e.scope) {
		err = fmt.Errorf("scope has %d bytes, want %d", len(scope), len(e.scope))
	}
	if err != nil {
		return err
	}
	copy(e.scope[:], scope)
	if e.release, err = signed.Parse(text); err != nil {
		return err
	}
	if id := hex.EncodeToString(e.release.Ledger.ID[:]); id != e.Ledger {
		return fmt.Errorf("ledger is %s, and %s was signed", e.Ledger, id)
	}
	return e.release.Verify(e.scope, []ed25519.PublicKey{key})
}

// KnownLedger is a neighbor's ledger that a [Heads] remembers.
type KnownLedger struct {
	Key    ed25519.PublicKey // the neighbor has signed with it
	Ledger string            // the id of the ledger, 32 hexadecimal digits
	Lines  uint64            // reservations that it had by then
}

// Known returns the remembered ledgers in the order in which they were learned.
func (h *Heads) Known() []KnownLedger {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []KnownLedger
	for _, e := range h.entries {
		key, _ := hex.DecodeString(e.Key) // checked when it was read, or made here
		all = append(all, KnownLedger{Key: key, Ledger: e.Ledger, Lines: e.release.Ledger.Seq})
	}
	return all
}

// Find returns the latest state of the ledger with an id that one of keys has signed, and the scope of the signature.
func (h *Heads) Find(keys []ed25519.PublicKey, ledger []byte) (scope signed.Scope, r signed.Release, ok bool) {
	if h == nil || len(ledger) == 0 {
		return scope, r, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	id := hex.EncodeToString(ledger)
	for _, e := range h.entries {
		byKey := func(k ed25519.PublicKey) bool { return hex.EncodeToString(k) == e.Key }
		if e.Ledger == id && slices.ContainsFunc(keys, byKey) && (!ok || e.release.Ledger.Seq > r.Ledger.Seq) {
			scope, r, ok = e.scope, e.release, true
		}
	}
	return scope, r, ok
}

// Learn takes in a release that one of keys has signed, unless a later state of the same ledger is known. [Heads.Save]
// makes it durable.
func (h *Heads) Learn(keys []ed25519.PublicKey, scope signed.Scope, r signed.Release) {
	if h == nil || r.Ledger == (signed.Head{}) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(keys, func(k ed25519.PublicKey) bool { return r.Verify(scope, []ed25519.PublicKey{k}) == nil })
	if i < 0 {
		return
	}
	e := headEntry{
		Key: hex.EncodeToString(keys[i]), Ledger: hex.EncodeToString(r.Ledger.ID[:]),
		Scope: hex.EncodeToString(scope[:]), Release: hex.EncodeToString(r.Append(nil)), scope: scope, release: r,
	}
	ofKey, first := 0, -1 // ledgers of this key, and the one that was learned first
	for i := range h.entries {
		old := &h.entries[i]
		if old.Key != e.Key {
			continue
		}
		if old.Ledger == e.Ledger {
			// A device that took over from a lost one may continue with an older copy of its ledger.
			if r.Ledger.Seq > old.release.Ledger.Seq || old.scope == scope && r.Generation > old.release.Generation {
				*old, h.changed = e, true
			}
			return
		}
		if ofKey++; first < 0 {
			first = i
		}
	}
	if ofKey >= headsOfKey || len(h.entries) >= maxHeads {
		oldest := max(first, 0)
		h.entries = slices.Delete(h.entries, oldest, oldest+1)
	}
	h.entries, h.changed = append(h.entries, e), true
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
	var text []byte
	for _, e := range h.entries {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	if err := replaceFile(h.path, text); err != nil {
		return advise(err)
	}
	h.changed = false
	return nil
}
