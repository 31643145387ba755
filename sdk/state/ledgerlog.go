package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
)

// maxLine is the maximum length, in bytes, of a line with its newline. It leaves room for two names of 200 bytes and a
// unit, each byte escaped as up to six bytes, and for all other fields.
const maxLine = 2 * block

// header is the first line of a ledger.
type header struct {
	Version int           `json:"version"`
	ID      string        `json:"ledger"`
	Dataset string        `json:"dataset"`
	Created string        `json:"created"` // RFC 3339, by the device's clock
	Unit    dpmech.Unit   `json:"unit"`
	Limit   *dpmech.Limit `json:"limit"`
	// Declared is what the owner declared about earlier runs on this data.
	Declared certificate.Declaration `json:"declared"`
}

// composition returns the account of a ledger that has this header and no releases yet.
func (h *header) composition() (*certificate.Composition, error) {
	return certificate.NewComposition(h.Dataset, h.Created, h.Unit, h.Limit, h.Declared)
}

// entry is any line of a ledger after the header.
type entry struct {
	Seq  int    `json:"seq"`  // 1, 2, 3...
	Prev string `json:"prev"` // SHA-256 of the previous line, without its newline
	reservation
}

type reservation struct {
	certificate.RunID
	Round int `json:"round"`
	dpmech.Gaussian
}

func reserved(id certificate.RunID, round int, g dpmech.Gaussian) entry {
	return entry{reservation: reservation{id, round, g}}
}

// ledgerLog is the content of a ledger: lines chained by hash.
type ledgerLog struct {
	header header
	spent  *certificate.Composition // the spend that the lines record
	lines  []ledgerLine             // all lines, including the header
	unsent []int                    // ascending: the numbers, from 1, of reservations whose releases are not marked
}

type ledgerLine struct {
	hash [sha256.Size]byte
	end  int64 // offset in the file of the byte after the line's newline
	reservation
}

func (l *ledgerLog) seq() int { return len(l.lines) - 1 }

// size returns the length of the lines in bytes.
func (l *ledgerLog) size() int64 {
	if len(l.lines) == 0 {
		return 0
	}
	return l.lines[len(l.lines)-1].end
}

// head returns the state of the ledger after its first seq reservations.
func (l *ledgerLog) head(seq int) certificate.Head {
	return certificate.Head{ID: l.header.ID, Seq: seq, Hash: hex.EncodeToString(l.lines[seq].hash[:])}
}

// contains returns an error unless h is the current or an earlier state of l.
func (l *ledgerLog) contains(h certificate.Head) error {
	switch {
	case h.ID != l.header.ID:
		return fmt.Errorf("has the id %s, want %s: this is a different ledger", l.header.ID, h.ID)
	case h.Seq < 0:
		return fmt.Errorf("cannot have %d reservations, want 0 or more", h.Seq)
	case h.Seq > l.seq():
		return fmt.Errorf("ends with reservation %d, but reservation %d was made: the ledger was rolled back or "+
			"truncated; restore its newest copy", l.seq(), h.Seq)
	case l.head(h.Seq).Hash != h.Hash:
		return fmt.Errorf("line %d was changed after it was written", h.Seq+1)
	}
	return nil
}

// line returns e as line number seq after the header, including the newline.
func (l *ledgerLog) line(seq int, e entry) ([]byte, error) {
	e.Seq, e.Prev = seq, l.head(seq-1).Hash
	line, err := json.Marshal(e)
	return append(line, '\n'), err
}

// start parses the first line of a ledger, passed without its newline.
func (l *ledgerLog) start(line []byte) error {
	if err := exactJSON(line, &l.header); err != nil {
		return err
	}
	spent, err := l.header.composition()
	l.lines = []ledgerLine{{hash: sha256.Sum256(line), end: int64(len(line)) + 1}}
	err = errors.Join(err, l.head(0).Validate())
	if v := l.header.Version; v != 1 {
		err = errors.Join(err, fmt.Errorf("version is %d, want 1", v))
	}
	l.spent = spent
	return err
}

