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
	"reflect"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// Ledger is the lifetime account of one data set on a device: a file outside any run's state, in which every release of
// every run, whatever it is for, is written before it is made.
//
// The file is one JSON object a line: first what the ledger is, then one reservation after the other, each with the
// SHA-256 of the line before it, so that no line can be changed, moved or removed undetected. Until it is closed, zeros
// follow, room for the lines to come. A small file beside it, the high-water mark (its name with ".mark" appended),
// says which of the releases may have been sent, see [Ledger.Mark], and holds the [dpmech.Head] of the newest line at
// that time: a ledger that was cut off, or put back from an old copy, does not contain it and is refused. A crash can
// only leave a reservation too many. If ledger and mark are put back together, only a later head shows it, such as that
// in the node's state: see [Ledger.Contains].
//
// One process at a time holds a ledger open, and may use it from many goroutines. After a write or sync that failed
// every further reservation and mark fails: what the disk holds then is known only after opening it again.
type Ledger struct {
	path string

	mu       sync.Mutex
	file     file  // nil if the ledger is closed, or was opened for reading
	room     int64 // how long the file is: lines, and then zeros for more of them
	log      *ledgerLog
	marks    file  // of the high-water mark
	place    int   // where the newest mark is, 0 or 1
	markRoom int64 // length of a place; 0 if there is no mark yet
	broken   error // the write or sync that failed
}

// Declaration is what an operator vouches for when a ledger is made.
type Declaration string

// NeverUsed declares that no run has used the data before, though this member had another ledger: for other data.
const NeverUsed Declaration = "never used"

// neverAfresh ends the errors about a ledger that does not exist.
const neverAfresh = "a ledger is never started afresh by itself, for it would forget what the data set has spent"

// CreateLedger makes the ledger of a data set, which people will know by the name dataset, and leaves it open. This is
// a decision: the data set counts as never used before. limit bounds what all runs together may spend, against all other
// members together unless its EpsilonAll says otherwise (see [dpmech.Limit]); nil only counts.
// It is an error if there is a ledger at path, or if there was one and its mark still exists.
//
// If neighbors hold a checkpoint of another ledger of the same member, a new ledger inherits what that one says was
// spent, see [Ledger.Inherit]. With [NeverUsed] it does not.
func CreateLedger(path, dataset string, limit *dpmech.Limit, declared ...Declaration) (*Ledger, error) {
	h := header{Version: 1, Dataset: dataset, Created: time.Now().UTC().Format(time.RFC3339), Limit: limit,
		NeverUsed: len(declared) > 0}
	_, errHeader := h.composition()
	_, errLimit := dpmech.NewFilter(limit) // a limit too small for any release
	if err := errors.Join(errHeader, errLimit); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("state: %s: %w; a ledger is never overwritten", path, fs.ErrExist)
	}
	if m, err := readMark(path); m != nil || err != nil {
		return nil, errors.Join(fmt.Errorf("state: ledger %s is gone, but its mark %s exists: "+
			"bring back the newest copy of the ledger; %s", path, markPath(path), neverAfresh), err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	h.ID = hex.EncodeToString(id)
	l := &Ledger{path: path, log: new(ledgerLog)}
	line, err := json.Marshal(h)
	if err == nil {
		err = l.log.start(line)
	}
	if err != nil {
		return nil, l.fault(err)
	}
	if l.file, err = lockFile(path, os.O_CREATE|os.O_EXCL); err != nil {
		return nil, fmt.Errorf("state: new ledger: %w", err)
	}
	if err = writeSync(l.file, append(line, '\n'), 0); err == nil {
		if err = syncDir(filepath.Dir(path)); err == nil {
			err = l.acknowledge()
		}
	}
	if err != nil { // nobody has seen it yet
		err = errors.Join(fmt.Errorf("state: new ledger: %w", err), l.closeFiles(), os.Remove(path))
		if mark := os.Remove(markPath(path)); !errors.Is(mark, fs.ErrNotExist) {
			err = errors.Join(err, mark)
		}
		return nil, err
	}
	return l, nil
}

// OpenLedger opens a ledger and checks all of it. A reservation that a crash has torn is taken off its end: nobody was
// told that it was made. Reservations that no mark covers stay, and stay without one: they count, and were never sent.
// A ledger that is missing, in use by another process, damaged or older than its mark is an error.
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
		// The process before may have been killed after it had renamed the mark.
		err = l.fault(errors.Join(l.openMark(), syncDir(filepath.Dir(path))))
	}
	if err = l.recover(m, err); err != nil {
		return nil, errors.Join(err, l.closeFiles())
	}
	return l, nil
}

