package dpmech

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Ledger is the lifetime account of one data set on a device: a file outside any run's state, in which every release of every
// run is written down before it is made. A new run does not start from zero, and runs made to find good settings count.
//
// The file is one JSON object a line: first what the ledger is, then one reservation after the other, each with the SHA-256 of
// the line before it, so that no line can be changed, moved or taken out unseen. A small file beside it, the mark
// (its name with ".mark" behind it), says which of the releases may have been sent, see [Ledger.Mark], and holds the [Head] of the
// newest line at that time: a ledger that was cut off, or put back from an old copy, does not contain it and is refused. A
// crash can only leave a reservation too many. Who puts back ledger and mark together is found out by whoever kept a later
// head: it belongs into the node's checkpoint too, see [Ledger.Contains].
//
// The order of a release is: reserve its line, draw its noise, keep its state, mark it, send it. [CheckKept] says what a node may
// do that finds them again after a crash.
//
// One process at a time holds a ledger open, and may use it from many goroutines. After a write or sync that failed every further
// reservation and mark fails: what the disk holds then is known only after opening it again.
type Ledger struct {
	path      string
	writeMark func(path string, content []byte) error

	mu     sync.Mutex
	file   ledgerFile // nil if the ledger is closed, or was opened for reading
	book   *book
	broken error // the write or sync that failed

	written int64 // bytes, for Written
}

// ledgerFile is what a ledger needs of its open file.
type ledgerFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// errInUse is the lock's answer when another holder has the file.
var errInUse = errors.New("in use by another process")

// howTo ends the errors about a ledger that is not there.
const howTo = "a ledger is never started afresh by itself, for it would forget what the data set has spent"

// CreateLedger makes the ledger of a data set, which a person will know by the name dataset, and leaves it open. This is a
// decision: the data set counts as never used before. limit bounds what all runs together may spend; nil only counts. It
// is an error if there is a ledger at path, or if there was one and its mark is still there.
func CreateLedger(path, dataset string, limit *Limit) (*Ledger, error) {
	err := validName("data set", dataset)
	if limit != nil {
		err = errors.Join(err, limit.usable())
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("dpmech: %s: %w; a ledger is never overwritten", path, fs.ErrExist)
	}
	if m, err := readMark(path); m != nil || err != nil {
		return nil, errors.Join(fmt.Errorf("dpmech: ledger %s is gone, but its mark %s is there: bring back the newest copy of the ledger; %s",
			path, markPath(path), howTo), err)
	}
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return nil, fmt.Errorf("dpmech: id of ledger %s: %w", path, err)
	}
	line, err := json.Marshal(header{
		Version: 1, ID: hex.EncodeToString(id), Dataset: dataset, Created: time.Now().UTC().Format(time.RFC3339), Limit: limit,
	})
	if err != nil {
		return nil, fmt.Errorf("dpmech: ledger %s: %w", path, err)
	}
	b := new(book)
	if err := b.start(line); err != nil {
		return nil, fmt.Errorf("dpmech: ledger %s: %w", path, err)
	}
	file, err := openLocked(path, true)
	if err != nil {
		return nil, fmt.Errorf("dpmech: new ledger: %w", err)
	}
	l := &Ledger{path: path, writeMark: replaceFile, file: file, book: b}
	if err = l.write(append(line, '\n'), 0); err == nil {
		if err = syncDir(filepath.Dir(path)); err == nil {
			err = l.acknowledge()
		}
	}
	if err != nil { // nobody has seen it yet
		return nil, errors.Join(fmt.Errorf("dpmech: new ledger: %w", err), file.Close(), removeIfThere(markPath(path)), os.Remove(path))
	}
	return l, nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// OpenLedger opens a ledger and checks all of it. A reservation that a crash has torn is taken off its end: nobody was told
