package dpmech

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxLine bounds a line of a ledger, its newline included: two names of 200 bytes, each of them up to six when escaped, and
// less than 400 bytes for the rest.
const maxLine = 4096

// Head names a state of a ledger: which one, how many reservations, and the hash of the last line. A ledger that was only
// ever added to still contains every head that it once had, see [Ledger.Contains].
type Head struct {
	ID   string `json:"id"`   // random, 32 hexadecimal digits
	Seq  int    `json:"seq"`  // number of reservations
	Hash string `json:"hash"` // SHA-256, 64 hexadecimal digits
}

// RunSpend is what one run has spent of a data set.
type RunSpend struct {
	Run    string  `json:"run"`
	Fleet  string  `json:"fleet"` // SHA-256 of the fleet file, 64 hexadecimal digits
	Member string  `json:"member"`
	Rho    float64 `json:"rho"` // zCDP, rounded up
	Spends []Spend `json:"releases"`
}

// header is the first line of a ledger.
type header struct {
	Version int    `json:"version"`
	ID      string `json:"ledger"`
	Dataset string `json:"dataset"`
	Created string `json:"created"` // RFC 3339, by the clock of the device
	Limit   *Limit `json:"limit"`
}

// reservation is every other line.
type reservation struct {
	Seq    int     `json:"seq"`  // 1, 2, 3...
	Prev   string  `json:"prev"` // SHA-256 of the line before, without its newline
	Run    string  `json:"run"`
	Fleet  string  `json:"fleet"`
	Member string  `json:"member"`
	Round  int     `json:"round"`
	Clip   float64 `json:"clip"`
	Sigma  float64 `json:"sigma"`
}

// runKey says whose releases a reservation counts.
type runKey struct{ run, fleet, member string }

func (k runKey) String() string { return fmt.Sprintf("run %q of member %q", k.run, k.member) }

func (k runKey) validate() error {
	return errors.Join(validName("run", k.run), validName("member", k.member), validHex("fleet hash", k.fleet, sha256.Size))
}

// book is the content of a ledger: lines that are only added, each naming the hash of the one before.
type book struct {
	header header
	runs   []*bookRun // in order of their first reservation
	byKey  map[runKey]*bookRun
	lines  []bookLine // all of them, the header too
	unsent []int      // ascending: the reservations, numbered from 1, whose releases are not marked
}

type bookRun struct {
	key    runKey
	filter Filter // without a limit
	marked int    // the highest round that is marked, 0 for none
}

type bookLine struct {
	hash  [sha256.Size]byte
	end   int64 // offset in the file behind its newline
	run   *bookRun
	round int
	g     Gaussian
}

// seq returns the number of reservations.
func (b *book) seq() int { return len(b.lines) - 1 }

// size returns how long the file is.
func (b *book) size() int64 {
	if len(b.lines) == 0 {
		return 0
	}
	return b.lines[len(b.lines)-1].end
}

// head returns the state after a number of reservations.
func (b *book) head(seq int) Head {
	return Head{ID: b.header.ID, Seq: seq, Hash: hex.EncodeToString(b.lines[seq].hash[:])}
}

// contains reports what keeps h from being an earlier or the present state of b.
func (b *book) contains(h Head) error {
	switch {
	case h.ID != b.header.ID:
		return fmt.Errorf("it has the id %s, want %s: this is another ledger", b.header.ID, h.ID)
	case h.Seq < 0:
		return fmt.Errorf("state %d of it does not exist", h.Seq)
	case h.Seq > b.seq():
		return fmt.Errorf("it ends with reservation %d, but number %d was made: it was rolled back or cut off; bring back its newest copy", b.seq(), h.Seq)
	case b.head(h.Seq).Hash != h.Hash:
		return fmt.Errorf("line %d is not the one that was written there: it was changed", h.Seq+1)
	}
	return nil
}

// line returns the next reservation as a line, newline included.
func (b *book) line(key runKey, round int, g Gaussian) ([]byte, error) {
	line, err := json.Marshal(reservation{
		Seq: b.seq() + 1, Prev: b.head(b.seq()).Hash,
		Run: key.run, Fleet: key.fleet, Member: key.member, Round: round, Clip: g.Clip, Sigma: g.Sigma,
	})
	return append(line, '\n'), err
}