// ReadLedger opens a ledger for reading: it checks all of it, changes nothing, and can be used while another process
// has the ledger open. Reserve and Mark fail.
func ReadLedger(path string) (*Ledger, error) {
	m, markErr := readMark(path) // first: a reservation made while we read is then only one more
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, missing(path, err)
	}
	l := &Ledger{path: path}
	if _, err = l.read(withoutRoom(text), m, markErr); err != nil {
		return nil, err
	}
	return l, nil
}

// ErrNoLedger is what [errors.Is] finds in an error that says: there is no ledger, and no trace of one.
var ErrNoLedger = errors.New("if this data set was never used before, make a new one")

// Restore ends the errors about a ledger that has lost what it counted, or its mark.
const Restore = "restore the newest copy of ledger and mark together, or, if there is none, make a new ledger whose limit " +
	"leaves out all that the data set may have spent"

// headsPath returns where a node remembers what its neighbors have signed, see [Heads].
func headsPath(ledger string) string { return ledger + ".neighbors" }

// used reports whether a run with neighbors has used the ledger at a path.
func used(path string) bool {
	_, err := os.Stat(headsPath(path))
	return err == nil
}

// missing explains that a ledger could not be opened.
func missing(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("state: ledger: %w", err)
	}
	if m, _ := readMark(path); m != nil {
		return fmt.Errorf("state: ledger: %w: it was deleted, for its mark %s names %d reservations; "+Restore, err, markPath(path),
			m.Seq)
	}
	if used(path) {
		return fmt.Errorf("state: ledger: %w: it was deleted with its mark, for %s shows that runs have used it; "+Restore, err,
			headsPath(path))
	}
	return fmt.Errorf("state: ledger: %w; %s: %w", err, neverAfresh, ErrNoLedger)
}

// read takes in a ledger's lines and checks them against its mark.
func (l *Ledger) read(lines []byte, m *highWater, markErr error) (torn int, err error) {
	if markErr != nil {
		return 0, markErr
	}
	var head *dpmech.Head
	if m != nil {
		head = &m.Head
	}
	l.log, torn, err = readLedgerLog(lines, head)
	switch {
	case err != nil:
	case m != nil:
		if err = l.log.contains(*head); err == nil {
			l.log.settle(*m)
		}
	case l.log.seq() > 0 || used(l.path):
		err = fmt.Errorf("its mark %s is missing: only the mark shows whether the ledger is its newest copy, and which releases may "+
			"have been sent, so nothing may be released; "+Restore, markPath(l.path))
	}
	return torn, l.fault(err)
}

// recover reads the file, whose mark is m, nil if it has none, and makes durable what it finds in both.
func (l *Ledger) recover(m *highWater, err error) error {
	size, errSize := l.file.size()
	text := make([]byte, size)
	errText := readAt(l.file, text, 0)
	torn, err := l.read(withoutRoom(text), m, errors.Join(err, errSize, errText))
	l.room = size
	if err == nil && m != nil {
		err = l.fault(l.keepMark(m))
	}
	if err != nil || torn == 0 && m != nil && m.Seq == l.log.seq() {
		return err
	}
	if torn > 0 {
		l.room = l.log.size()
		err = l.file.truncate(l.room)
	}
	// Behind the mark may be lines whose sync failed: they can be read, and yet be on no disk, and another sync is of
	// no use unless they are written again. Their releases were never sent, and the mark stays where it is.
	from := int64(0)
	if m != nil {
		from = l.log.lines[m.Seq].end
	}
	if err == nil {
		err = writeSync(l.file, text[from:l.log.size()], from)
	}
	if err == nil && m == nil { // it was being made when the crash came
		err = l.acknowledge()
	}
	return l.fault(err)
}

