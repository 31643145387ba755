package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
)

// Ledger is the lifetime account of one data set on a device, in a file outside the state of any run. It records every
// release of every run before the release is made.
//
// The file has one JSON object for each line: a header, then reservations. The high-water mark, a small separate file
// (".mark"), records which releases may have been sent (see [Ledger.Mark]) and holds the [certificate.Head] of the line that
// was newest when the mark was written. A ledger that was cut off, or restored from an old copy, does not contain that
// head and is rejected. If ledger and mark are restored together, only a later head stored elsewhere, such as in the
// node's state, reveals the rollback: see [Ledger.CheckHead].
//
// One process at a time can open a ledger. A Ledger is safe for concurrent use. After a failed write or sync every
// further reservation and mark fails until the ledger is opened again.
type Ledger struct {
	path  string
	heads *Heads // nil if the ledger is read-only

	mu       sync.Mutex
	file     file  // nil if the ledger is closed or read-only
	room     int64 // length of the file: lines, then zeros as room for more
	log      *ledgerLog
	marks    file  // file of the high-water mark
	place    int   // which place of the mark file has the newest mark, 0 or 1
	markRoom int64 // length of each place in bytes; 0 if there is no mark yet
	broken   error // error of a failed write or sync
}

// append makes a line durable and counts it. If the file has no room for the line, it grows to the end of a block.
// Later lines overwrite the zeros of the block, so that their sync need not write a new file length.
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

// fault adds the ledger's path to an error; nil stays nil.
func (l *Ledger) fault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("state: ledger %s: %w", l.path, err)
}

// Covers returns an error that wraps [dpmech.ErrBudget] if a run of the given number of rounds with the parameters g
// would, together with all other runs, exceed the limit, and [dpmech.ErrUnit] if the ledger does not count its unit.
// Covers reserves nothing.
func (l *Ledger) Covers(run certificate.RunID, rounds int, g dpmech.Gaussian) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault(l.log.spent.CheckRun(run, rounds, g))
}

// CheckTime returns an error if a node must not start at the given time: the last day that the owner declared is over,
// or the clock shows a time before the ledger was created. Nothing checks the time of a node that has started. No
// budget returns with time.
func (l *Ledger) CheckTime(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &l.log.header
	created, _ := time.Parse(time.RFC3339, h.Created) // the header is valid
	day, _ := time.Parse(time.DateOnly, h.Declared.Ends)
	switch now = now.UTC(); {
	case now.Before(created):
		return l.fault(fmt.Errorf("was created at %s, and the clock of this device shows %s: set the clock", h.Created, now.Format(time.RFC3339)))
	case h.Declared.Ends != "" && !now.Before(day.AddDate(0, 0, 1)):
		return l.fault(fmt.Errorf("ended with %s, as its owner declared%s: no run may use this data any more", h.Declared.Ends,
			strings.TrimSuffix(" ("+h.Declared.Note+")", " ()")))
	}
	return nil
}

// Reserve counts the release of a round before its noise is drawn. The reservation is on disk when Reserve returns. The
// rules of [dpmech.Spends.With] apply to each run; for example, a repeated reservation costs nothing. An error that
// wraps [dpmech.ErrBudget] means that the lifetime limit does not cover the release. After any error nothing may be
// released.
//
// A node calls [dpmech.Spends.With] before Reserve and keeps its result afterwards, so that a refused release is counted
// neither in the run nor in the ledger, and a crash can only make the ledger count too much.
func (l *Ledger) Reserve(run certificate.RunID, round int, g dpmech.Gaussian) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writable(); err != nil {
		return err
	}
	counted, err := l.log.spent.Check(run, round, g)
	if err != nil || counted {
		return l.fault(err)
	}
	return l.fault(l.append(reserved(run, round, g)))
}

