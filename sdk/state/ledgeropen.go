package state

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk/regular"
)

// mostLedger bounds the length of a ledger's file in bytes. It allows more than a million lines.
const mostLedger = 1 << 30

// NeverUsed is the declaration that no run has used the data of a new ledger.
var NeverUsed = certificate.Declaration{NeverUsed: true}

// neverAfresh ends the text of each error about a missing ledger.
const neverAfresh = "a new ledger is never started automatically, because it would forget what the data set has spent"

// CreateLedger creates the ledger of a data set and leaves it open. dataset is the name of the data set in reports. unit
// is what the ledger's figures protect: that of the runs that it counts, besides those that protect each client. The
// new ledger starts at the cost that the owner declares: [NeverUsed], or the result of audit.DeclareSpent. limit
// bounds the cost of all runs (see [dpmech.Limit]); with a nil limit the ledger only counts. CreateLedger fails if path
// has a ledger, or the mark of a ledger of which a release may have been sent, or if the declared cost exceeds the limit.
// It replaces what an interrupted CreateLedger left, which is less than a line.
func CreateLedger(path, dataset string, unit dpmech.Unit, limit *dpmech.Limit, declared certificate.Declaration) (*Ledger, error) {
	h := header{Version: 1, Dataset: dataset, Created: time.Now().UTC().Format(time.RFC3339), Unit: unit, Limit: limit, Declared: declared}
	if _, err := h.composition(); err != nil {
		return nil, err
	}
	if err := absent(path); err != nil {
		return nil, err
	}
	if m, err := readMark(path); err != nil || m != nil && m.Seq > 0 {
		return nil, errors.Join(fmt.Errorf("state: ledger %s is missing, but its mark %s exists: "+
			"restore the newest copy of the ledger; %s", path, markPath(path), neverAfresh), err)
	}
	heads, err := openHeads(headsPath(path))
	if err != nil {
		return nil, err
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	h.ID = hex.EncodeToString(id)
	l := &Ledger{path: path, heads: heads, log: new(ledgerLog)}
	line, err := json.Marshal(h)
	if err == nil {
		err = l.log.start(line)
	}
	if err == nil && l.log.size() >= maxLine {
		err = fmt.Errorf("its first line has %d bytes, want less than %d: shorten the data set's name or the note", l.log.size(), maxLine)
	}
	if err != nil {
		return nil, l.fault(err)
	}
	if l.file, err = lockFile(path, os.O_CREATE); err != nil {
		return nil, fmt.Errorf("state: new ledger: %w", err)
	}
	if err = absent(path); err != nil { // another process has been faster
		return nil, errors.Join(err, l.closeFiles())
	}
	if err = l.create(append(line, '\n')); err != nil {
		return nil, errors.Join(fmt.Errorf("state: new ledger: %w", err), l.closeFiles(), l.remove())
	}
	return l, nil
}

// create makes the mark and the first line of a new ledger durable. The mark comes first, so that a ledger with a line and
// without a mark is never the new one that it looks like: it was copied, or is used under another name, or its mark was
// removed.
func (l *Ledger) create(line []byte) error {
	if err := l.file.truncate(0); err != nil {
		return err
	}
	if err := l.acknowledge(); err != nil {
		return err
	}
	if err := writeSync(l.file, line, 0); err != nil {
		return err
	}
	return syncDir(filepath.Dir(l.path))
}

// remove removes a new ledger, on which no release depends yet, and its mark, if there is one.
func (l *Ledger) remove() error {
	err := os.Remove(l.path)
	if mark := os.Remove(markPath(l.path)); !errors.Is(mark, fs.ErrNotExist) {
		err = errors.Join(err, mark)
	}
	return err
}

// absent returns an error if path has anything but what an interrupted CreateLedger leaves.
func absent(path string) error {
	text, err := regular.Read(path, maxLine)
	if errors.Is(err, fs.ErrNotExist) || err == nil && begun(text) {
		return nil
	}
	return fmt.Errorf("state: %s: %w; a ledger is never overwritten", path, fs.ErrExist)
}

// begun reports whether a ledger's text is less than a line: no release can depend on it.
func begun(text []byte) bool { return bytes.IndexByte(text, '\n') < 0 }

// OpenLedger opens a ledger and checks all of it. If a crash left an incomplete reservation, which Reserve never
// acknowledged, OpenLedger removes it. Reservations after the mark count, although their releases were never sent.
// OpenLedger fails if the ledger is missing, in use by another process, damaged or older than its mark.
func OpenLedger(path string) (*Ledger, error) {
	if err := checkModes(path, markPath(path)); err != nil {
		return nil, err
	}
	f, err := lockFile(path, 0)
	if err != nil {
		return nil, missing(path, err)
	}
	l := &Ledger{path: path, file: f}
	m, err := readMark(path)
	if err == nil && m != nil {
		// The previous process may have been killed after it renamed the mark's file and before it synced the
		// directory, so the directory is synced now.
		err = l.fault(errors.Join(l.openMark(), syncDir(filepath.Dir(path))))
	}
	if err = l.recover(m, err); err == nil {
		l.heads, err = openHeads(headsPath(path))
	}
	if err != nil {
		return nil, errors.Join(err, l.closeFiles())
	}
	return l, nil
}

// ReadLedger opens a ledger for reading and checks all of it. It changes nothing and works while another process has
// the ledger open. Reserve and Mark fail on the returned ledger.
func ReadLedger(path string) (*Ledger, error) {
	m, markErr := readMark(path) // read before the lines: a line written meanwhile is then after the mark
	text, err := regular.Read(path, mostLedger)
	if err != nil {
		return nil, missing(path, err)
	}
	l := &Ledger{path: path}
	if _, err = l.read(withoutRoom(text), m, markErr); err != nil {
		return nil, err
	}
	return l, nil
}

// ErrNoLedger is wrapped by the error for a path without a ledger, and without any sign that one was ever used.
var ErrNoLedger = errors.New("create a new ledger, and declare what earlier runs on this data have spent")

// Restore is the advice in each error about a ledger that lost reservations or its mark.
const Restore = "restore the newest copy of ledger and mark together; without a copy, create a new ledger and " +
	"declare all that the data set may have spent"

// LostLedger returns err, the reason why a ledger cannot be opened. If the ledger is missing although a state folder or a
// certificate has releases, LostLedger advises to restore the ledger instead of making a new one.
func LostLedger(err error, ledger, folder string, released bool) error {
	if !released || !errors.Is(err, ErrNoLedger) {
		return err
	}
	return fmt.Errorf("state: ledger %s and its high-water mark are missing, but %s has releases that were charged to the "+
		"ledger: "+Restore, ledger, folder)
}

func headsPath(ledger string) string { return ledger + ".neighbors" }

// used reports whether a run with neighbors has used the ledger at path. It looks for the files that such a run leaves
// next to the ledger.
func used(path string) bool {
	_, err := os.Stat(headsPath(path))
	return err == nil
}

func missing(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("state: ledger: %w", err)
	}
	m, damaged := readMark(path)
	if damaged != nil {
		return fmt.Errorf("state: ledger: %w: the ledger was deleted, but its mark %s exists, and cannot be read; "+Restore, err, markPath(path))
	}
	if m != nil && m.Seq > 0 {
		return fmt.Errorf("state: ledger: %w: the ledger was deleted, but its mark %s shows %d "+
			"reservations; "+Restore, err, markPath(path), m.Seq)
	}
	if used(path) {
		return fmt.Errorf("state: ledger: %w: the ledger and its mark were deleted, but %s shows that runs have used "+
			"the ledger; "+Restore, err, headsPath(path))
	}
	return fmt.Errorf("state: ledger: %w; %s: %w", err, neverAfresh, ErrNoLedger)
}