// withoutRoom cuts off the zeros behind the lines of a ledger's file: the rest of a block, and of one that was to be
// added.
func withoutRoom(text []byte) []byte {
	tail := max(0, len(text)-2*block)
	return text[:tail+len(bytes.TrimRight(text[tail:], "\x00"))]
}

// append makes a line durable behind the others, and counts it. A file that has no room for it grows to the end of a
// block: the lines to come are written over the zeros there, so that their sync need not write a new length.
func (l *Ledger) append(e entry) error {
	line, err := l.log.line(l.log.seq()+1, e)
	if err != nil {
		return err
	}
	at, long := l.log.size(), len(line)
	if end := at + int64(long); end > l.room {
		l.room = blocks(end)
		line = append(line, make([]byte, l.room-end)...)
	}
	if l.broken = writeSync(l.file, line, at); l.broken == nil {
		l.broken = l.log.add(line[:long-1])
	}
	return l.broken
}

// runID names a run by the SHA-256 of its fleet.
func runID(run string, fleet [32]byte, member string) dpmech.RunID {
	return dpmech.RunID{Run: run, Fleet: hex.EncodeToString(fleet[:]), Member: member}
}

// fault names the ledger in an error.
func (l *Ledger) fault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("state: ledger %s: %w", l.path, err)
}

// Covers reports whether a whole run of so many rounds, all with the same parameters, fits the ledger's limit beside
// all other runs: an error around [dpmech.ErrBudget] if not. It reserves nothing.
func (l *Ledger) Covers(run string, fleet [32]byte, member string, rounds int, g dpmech.Gaussian) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault(l.log.spent.CheckRun(runID(run, fleet, member), rounds, g))
}

// Reserve counts the release of a round, before its noise is drawn, for a run of one member of a fleet, given by the
// SHA-256 of the fleet file; it is on disk when Reserve returns. For each run, the rules of [dpmech.Filter.Reserve]
// hold: a reservation may be repeated, and costs nothing then. The order for a node is [dpmech.Filter.Check], Reserve
// here, [dpmech.Filter.Reserve]: so a refusal by either counts nowhere, and a crash can only count too much. An error
// around [dpmech.ErrBudget] means that the lifetime limit does not cover the release; after any error nothing may be
// released. Before the release is sent it is marked, see [Ledger.Mark].
func (l *Ledger) Reserve(run string, fleet [32]byte, member string, round int, g dpmech.Gaussian) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writable(); err != nil {
		return err
	}
	id := runID(run, fleet, member)
	counted, err := l.log.spent.Check(id, round, g)
	if err != nil || counted {
		return l.fault(err)
	}
	return l.fault(l.append(reserved(id, round, g)))
}

// Mark raises the high-water mark of a run: its releases up to a round, which is reserved, may be seen from now on. The
// mark is on disk when Mark returns. A node calls it when the state of that round is durable, and before the first byte
// of the release leaves. After any error nothing may be sent. A Mark that says nothing new writes nothing.
func (l *Ledger) Mark(run string, fleet [32]byte, member string, round int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writable(); err != nil {
		return err
	}
	id := runID(run, fleet, member)
	if last := l.log.spent.Last(id); round < 1 || round > last {
		return l.fault(fmt.Errorf("run %q of member %q: round %d cannot be marked, want 1..%d, the last one reserved",
			run, member, round, last))
	}
	if !l.log.mark(id, round) {
		return nil
	}
	l.broken = l.acknowledge()
	return l.fault(l.broken)
}