// Mark durably raises a run's high-water mark to a reserved round: the run's releases up to that round may be sent from
// now on. Call it after the state of that round is durable and before sending the release. After any error nothing may
// be sent.
func (l *Ledger) Mark(run certificate.RunID, round int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writable(); err != nil {
		return err
	}
	if last := l.log.spent.Last(run); round < 1 || round > last {
		return l.fault(fmt.Errorf("run %q of member %q: cannot mark round %d, want 1..%d (the last reserved round)",
			run.Run, run.Member, round, last))
	}
	if !l.log.mark(run, round) {
		return nil
	}
	l.broken = l.acknowledge()
	return l.fault(l.broken)
}

func (l *Ledger) writable() error {
	switch {
	case l.broken != nil:
		return l.fault(fmt.Errorf("refuses all reservations after a failed write: %w", l.broken))
	case l.file == nil:
		return l.fault(errors.New("is not open for writing"))
	}
	return nil
}

// Last returns the highest round reserved for a run of one member, or 0 if there is none. See [dpmech.CheckResume].
func (l *Ledger) Last(run certificate.RunID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.spent.Last(run)
}

// Marked returns the highest round marked for a run of one member, or 0 if there is none. See [dpmech.CheckResume].
func (l *Ledger) Marked(run certificate.RunID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.marked(run)
}

// Head returns the current state of the ledger, to be stored elsewhere as proof against a rollback.
func (l *Ledger) Head() certificate.Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.head(l.log.seq())
}

// Contains returns an error unless h is the current or an earlier state of the ledger.
func (l *Ledger) Contains(h certificate.Head) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault(l.log.contains(h))
}

// CheckHead is [Ledger.Contains] for a [certificate.Head] in text form, as a node stores it with its state. Empty text means
// that the node had no ledger, and is valid. For any other text, a nil l is an error.
func (l *Ledger) CheckHead(stored string) error {
	if stored == "" {
		return nil
	}
	if l == nil {
		return errors.New("state: this run began with a ledger and cannot continue without the ledger")
	}
	var h certificate.Head
	if err := json.Unmarshal([]byte(stored), &h); err != nil {
		return fmt.Errorf("state: cannot parse the stored state of the ledger: %w", err)
	}
	return l.Contains(h)
}

// Lifetime returns the cost of all runs. The epsilons of the result are for the given delta.
func (l *Ledger) Lifetime(delta float64) *certificate.Lifetime {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.spent.Lifetime(l.log.head(l.log.seq()), delta)
}

// Verify verifies a certificate (see [certificate.Certificate.Verify]) and compares its lifetime with the ledger. If the
// ledger has later releases of the certificate's run, the error states their number. Later releases of other runs cause
// no error.
func (l *Ledger) Verify(c *certificate.Certificate) error {
	err := c.Verify()
	life := c.Lifetime
	if life == nil {
		return errors.Join(err, errors.New("state: certificate: lifetime is missing, because the run had no ledger"))
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
		!reflect.DeepEqual(life.Declared, then.Declared) || life.Dataset != then.Dataset || life.Unit != then.Unit ||
		life.Created != then.Created {
		err = errors.Join(err, fmt.Errorf("state: certificate: lifetime differs from the state of ledger %s after "+
			"reservation %d", l.path, life.Ledger.Seq))
	}
	now := l.log.spent.Lifetime(life.Ledger, c.Delta)
	if more := now.Rounds(c.RunID) - life.Rounds(c.RunID); more > 0 {
		err = errors.Join(err, fmt.Errorf("state: certificate: ledger %s has %d further releases of this run, "+
			"reserved after the certificate was made", l.path, more))
	}
	return err
}

// Declared returns what the owner declared about earlier runs when the ledger was made.
func (l *Ledger) Declared() certificate.Declaration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.header.Declared
}

// Close cuts off the zeros after the lines and closes the ledger. All reservations are already on disk.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.file != nil && l.broken == nil && l.room > l.log.size() {
		err = l.file.truncate(l.log.size())
	}
	return errors.Join(err, l.closeFiles())
}

// closeFiles closes the file of the mark, and then the file of the ledger, which holds the lock.
func (l *Ledger) closeFiles() error {
	err := closeAll(l.marks, l.file)
	l.file, l.marks = nil, nil
	return err
}