// that it was made. Reservations that no mark covers stay, and stay without one: they count, and were never sent. A ledger that
// is missing, in use by another process, damaged or older than its mark is an error.
func OpenLedger(path string) (*Ledger, error) {
	file, err := openLocked(path, false)
	if err != nil {
		return nil, missing(path, err)
	}
	l := &Ledger{path: path, writeMark: replaceFile, file: file}
	if err := l.recover(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// ReadLedger opens a ledger for looking at: it checks all of it, changes nothing, and can be used while another process has
// the ledger open. Reserve and Mark fail.
func ReadLedger(path string) (*Ledger, error) {
	m, markErr := readMark(path) // first: a reservation made while we read is then only one more
	file, err := os.Open(path)
	if err != nil {
		return nil, missing(path, err)
	}
	l := &Ledger{path: path}
	l.book, _, err = l.read(file, m, markErr)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return l, nil
}

// missing explains that a ledger could not be opened.
func missing(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("dpmech: ledger: %w", err)
	}
	if m, _ := readMark(path); m != nil {
		return fmt.Errorf("dpmech: ledger: %w: it was deleted, for its mark %s names %d reservations; bring back its newest copy (%s)",
			err, markPath(path), m.Seq, howTo)
	}
	return fmt.Errorf("dpmech: ledger: %w; %s: if this data set was never used before, make it by \"spade-edge privacy -new-ledger FILE -dataset NAME\"",
		err, howTo)
}

// read checks a ledger's file against its mark.
func (l *Ledger) read(file io.Reader, m *mark, markErr error) (b *book, torn int, err error) {
	if markErr != nil {
		return nil, 0, markErr
	}
	var head *Head
	if m != nil {
		head = &m.Head
	}
	b, torn, err = readBook(file, head)
	switch {
	case err != nil:
	case m != nil:
		if err = b.contains(*head); err == nil {
			b.settle(*m)
		}
	case b.seq() > 0:
		line, _ := json.Marshal(b.head(b.seq()))
		err = fmt.Errorf("its mark %s is missing, and without it nobody can tell whether this is the newest copy: bring it back; if you are certain that no later reservation was ever made, write it anew as the one line %s",
			markPath(l.path), line)
	}
	if err != nil {
		return nil, 0, within("ledger "+l.path, err)
	}
	return b, torn, nil
}

// recover reads the file, and makes durable what it finds there.
func (l *Ledger) recover(file io.Reader) error {
	m, err := readMark(l.path)
	var torn int
	if l.book, torn, err = l.read(file, m, err); err != nil {
		return err
	}
	if torn > 0 {
		if err := l.file.Truncate(l.book.size()); err != nil {
			return fmt.Errorf("dpmech: ledger: %w", err)
		}
	}
	if torn == 0 && m != nil && m.Seq == l.book.seq() {
		return nil
	}
	// Behind the mark may be lines whose sync failed: they can be read, and yet be on no disk, and asking to sync again is of no
	// use unless they are written again. Their releases were never sent, and the mark stays where it is.
	from := int64(0)
	if m != nil {
		from = l.book.lines[m.Seq].end
	}
	lines := make([]byte, l.book.size()-from)
	if _, err := l.file.ReadAt(lines, from); err != nil {
		return fmt.Errorf("dpmech: ledger: %w", err)
	}
	if err := l.write(lines, from); err != nil {
		return fmt.Errorf("dpmech: ledger: %w", err)
	}
	if m != nil {
		return nil
	}
	if err := l.acknowledge(); err != nil { // it was being made when the crash came
		return fmt.Errorf("dpmech: ledger: %w", err)
	}
	return nil
}

// write makes lines durable at an offset.
func (l *Ledger) write(lines []byte, at int64) error {
	l.written += int64(len(lines))
	n, err := l.file.WriteAt(lines, at)
	if err == nil && n < len(lines) {
		err = fmt.Errorf("%s: %w", l.path, io.ErrShortWrite)
	}
	if err != nil {
		return err
	}
	return l.file.Sync()
}

// acknowledge writes the mark of the present state.
func (l *Ledger) acknowledge() error {
	line, err := json.Marshal(mark{Head: l.book.head(l.book.seq()), Unsent: l.book.unsent})
	if err != nil {
		return err
	}
	l.written += int64(len(line)) + 1
	return l.writeMark(markPath(l.path), append(line, '\n'))
}

// Covers reports whether a whole run of so many rounds, all with the same parameters, fits the ledger's limit beside all other runs:
// an error around [ErrBudget] if not. It reserves nothing. A run that would be refused in the middle leaves its neighbors waiting.
func (l *Ledger) Covers(run string, fleet [32]byte, member string, rounds int, g Gaussian) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole := Spend{First: 1, Rounds: rounds, Clip: g.Clip, Sigma: g.Sigma}
	if err := whole.validate(); err != nil {
		return err
	}
	key := runKey{run, hex.EncodeToString(fleet[:]), member}
	total := whole.Rho()
	for _, r := range l.book.runs {
		if r.key != key {
			total = sumUp(total, r.filter.Rho())
		}
	}
	return l.book.header.Limit.allows(l.book.rho(), total, fmt.Sprintf("%d rounds of %v in the lifetime of %q", rounds, key, l.book.header.Dataset))
}

