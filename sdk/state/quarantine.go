package state

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
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

// QuarantinePath returns where the [Dir] in a directory keeps what it has of neighbors in quarantine: a JSON object a
// line.
func QuarantinePath(dir string) string { return filepath.Join(dir, "quarantine.jsonl") }

// Quarantined returns what [Dir.AddQuarantine] has kept, in the order in which it was added.
func (d *Dir) Quarantined() ([]Quarantine, error) { return ReadQuarantine(d.dir) }

// AddQuarantine keeps a quarantine, durably. The first one of a neighbor stays.
func (d *Dir) AddQuarantine(q Quarantine) error {
	list, err := d.Quarantined()
	if err != nil || slices.ContainsFunc(list, func(old Quarantine) bool { return old.Neighbor == q.Neighbor }) {
		return err
	}
	return writeLines(QuarantinePath(d.dir), append(list, q))
}

// ReadQuarantine returns what the store in a directory keeps of neighbors in quarantine. A missing file yields an empty
// list; a damaged line is an error. Nothing is verified.
func ReadQuarantine(dir string) ([]Quarantine, error) {
	return readLines(QuarantinePath(dir), " and work with its neighbors again", func(q *Quarantine) error {
		if q.Release < 1 || q.Neighbor == "" {
			return fmt.Errorf("neighbor %q and release %d, want a name and 1 or more", q.Neighbor, q.Release)
		}
		return nil
	})
}
