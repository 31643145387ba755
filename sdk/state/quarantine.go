package state

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// Quarantine is what a node keeps of a neighbor with which it has ended to work: why, and what there is to show it.
type Quarantine struct {
	Run      string  `json:"run"`
	Fleet    string  `json:"fleet"`    // SHA-256 of the fleet's canonical form, in hexadecimal digits
	Member   string  `json:"member"`   // whose file this is
	Neighbor string  `json:"neighbor"` // who is in quarantine
	Release  int     `json:"release"`  // the member's first release that is made without the neighbor
	Round    int     `json:"round"`    // how many releases the member had made
	Why      string  `json:"why"`      // what was found, and what was wanted
	Told     bool    `json:"told"`     // the neighbor has said that it goes on without the member, and not the other way round
	Frames   []Frame `json:"frames"`   // what the neighbor has sent; a signed release in it is in the field "own"
}

// Frame is a frame of a neighbor.
type Frame struct {
	Bytes  int    `json:"bytes"`  // its length
	SHA256 string `json:"sha256"` // of all of it, in hexadecimal digits
	Start  []byte `json:"start"`  // its first bytes, MaxFrameKept at most
}

// MaxFrameKept bounds what is kept of a frame, in bytes.
const MaxFrameKept = 256 << 10

// NewFrame returns what is kept of a frame. It copies it.
func NewFrame(b []byte) Frame {
	return Frame{Bytes: len(b), SHA256: fmt.Sprintf("%x", sha256.Sum256(b)),
		Start: append([]byte(nil), b[:min(len(b), MaxFrameKept)]...)}
}

// QuarantinePath returns where the [Dir] in a directory keeps what it has of a neighbor in quarantine. Of the name,
// letters, digits and - are as they are, and other bytes in hexadecimal digits.
func QuarantinePath(dir, neighbor string) string {
	var b strings.Builder
	for _, c := range []byte(neighbor) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return filepath.Join(dir, "quarantine", "of-"+b.String()+".json")
}

// Quarantined returns what [Dir.AddQuarantine] has kept, in the order of file names.
func (d *Dir) Quarantined() ([]Quarantine, error) { return ReadQuarantine(d.dir) }

// AddQuarantine keeps a quarantine in a file of its own; it is on the disk when AddQuarantine returns. The first one of
// a neighbor stays.
func (d *Dir) AddQuarantine(q Quarantine) error {
	path := QuarantinePath(d.dir, q.Neighbor)
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	text, err := json.MarshalIndent(q, "", "  ")
	if err == nil {
		err = makeDir(filepath.Dir(path))
	}
	if err == nil {
		err = replaceFile(path, append(text, '\n'))
	}
	if err == nil {
		err = syncDir(d.dir)
	}
	return advise(err)
}

// ReadQuarantine returns what the store in a directory keeps of neighbors in quarantine. No file is none, a damaged one
// an error. Nothing is verified.
func ReadQuarantine(dir string) ([]Quarantine, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "quarantine"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, advise(err)
	}
	var list []Quarantine
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") { // a crash has left it
			continue
		}
		path := filepath.Join(dir, "quarantine", e.Name())
		var q Quarantine
		text, err := os.ReadFile(path)
		if err == nil {
			err = dpmech.ReadJSON(text, &q)
		}
		if err == nil && (q.Release < 1 || q.Neighbor == "") {
			err = fmt.Errorf("neighbor %q and release %d, want a name and 1 or more", q.Neighbor, q.Release)
		}
		if err != nil {
			return nil, fmt.Errorf("state: %s: %w; bring the file back from a copy, or remove it and work with that neighbor again",
				path, err)
		}
		list = append(list, q)
	}
	return list, nil
}
