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

	"github.com/spade-dfl/spade-edge/dpmech"
)

// block is what files grow by, so that a later write changes no length and goes in place, and what no two marks share,
// so that a write that is cut short damages one of them.
const block = 4096

// blocks returns n rounded up to whole blocks.
func blocks(n int64) int64 { return (n + block - 1) / block * block }

// highWater is a ledger's high-water mark: the newest line when it was written, and which of the lines up to there have
// a release that was never sent, because a crash came between line and mark. All others up to there may have been sent,
// and none behind.
//
// The file of the mark has two places of the same length, in whole blocks. A mark goes where the newest one is not, as
// JSON, a space, the SHA-256 of the JSON in hexadecimal digits and a newline; the rest of the place means nothing. One
// sync is enough: a mark that is torn does not match its SHA-256, and the one before it was not touched. That it counts
// again is right, since nothing was sent before that sync.
//
// Older programs replaced a file of the JSON alone. It is read, and makes way for two places with the next mark.
type highWater struct {
	dpmech.Head
	Unsent []int `json:"unsent,omitempty"` // ascending
}

// markPath returns where the high-water mark of a ledger is.
func markPath(ledger string) string { return ledger + ".mark" }

// openMark opens the file of a ledger's mark. It is nil if there is none.
func openMark(ledger string) (file, error) {
	f, err := os.OpenFile(markPath(ledger), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("state: mark of a ledger: %w", err)
	}
	return osFile{f}, nil
}

// readMark returns the high-water mark of the ledger at a path, nil if it has none. The ledger may be in use: what is
// read while two marks are written is read again.
func readMark(ledger string) (*highWater, error) {
	for try := 1; ; try++ {
		data, err := os.ReadFile(markPath(ledger))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("state: mark of a ledger: %w", err)
		}
		m, _, err := parseMark(data)
		if err == nil || try == 3 {
			return m, damagedMark(ledger, err)
		}
	}
}

func damagedMark(ledger string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("state: %s, the mark of a ledger, is damaged: %w; bring it back from a copy", markPath(ledger), err)
}

// parseMark returns the newest mark in a file and its place, 0 or 1; -1 if the file is of the older form.
func parseMark(data []byte) (m *highWater, place int, err error) {
	if len(data) == 0 || len(data)%(2*block) != 0 {
		m, err = parseHighWater(bytes.TrimSpace(data))
		return m, -1, err
	}
	var faults [2]error
	for i := range 2 {
		var found *highWater
		found, faults[i] = parseRecord(data[i*len(data)/2 : (i+1)*len(data)/2])
		// Between two marks lines are added, or releases made that were not sent before.
		if found != nil && (m == nil || found.Seq > m.Seq || found.Seq == m.Seq && len(found.Unsent) < len(m.Unsent)) {
			m, place = found, i
		}
	}
	if m == nil {
		return nil, 0, errors.Join(faults[:]...)
	}
	return m, place, nil
}

// record returns the mark as it is written in a place.
func (m *highWater) record() ([]byte, error) {
	text, err := json.Marshal(m)
	return fmt.Appendf(text, " %x\n", sha256.Sum256(text)), err
}

// parseRecord reads the mark in a place.
func parseRecord(place []byte) (*highWater, error) {
	line, _, _ := bytes.Cut(place, []byte{'\n'})
	text, sum, _ := bytes.Cut(line, []byte{' '})
	if want := sha256.Sum256(text); string(sum) != hex.EncodeToString(want[:]) {
		return nil, errors.New("it does not match its SHA-256")
	}
	return parseHighWater(text)
}

// parseHighWater reads the JSON of a mark.
func parseHighWater(text []byte) (*highWater, error) {
	var m highWater
	if err := exactJSON(text, &m); err != nil {
		return nil, err
	}
	for i, seq := range m.Unsent {
		if seq < 1 || seq > m.Seq || i > 0 && seq <= m.Unsent[i-1] {
			return nil, fmt.Errorf("unsent has %d in place %d, want numbers of 1..%d in ascending order", seq, i, m.Seq)
		}
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return &m, nil
}

// loadMark returns the high-water mark in the open file, nil if there is none.
func (l *Ledger) loadMark() (m *highWater, err error) {
	if l.marks == nil {
		return nil, nil
	}
	size, err := l.marks.size()
	data := make([]byte, size)
	if err == nil {
		err = readAt(l.marks, data, 0)
	}
	if err == nil {
		m, l.place, err = parseMark(data)
	}
	if err != nil {
		return nil, damagedMark(l.path, err)
	}
	if l.markRoom = size / 2; l.place < 0 {
		l.markRoom = 0
	}
	return m, nil
}

// keepMark makes the mark that was loaded durable. The process before may have been killed before its sync, or the sync
// may have failed: then another one is of no use unless the mark is written again.
func (l *Ledger) keepMark(m *highWater) error {
	if l.place < 0 {
		return l.marks.sync()
	}
	record, err := m.record()
	if err != nil {
		return err
	}
	return writeSync(l.marks, record, int64(l.place)*l.markRoom)
}

// acknowledge writes the mark of the present state.
func (l *Ledger) acknowledge() error {
	record, err := (&highWater{Head: l.log.head(l.log.seq()), Unsent: l.log.unsent}).record()
	if err != nil {
		return err
	}
	l.written += int64(len(record))
	if int64(len(record)) > l.markRoom {
		return l.newMark(record)
	}
	l.place = 1 - l.place
	return writeSync(l.marks, record, int64(l.place)*l.markRoom)
}

// newMark makes the file of the mark anew, with a mark in the first of two places that have room for it.
func (l *Ledger) newMark(record []byte) error {
	err := closeAll(l.marks) // some systems replace no file that is open
	l.marks, l.place, l.markRoom = nil, 0, blocks(int64(len(record)))
	if err == nil {
		err = replaceFile(markPath(l.path), append(record, make([]byte, 2*l.markRoom-int64(len(record)))...))
	}
	if err == nil {
		l.marks, err = openMark(l.path)
	}
	return err
}
