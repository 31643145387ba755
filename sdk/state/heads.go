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
	Key     hexText `json:"key"`     // of the neighbor that signed
	Ledger  hexText `json:"ledger"`  // its id
	Scope   hexText `json:"scope"`   // of the signature
	Release hexText `json:"release"` // as package signed writes it

	release signed.Release
}

// hexText is written in hexadecimal digits.
type hexText []byte

func (h hexText) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

func (h *hexText) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// headsOfKey bounds the ledgers of one key that are remembered.
const headsOfKey = 8

// OpenHeads reads a file of heads. A missing file is empty; a damaged file is an error.
func OpenHeads(path string) (*Heads, error) {
	entries, err := readLines(path, " and forget what neighbors have signed", (*headEntry).parse)
	if err != nil {
		return nil, err
	}
	return &Heads{path: path, entries: entries}, nil
}

// parse decodes the release of a line and checks its signature.
func (e *headEntry) parse() (err error) {
	if e.release, err = signed.Parse(e.Release); err != nil {
		return err
	}
	if n := len(e.Scope); n != len(signed.Scope{}) {
		return fmt.Errorf("scope has %d bytes, want %d", n, len(signed.Scope{}))
	}
	if id := e.release.Ledger.ID[:]; !bytes.Equal(id, e.Ledger) {
		return fmt.Errorf("ledger is %x, and %x was signed", e.Ledger, id)
	}
	return e.release.Verify(signed.Scope(e.Scope), []ed25519.PublicKey{ed25519.PublicKey(e.Key)})
}

// Find returns the latest state of the ledger with an id that one of keys has signed, and the scope of the signature.
func (h *Heads) Find(keys []ed25519.PublicKey, ledger []byte) (scope signed.Scope, r signed.Release, ok bool) {
	if h == nil || len(ledger) == 0 {
		return scope, r, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.entries {
		byKey := func(k ed25519.PublicKey) bool { return bytes.Equal(k, e.Key) }
		newer := bytes.Equal(e.Ledger, ledger) && (!ok || e.release.Ledger.Seq > r.Ledger.Seq)
		if newer && slices.ContainsFunc(keys, byKey) {
			scope, r, ok = signed.Scope(e.Scope), e.release, true
		}
	}
	return scope, r, ok
}

// Learn takes in a release that one of keys has signed, unless a later state of its ledger is known. See [Heads.Save].
func (h *Heads) Learn(keys []ed25519.PublicKey, scope signed.Scope, r signed.Release) {
	if h == nil || r.Ledger == (signed.Head{}) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var key ed25519.PublicKey
	for _, k := range keys {
		if key == nil && r.Verify(scope, []ed25519.PublicKey{k}) == nil {
			key = k
		}
	}
	if key == nil {
		return
	}
	e := headEntry{Key: hexText(key), Ledger: r.Ledger.ID[:], Scope: scope[:], Release: r.Append(nil), release: r}
	ofKey, first := 0, -1 // ledgers of this key, and the one that was learned first
	for i := range h.entries {
		old := &h.entries[i]
		if !bytes.Equal(old.Key, e.Key) {
			continue
		}
		if bytes.Equal(old.Ledger, e.Ledger) {
			// A device that took over from a lost one may continue with an older copy of its ledger.
			sameRun := bytes.Equal(old.Scope, e.Scope)
			if r.Ledger.Seq > old.release.Ledger.Seq || sameRun && r.Epoch > old.release.Epoch {
				*old, h.changed = e, true
			}
			return
		}
		if ofKey++; first < 0 {
			first = i
		}
	}
	if ofKey >= headsOfKey || len(h.entries) >= maxLines {
		h.entries = append(h.entries[:max(first, 0)], h.entries[max(first, 0)+1:]...)
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
	err := writeLines(h.path, h.entries)
	h.changed = err != nil
	return err
}