// start takes in the first line, without its newline.
func (b *book) start(line []byte) error {
	var h header
	if err := decodeJSON(line, &h); err != nil {
		return err
	}
	errs := []error{validHex("ledger id", h.ID, 16), validName("data set", h.Dataset), validTime("created", h.Created)}
	if h.Version != 1 {
		errs = append(errs, fmt.Errorf("dpmech: version is %d, want 1", h.Version))
	}
	if h.Limit != nil {
		errs = append(errs, h.Limit.Validate())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if again, err := json.Marshal(h); err != nil || !bytes.Equal(again, line) {
		return errors.New("not as it was written")
	}
	b.header, b.byKey = h, map[runKey]*bookRun{}
	b.lines = []bookLine{{hash: sha256.Sum256(line), end: int64(len(line)) + 1}}
	return nil
}

// find returns the account of a run, a new one if there is none yet.
func (b *book) find(key runKey) *bookRun {
	if r := b.byKey[key]; r != nil {
		return r
	}
	return &bookRun{key: key}
}

// add takes in a further line, without its newline.
func (b *book) add(line []byte) error {
	var res reservation
	if err := decodeJSON(line, &res); err != nil {
		return err
	}
	if res.Seq != b.seq()+1 {
		return fmt.Errorf("seq is %d, want %d", res.Seq, b.seq()+1)
	}
	if prev := b.head(b.seq()).Hash; res.Prev != prev {
		return fmt.Errorf("prev is %s, want %s: the line before was changed", res.Prev, prev)
	}
	if again, err := json.Marshal(res); err != nil || !bytes.Equal(again, line) {
		return errors.New("not as it was written")
	}
	key, g := runKey{res.Run, res.Fleet, res.Member}, Gaussian{Clip: res.Clip, Sigma: res.Sigma}
	if err := key.validate(); err != nil {
		return err
	}
	r := b.find(key)
	if known, err := r.filter.check(res.Round, g); err != nil || known {
		return errors.Join(err, fmt.Errorf("%v: round %d cannot be added", key, res.Round))
	}
	b.enter(r, res.Round, g, line)
	return nil
}

// enter counts a release that add has found in order, or that was checked in the same way.
func (b *book) enter(r *bookRun, round int, g Gaussian, line []byte) {
	if b.byKey[r.key] == nil {
		b.byKey[r.key] = r
		b.runs = append(b.runs, r)
	}
	r.filter.add(round, g)
	b.unsent = append(b.unsent, len(b.lines))
	b.lines = append(b.lines, bookLine{hash: sha256.Sum256(line), end: b.size() + int64(len(line)) + 1, run: r, round: round, g: g})
}

// settle takes over what a mark, whose head the book contains, says of its reservations. Those behind the mark stay unsent.
func (b *book) settle(m mark) {
	b.unsent = slices.Clone(m.Unsent)
	for seq := m.Seq + 1; seq <= b.seq(); seq++ {
		b.unsent = append(b.unsent, seq)
	}
	for seq := 1; seq <= m.Seq; seq++ {
		if _, unsent := slices.BinarySearch(m.Unsent, seq); !unsent {
			r := b.lines[seq].run
			r.marked = max(r.marked, b.lines[seq].round)
		}
	}
}

// mark marks the releases of a run up to a round, and reports whether one was not.
func (b *book) mark(r *bookRun, round int) bool {
	before := len(b.unsent)
	b.unsent = slices.DeleteFunc(b.unsent, func(seq int) bool {
		line := b.lines[seq]
		if line.run != r || line.round > round {
			return false
		}
		r.marked = max(r.marked, line.round)
		return true
	})
	return len(b.unsent) < before
}

// rho returns the cost of all runs, in zCDP, rounded up.
func (b *book) rho() float64 {
	var sum float64
	for _, r := range b.runs {
		sum = sumUp(sum, r.filter.Rho())
	}
	return sum
}

// rhoWith returns what rho is once a release of r is added.
func (b *book) rhoWith(r *bookRun, round int, g Gaussian) float64 {
	var sum float64
	found := false
	for _, other := range b.runs {
		cost := other.filter.Rho()
		if other == r {
			cost, found = r.filter.rhoWith(round, g), true
		}
		sum = sumUp(sum, cost)
	}
	if !found {
		sum = sumUp(sum, r.filter.rhoWith(round, g))
	}
	return sum
}

// at returns the book as it was after a number of reservations.
func (b *book) at(seq int) *book {
	old := &book{header: b.header, byKey: map[runKey]*bookRun{}, lines: b.lines[:1:1]}
	for _, line := range b.lines[1 : seq+1] {
		r := old.find(line.run.key)
		old.enter(r, line.round, line.g, nil)
	}
	old.lines, old.unsent = b.lines[:seq+1], nil
	return old
}

// spends returns what each run has spent, in order of their first reservation.
func (b *book) spends() []RunSpend {
	list := []RunSpend{}
	for _, r := range b.runs {
		list = append(list, RunSpend{Run: r.key.run, Fleet: r.key.fleet, Member: r.key.member, Rho: r.filter.Rho(), Spends: r.filter.Spends()})
	}
	return list
}

// readBook reads a ledger and returns how many bytes at its end are a reservation that was torn by a crash. mark is the head
// that the mark has, nil if that is not known; whatever is wrong up to there is an error, and so is everything behind it
// but one bad line at the very end, on which no release can rest.
func readBook(file io.Reader, mark *Head) (b *book, torn int, err error) {
	b = new(book)
	r := bufio.NewReaderSize(file, maxLine)
	for n := 1; ; n++ {
		line, err := r.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 && n > 1 {
			return b, 0, nil
		}
		switch {
		case err == nil && n == 1:
			err = b.start(line[:len(line)-1])
		case err == nil:
			err = b.add(line[:len(line)-1])
		case err == io.EOF:
			err = errors.New("the end is missing")
		case err == bufio.ErrBufferFull:
			return nil, 0, fmt.Errorf("line %d is longer than %d bytes", n, maxLine)
		default:
			return nil, 0, err
		}
		if err == nil {
			continue
		}
		size := len(line) // before Peek, which may move it
		if _, more := r.Peek(1); n > 1 && more == io.EOF && mark != nil && b.contains(*mark) == nil {
			return b, size, nil
		}
		if n > 1 && mark != nil && mark.ID == b.header.ID && mark.Seq >= n-1 {
			return nil, 0, within(fmt.Sprintf("line %d, of %d that were acknowledged, is damaged", n, mark.Seq+1), err)
		}
		return nil, 0, within(fmt.Sprintf("line %d", n), err)
	}
}
