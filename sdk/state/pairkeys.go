package state

import (
	"crypto/ecdh"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/pair"
)

// PairKeys is a file with a device's one-time keys of pairwise noise, one JSON object per line, which only its owner
// may read. A line stays when the private half of its key is deleted, so that the key is never used again. PairKeys
// implements [pair.Keys]. Several processes may use one file at once.
type PairKeys string

// pairLine is a one-time key: unused (private half, no fleet), in use (both), or used (fleet, no private half).
type pairLine struct {
	Member  string      `json:"member"`
	Public  pair.Public `json:"public"`
	Private []byte      `json:"private,omitempty"`
	Fleet   hexText     `json:"fleet,omitempty"` // hash of the fleet in whose run the key is used
}

func (l *pairLine) check() error {
	switch {
	case l.Fleet != nil && len(l.Fleet) != 32:
		return fmt.Errorf("fleet has %d bytes, want 32", len(l.Fleet))
	case l.Private != nil:
		key, err := ecdh.X25519().NewPrivateKey(l.Private)
		if err != nil || pair.PublicOf(key) != l.Public {
			return errors.New("private is not the private half of public")
		}
	case l.Fleet == nil:
		return errors.New("private and fleet are missing, want at least one of them")
	}
	return nil
}

// read returns the lines of the file, and none if the file does not exist.
func (k PairKeys) read() ([]pairLine, error) {
	if err := checkModes(string(k)); err != nil {
		return nil, err
	}
	text, err := readIfThere(string(k))
	if err != nil {
		return nil, err
	}
	lines, err := parseLines(text, (*pairLine).check)
	for i, l := range lines {
		if find(lines, l.Public) < i {
			err = errors.Join(err, fmt.Errorf("line %d: %v is in an earlier line already", i+1, l.Public))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("state: one-time keys %s: %w; restore no old copy: remove the file, make new keys, and "+
			"begin another run", string(k), err)
	}
	return lines, nil
}

func find(lines []pairLine, public pair.Public) int {
	return slices.IndexFunc(lines, func(l pairLine) bool { return l.Public == public })
}

// change replaces the lines of the file by the lines that edit returns, while no other process changes them. If edit
// returns nil, the file stays as it is.
func (k PairKeys) change(edit func(lines []pairLine) ([]pairLine, error)) error {
	if err := makeDir(filepath.Dir(string(k))); err != nil {
		return named(err)
	}
	const patience = 10 * time.Second
	lock, err := lockFile(string(k)+".lock", os.O_CREATE)
	for end := time.Now().Add(patience); errors.Is(err, errLocked) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		lock, err = lockFile(string(k)+".lock", os.O_CREATE)
	}
	if err != nil {
		return named(err)
	}
	lines, err := k.read()
	if err == nil {
		lines, err = edit(lines)
	}
	if err == nil && lines != nil {
		err = replaceLines(string(k), lines)
	}
	return errors.Join(err, lock.Close())
}

// Add makes new keys for a member and returns their public halves, which are durable by then.
func (k PairKeys) Add(member string, n int) (made []pair.Public, err error) {
	err = k.change(func(lines []pairLine) ([]pairLine, error) {
		for range n {
			key, err := pair.NewPrivate()
			if err != nil {
				return nil, err
			}
			made = append(made, pair.PublicOf(key))
			lines = append(lines, pairLine{Member: member, Public: pair.PublicOf(key), Private: key.Bytes()})
		}
		return lines, nil
	})
	return made, err
}

// Unused returns the public halves of a member's keys that no run has used, in the order in which they were made.
func (k PairKeys) Unused(member string) (list []pair.Public, err error) {
	lines, err := k.read()
	for _, l := range lines {
		if l.Member == member && l.Fleet == nil {
			list = append(list, l.Public)
		}
	}
	return list, err
}

// line returns the line of a key that was not used in another run than that of the given fleet.
func (k PairKeys) line(lines []pairLine, public pair.Public, fleet [32]byte) (*pairLine, error) {
	i := find(lines, public)
	err := pair.ErrMissing
	if i >= 0 {
		if l := &lines[i]; l.Fleet == nil || [32]byte(l.Fleet) == fleet {
			return l, nil
		}
		err = fmt.Errorf("the fleet with hash %x used it, not %x: %w", []byte(lines[i].Fleet[:8]), fleet[:8], pair.ErrUsed)
	}
	return nil, fmt.Errorf("state: one-time keys %s: %v: %w", string(k), public, err)
}

// Find implements [pair.Keys].
func (k PairKeys) Find(public pair.Public, fleet [32]byte) (*ecdh.PrivateKey, error) {
	lines, err := k.read()
	if err != nil {
		return nil, err
	}
	l, err := k.line(lines, public, fleet)
	if err != nil || l.Private == nil {
		return nil, err
	}
	return ecdh.X25519().NewPrivateKey(l.Private)
}

// Bind implements [pair.Keys].
func (k PairKeys) Bind(public pair.Public, fleet [32]byte) error { return k.set(public, fleet, false) }

// Delete implements [pair.Keys].
func (k PairKeys) Delete(public pair.Public, fleet [32]byte) error { return k.set(public, fleet, true) }

// set binds a key to a run and, if over is set, deletes its private half. It writes only if this changes the file.
func (k PairKeys) set(public pair.Public, fleet [32]byte, over bool) error {
	return k.change(func(lines []pairLine) ([]pairLine, error) {
		l, err := k.line(lines, public, fleet)
		if err != nil || l.Fleet != nil && over == (l.Private == nil) {
			return nil, err
		}
		if l.Fleet = fleet[:]; over {
			l.Private = nil
		}
		return lines, nil
	})
}