// add parses and counts a further line of the ledger, passed without its newline.
func (l *ledgerLog) add(line []byte) error {
	var e entry
	if err := exactJSON(line, &e); err != nil {
		return err
	}
	if e.Seq != l.seq()+1 {
		return fmt.Errorf("seq is %d, want %d", e.Seq, l.seq()+1)
	}
	if prev := l.head(l.seq()).Hash; e.Prev != prev {
		return fmt.Errorf("prev is %s, want %s: the previous line was changed", e.Prev, prev)
	}
	next := ledgerLine{hash: sha256.Sum256(line), end: l.size() + int64(len(line)) + 1, reservation: e.reservation}
	if before := l.lines[l.seq()].RunID; before == next.RunID {
		next.RunID = before // lines of one run share the memory of the run's id
	}
	if err := next.count(l.spent); err != nil {
		return err
	}
	l.unsent = append(l.unsent, len(l.lines))
	l.lines = append(l.lines, next)
	return nil
}

func (line *ledgerLine) count(spent *certificate.Composition) error {
	return spent.Add(line.RunID, line.Round, line.Gaussian)
}

// settle sets l.unsent to all reservations that the high-water mark m lists as unsent, followed by all reservations
// after the mark. The ledger must contain the head of m.
func (l *ledgerLog) settle(m highWater) {
	l.unsent = slices.Clone(m.Unsent)
	for seq := m.Seq + 1; seq <= l.seq(); seq++ {
		l.unsent = append(l.unsent, seq)
	}
}

// mark marks all releases of a run up to a round, and reports whether this changed anything.
func (l *ledgerLog) mark(id certificate.RunID, round int) bool {
	before := len(l.unsent)
	l.unsent = slices.DeleteFunc(l.unsent, func(seq int) bool {
		return l.lines[seq].RunID == id && l.lines[seq].Round <= round
	})
	return len(l.unsent) < before
}

// marked returns the highest marked round of a run, or 0 if no round is marked. The rounds of a run ascend, so it searches
// from the end: a node asks before each release, and a ledger contains all releases of a lifetime.
func (l *ledgerLog) marked(id certificate.RunID) (round int) {
	for seq := l.seq(); seq > 0; seq-- {
		if _, unsent := slices.BinarySearch(l.unsent, seq); l.lines[seq].RunID == id && !unsent {
			return l.lines[seq].Round
		}
	}
	return 0
}

// at returns the account after the first seq reservations.
func (l *ledgerLog) at(seq int) (*certificate.Composition, error) {
	spent, err := l.header.composition()
	for i := 1; i <= seq && err == nil; i++ {
		err = l.lines[i].count(spent)
	}
	return spent, err
}

// readLedgerLog parses the lines of a ledger. torn is the length of an incomplete reservation that a crash left at the
// end. mark is the head of the high-water mark, or nil if it is unknown. Every invalid line is an error, with one
// exception: the last line may be invalid if it is after the mark, because no release that was sent depends on it.
func readLedgerLog(text []byte, mark *certificate.Head) (l *ledgerLog, torn int, err error) {
	l = new(ledgerLog)
	for n := 1; n == 1 || len(text) > 0; n++ {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		var err error
		switch {
		case len(line) >= maxLine:
			return nil, 0, fmt.Errorf("line %d is longer than %d bytes", n, maxLine)
		case !whole:
			err = errors.New("the line is incomplete")
		case n == 1:
			err = l.start(line)
		default:
			err = l.add(line)
		}
		switch {
		case err == nil:
		case n > 1 && len(rest) == 0 && mark != nil && l.contains(*mark) == nil:
			return l, len(text), nil
		case n > 1 && mark != nil && mark.ID == l.header.ID && mark.Seq >= n-1:
			return nil, 0, fmt.Errorf("line %d of %d acknowledged lines is damaged: %w", n, mark.Seq+1, err)
		default:
			return nil, 0, fmt.Errorf("line %d: %w", n, err)
		}
		text = rest
	}
	return l, 0, nil
}
