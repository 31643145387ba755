package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk/regular"
)

// block is the number of bytes by which a ledger grows. Later writes then overwrite these bytes in place. The two
// places of a mark file are a multiple of block apart, so that an interrupted write damages only one of the two marks.
const block = 4096

func blocks(n int64) int64 { return (n + block - 1) / block * block }

// highWater is a ledger's high-water mark: the line that was newest when the mark was written, and the list of lines up
// to that line whose releases were never sent. All other releases up to that line may have been sent. No release after
// that line has been sent.
//
// The file has two places of equal length, in whole blocks. A mark is written to the place that does not hold the
// newest mark, as JSON, a space, the SHA-256 of the JSON in hexadecimal and a newline. If a mark is torn, the other place
// still holds the previous mark, which is then used.
type highWater struct {
	certificate.Head
	Unsent []int `json:"unsent,omitempty"` // ascending

	place int   // place that the mark was read from, 0 or 1
	room  int64 // length of each place in bytes
}

func markPath(ledger string) string { return ledger + ".mark" }

// readMark returns the high-water mark of a ledger, or nil if there is none. The ledger may be in use: if two marks are
// written during a read, readMark reads again.
func readMark(ledger string) (*highWater, error) {
	for try := 1; ; try++ {
		data, err := regular.Read(markPath(ledger), mostKept)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("state: high-water mark of a ledger: %w", err)
		}
		m, err := parseMark(data)
		if err == nil {
			return m, nil
		}
		if try == 3 {
			return nil, fmt.Errorf("state: the high-water mark %s of a ledger is damaged: %w; restore the mark from "+
				"a copy", markPath(ledger), err)
		}
	}
}

func parseMark(data []byte) (*highWater, error) {
	if len(data) == 0 || len(data)%(2*block) != 0 {
		return nil, fmt.Errorf("found %d bytes, want two halves of equal length, each a multiple of %d bytes", len(data), block)
	}
	var newest *highWater
	var faults [2]error
	for i := range faults {
		room := len(data) / 2
		line, _, _ := bytes.Cut(data[i*room:(i+1)*room], []byte{'\n'})
		text, sum, _ := bytes.Cut(line, []byte{' '})
		if want := sha256.Sum256(text); string(sum) != hex.EncodeToString(want[:]) {
			faults[i] = errors.New("the content does not match its SHA-256")
			continue
		}
		m, err := parseHighWater(text)
		// The newer of the two marks has more lines or, if both have the same number of lines, fewer unsent lines.
		if faults[i] = err; err == nil &&
			(newest == nil || m.Seq > newest.Seq || m.Seq == newest.Seq && len(m.Unsent) < len(newest.Unsent)) {
			newest = m
			newest.place, newest.room = i, int64(room)
		}
	}
	if newest == nil {
		return nil, errors.Join(faults[:]...)
	}
	return newest, nil
}

func parseHighWater(text []byte) (*highWater, error) {
	var m highWater
	if err := exactJSON(text, &m); err != nil {
		return nil, err
	}
	for i, seq := range m.Unsent {
		if seq < 1 || seq > m.Seq || i > 0 && seq <= m.Unsent[i-1] {
			return nil, fmt.Errorf("unsent has %d at index %d, want numbers 1..%d in ascending order", seq, i, m.Seq)
		}
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return &m, nil
}

func (l *Ledger) acknowledge() error {
	return l.writeMark(&highWater{Head: l.log.head(l.log.seq()), Unsent: l.log.unsent})
}

// writeMark durably writes a mark to the place that does not hold the newest mark.
func (l *Ledger) writeMark(m *highWater) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	record := fmt.Appendf(text, " %x\n", sha256.Sum256(text))
	if int64(len(record)) > l.markRoom {
		return l.newMark(record)
	}
	l.place = 1 - l.place
	return writeSync(l.marks, record, int64(l.place)*l.markRoom)
}

// newMark replaces the mark file with a file of two places, each with enough room for the mark, and writes the mark to
// the first place.
func (l *Ledger) newMark(record []byte) error {
	err := closeAll(l.marks) // some systems do not replace an open file
	l.marks, l.place, l.markRoom = nil, 0, blocks(int64(len(record)))
	if err == nil {
		err = Replace(markPath(l.path), append(record, make([]byte, 2*l.markRoom-int64(len(record)))...), 0o600)
	}
	if err == nil {
		err = l.openMark()
	}
	return err
}

func (l *Ledger) openMark() (err error) {
	l.marks, err = osDisk("").open(markPath(l.path), os.O_RDWR)
	return err
}