// read parses a ledger's lines and checks them against its mark.
func (l *Ledger) read(lines []byte, m *highWater, markErr error) (torn int, err error) {
	if markErr != nil {
		return 0, markErr
	}
	var head *certificate.Head
	if m != nil {
		head = &m.Head
	}
	if (m == nil || m.Seq == 0) && begun(lines) && !used(l.path) {
		return 0, fmt.Errorf("state: ledger %s: its creation was interrupted; %s: %w", l.path, neverAfresh, ErrNoLedger)
	}
	l.log, torn, err = readLedgerLog(lines, head)
	switch {
	case err != nil:
	case m != nil:
		if err = l.log.contains(*head); err == nil {
			l.log.settle(*m)
		}
	default:
		err = fmt.Errorf("its mark %s is missing: only the mark shows whether the ledger is the newest copy and "+
			"which releases may have been sent; "+Restore, markPath(l.path))
	}
	return torn, l.fault(err)
}

// recover reads the ledger's file, and makes the file and its mark m (nil for none) durable.
func (l *Ledger) recover(m *highWater, err error) error {
	size, errSize := l.file.size()
	if errSize == nil && size > mostLedger {
		return l.fault(fmt.Errorf("has %d bytes, want at most %d", size, int64(mostLedger)))
	}
	text := make([]byte, size)
	errText := readAt(l.file, text, 0)
	torn, err := l.read(withoutRoom(text), m, errors.Join(err, errSize, errText))
	l.room = size
	if err == nil {
		// The previous process may have been killed before the mark's sync, or the sync may have failed. Another sync
		// would do nothing, so the mark is first written again.
		l.place, l.markRoom = 1-m.place, m.room
		err = l.fault(l.writeMark(m))
	}
	if err != nil || torn == 0 && m.Seq == l.log.seq() && m.Seq > 0 {
		return err
	}
	if torn > 0 {
		l.room = l.log.size()
		err = l.file.truncate(l.room)
	}
	// Lines after the mark may be readable although their sync failed. Another sync would do nothing, so the lines are
	// first written again. Their releases were never sent, so the mark stays unchanged. The mark of a new ledger is older than
	// the first line.
	from := int64(0)
	if m.Seq > 0 {
		from = l.log.lines[m.Seq].end
	}
	if err == nil {
		err = writeSync(l.file, text[from:l.log.size()], from)
	}
	return l.fault(err)
}

// withoutRoom returns text without the zeros after its lines: the unused rest of the last block, and any partly added
// block.
func withoutRoom(text []byte) []byte {
	tail := max(0, len(text)-maxLine-2*block)
	return text[:tail+len(bytes.TrimRight(text[tail:], "\x00"))]
}