// Reserve counts the release of a round, before its noise is drawn, for a run of one member of a fleet, given by the SHA-256
// of the fleet file; it is on disk when Reserve returns. For each run, the rules of [Filter.Reserve] hold: a reservation
// may be repeated, and costs nothing then. The order for a node is [Filter.Check], Reserve here, [Filter.Reserve]: so a
// refusal by either counts nowhere, and a crash can only count too much. An error around [ErrBudget] means that the
// lifetime limit does not cover the release; after any error nothing may be released. Before the release is sent it is marked,
// see [Ledger.Mark].
func (l *Ledger) Reserve(run string, fleet [32]byte, member string, round int, g Gaussian) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, err := l.account(run, fleet, member)
	if err != nil {
		return err
	}
	known, err := r.filter.check(round, g)
	if err != nil {
		return within(fmt.Sprintf("ledger %s: %v", l.path, r.key), err)
	}
	if known {
		return nil
	}
	err = l.book.header.Limit.allows(l.book.rho(), l.book.rhoWith(r, round, g), fmt.Sprintf("round %d of %v in the lifetime of %q", round, r.key, l.book.header.Dataset))
	if err != nil {
		return err
	}
	line, err := l.book.line(r.key, round, g)
	if err != nil {
		return fmt.Errorf("dpmech: ledger %s: %w", l.path, err)
	}
	if l.broken = l.write(line, l.book.size()); l.broken != nil {
		return fmt.Errorf("dpmech: ledger: %w", l.broken)
	}
	l.book.enter(r, round, g, line[:len(line)-1])
	return nil
}

// Mark says that the releases of a run up to a round may be seen from now on; it is on disk when Mark returns. A node calls it
// when the state of that round is durable, and before the first byte of the release leaves. After any error nothing may be sent.
// It is an error if the round is later than the last one reserved. A Mark that says nothing new writes nothing.
func (l *Ledger) Mark(run string, fleet [32]byte, member string, round int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, err := l.account(run, fleet, member)
	if err != nil {
		return err
	}
	if last := r.filter.Last(); round < 1 || round > last {
		return fmt.Errorf("dpmech: ledger %s: %v: round %d cannot be marked, want 1..%d, the last one reserved", l.path, r.key, round, last)
	}
	if !l.book.mark(r, round) {
		return nil
	}
	if l.broken = l.acknowledge(); l.broken != nil {
		return fmt.Errorf("dpmech: mark of a ledger: %w", l.broken)
	}
	return nil
}

// account returns the account of a run in a ledger that can be written.
func (l *Ledger) account(run string, fleet [32]byte, member string) (*bookRun, error) {
	switch {
	case l.broken != nil:
		return nil, fmt.Errorf("dpmech: ledger %s takes no more reservations since a write failed: %w", l.path, l.broken)
	case l.file == nil:
		return nil, fmt.Errorf("dpmech: ledger %s is not open for writing", l.path)
	}
	key := runKey{run, hex.EncodeToString(fleet[:]), member}
	if err := key.validate(); err != nil {
		return nil, err
	}
	return l.book.find(key), nil
}

// Last returns the highest round reserved for a run of one member, 0 if there is none. See [CheckKept].
func (l *Ledger) Last(run string, fleet [32]byte, member string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.find(runKey{run, hex.EncodeToString(fleet[:]), member}).filter.Last()
}

// Marked returns the highest round marked for a run of one member, 0 if there is none: its release, and those before it, may have
// been seen. See [CheckKept].
func (l *Ledger) Marked(run string, fleet [32]byte, member string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.find(runKey{run, hex.EncodeToString(fleet[:]), member}).marked
}

// Written returns how many bytes the ledger has handed to its two files since it was opened: about half a kilobyte for each
// release. What the file system makes of them comes on top.
func (l *Ledger) Written() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written
}

// Head returns the present state, to be kept elsewhere too.
func (l *Ledger) Head() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.head(l.book.seq())
}

// Contains reports what keeps the ledger from being the continuation of an earlier state: it is another one, it was rolled
// back, or it was changed.
func (l *Ledger) Contains(h Head) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.book.contains(h); err != nil {
		return fmt.Errorf("dpmech: ledger %s: %w", l.path, err)
	}
	return nil
}

// Lifetime returns what all runs have spent together, with epsilons at delta.
func (l *Ledger) Lifetime(delta float64) Lifetime {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.lifetime(delta)
}

// Close lets go of the ledger. Everything reserved is on disk already.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