// writable reports why the ledger cannot be written.
func (l *Ledger) writable() error {
	switch {
	case l.broken != nil:
		return l.fault(fmt.Errorf("it takes no more reservations since a write failed: %w", l.broken))
	case l.file == nil:
		return l.fault(errors.New("it is not open for writing"))
	}
	return nil
}

// Last returns the highest round reserved for a run of one member, 0 if there is none. See [dpmech.CheckResume].
func (l *Ledger) Last(run string, fleet [32]byte, member string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.spent.Last(runID(run, fleet, member))
}

// Marked returns the highest round marked for a run of one member, 0 if there is none. See [dpmech.CheckResume].
func (l *Ledger) Marked(run string, fleet [32]byte, member string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.marked(runID(run, fleet, member))
}

// Head returns the present state, to be kept elsewhere too.
func (l *Ledger) Head() dpmech.Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.head(l.log.seq())
}

// Contains reports what keeps the ledger from being the continuation of an earlier state.
func (l *Ledger) Contains(h dpmech.Head) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault(l.log.contains(h))
}

// CheckHead is Contains for the text of a [dpmech.Head] that was stored with a node's state; empty if the node had no ledger
// then. l is nil if it has none now, which is an error if it had one.
func (l *Ledger) CheckHead(stored string) error {
	if stored == "" {
		return nil
	}
	if l == nil {
		return errors.New("state: this run was begun with a ledger: it cannot continue without it")
	}
	var h dpmech.Head
	if err := json.Unmarshal([]byte(stored), &h); err != nil {
		return fmt.Errorf("state: stored head of the ledger: %w", err)
	}
	return l.Contains(h)
}

// Lifetime returns what all runs have spent together, with epsilons at delta.
func (l *Ledger) Lifetime(delta float64) *dpmech.Lifetime {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.spent.Lifetime(l.log.head(l.log.seq()), delta)
}

// Verify verifies a certificate, see [dpmech.Certificate.Verify], and compares its lifetime with the ledger, which may
// have further releases of other runs since then. Further releases of the certificate's own run are an error that says
// how many: a certificate of version 2 that was made before them does not say what the run has cost.
func (l *Ledger) Verify(c *dpmech.Certificate) error {
	err := c.Verify()
	life := c.Lifetime
	if life == nil {
		return errors.Join(err, errors.New("state: certificate: lifetime: there is none, so no ledger was kept"))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if lost := l.log.contains(life.Ledger); lost != nil {
		return errors.Join(err, fmt.Errorf("state: certificate: lifetime: ledger %s: %w", l.path, lost))
	}
	spent, lost := l.log.at(life.Ledger.Seq)
	if lost != nil {
		return errors.Join(err, l.fault(lost))
	}
	then := spent.Lifetime(life.Ledger, c.Delta)
	if !reflect.DeepEqual(life.Runs, then.Runs) || !reflect.DeepEqual(life.Limit, then.Limit) ||
		!reflect.DeepEqual(life.Inherited, then.Inherited) ||
		life.Dataset != then.Dataset || life.Created != then.Created {
		err = errors.Join(err, fmt.Errorf("state: certificate: lifetime: not what ledger %s held after reservation %d",
			l.path, life.Ledger.Seq))
	}
	now := l.log.spent.Lifetime(life.Ledger, c.Delta)
	if more := now.Rounds(c.RunID) - life.Rounds(c.RunID); more > 0 {
		err = errors.Join(err, fmt.Errorf("state: certificate: the ledger has %d further releases of this run, "+
			"reserved since the certificate was made: %s", more, l.path))
	}
	return err
}

// Close closes the ledger. Everything reserved is on disk already. What is cut off are the zeros behind the lines.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.file != nil && l.broken == nil && l.room > l.log.size() {
		err = l.file.truncate(l.log.size())
	}
	return errors.Join(err, l.closeFiles())
}

// closeFiles closes both files, the one that is locked last.
func (l *Ledger) closeFiles() error {
	err := closeAll(l.marks, l.file)
	l.file, l.marks = nil, nil
	return err
}
