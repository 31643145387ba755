package state

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Names of a ledger's files on a simulated disk.
const (
	simLedger = "ledger"
	simMark   = "ledger.mark"
)

type simNode struct {
	dir    *Dir
	ledger *Ledger
}

// openNode opens the store and the ledger as a process does when it starts.
func openNode(d *simDisk) (n simNode, err error) {
	n.ledger = &Ledger{path: simLedger, file: simFile{d, simLedger}, marks: simFile{d, simMark}}
	if n.dir, err = sized(openOn(d, "sim"))(testLimit); err == nil {
		m, errMark := parseMark(d.files[simMark])
		err = n.ledger.recover(m, errMark)
	}
	return n, err
}

// facts holds the last rounds saved, reserved and marked.
type facts struct{ saved, reserved, marked int }

func (n simNode) facts() facts {
	return facts{max(n.dir.newest, 0), n.ledger.Last(runID("run", fleetA, "a")), n.ledger.Marked(runID("run", fleetA, "a"))}
}

// round makes release k as a node does: it reserves, saves and marks the release. It then calls sent, because neighbors
// may see the release from then on.
func (n simNode) round(t *testing.T, k int, sent func()) {
	t.Helper()
	reserve(t, n.ledger, "run", k, k)
	must(t, n.dir.Save(savedRound(k, 20)))
	markUpTo(t, n.ledger, "run", k)
	sent()
}

// ledgerFiles returns the files of an open ledger in which another run has reserved the given number of rounds and
// marked none of them.
func ledgerFiles(t *testing.T, other int) map[string][]byte {
	t.Helper()
	l, path := newLedger(t, nil)
	reserve(t, l, "other", 1, other)
	files := map[string][]byte{}
	for sim, name := range map[string]string{simLedger: path, simMark: markPath(path)} {
		b := mustRead(t, name)
		files[sim] = b
	}
	return files
}

// runNode opens a node on files and makes its releases up to and including round number last. It returns the disk's
// steps and, for each release, the number of steps after which neighbors may see the release.
func runNode(t *testing.T, files map[string][]byte, last int) history {
	t.Helper()
	d := newSimDisk(files)
	n, err := openNode(d)
	must(t, err)
	h := history{start: files, acked: make([]int, last+1)}
	first := n.facts().saved
	if first > 0 {
		markUpTo(t, n.ledger, "run", first)
	}
	for k := first + 1; k <= last; k++ {
		n.round(t, k, func() { h.acked[k] = len(d.steps) })
	}
	h.steps = d.steps
	return h
}

// resumes opens the files after a crash. The round "seen" is the last one whose release neighbors may have seen: all
// rounds up to and including it must be saved, reserved and marked, and two more rounds must succeed. It returns the
// last rounds saved, reserved and marked in the given files. Many power cuts leave the same bytes, so resumes caches
// its results.
func resumes(t *testing.T, files map[string][]byte, seen int) facts {
	t.Helper()
	key := resumedKey{diskHash(files), seen}
	if f, known := resumed.Load(key); known {
		return f.(facts)
	}
	d := newSimDisk(files)
	n, err := openNode(d)
	must(t, err)
	if log := readLog(files[logName]); seen > 0 && (log.newest < 0 || log.end == 0) { // it would be a store without releases
		t.Fatalf("release %d was seen, but the log has none", seen)
	}
	f := n.facts()
	if err := dpmech.CheckResume(f.saved, f.reserved, f.marked); err != nil || min(f.saved, f.reserved, f.marked) < seen {
		t.Fatalf("release %d was seen, and %+v came back: %v", seen, f, err)
	}
	if f.saved > 0 {
		markUpTo(t, n.ledger, "run", f.saved)
	}
	for k := f.saved + 1; k <= f.saved+2; k++ {
		n.round(t, k, func() {})
	}
	if n, err = openNode(newSimDisk(d.files)); err != nil {
		t.Fatal(err)
	}
	if got, want := n.facts(), (facts{f.saved + 2, f.saved + 2, f.saved + 2}); got != want {
		t.Fatalf("two rounds after %+v: %+v", f, got)
	}
	resumed.Store(key, f)
	return f
}

var resumed sync.Map // by resumedKey: the facts that resumes found

type resumedKey struct {
	disk [sha256.Size]byte
	seen int
}

// diskHash returns a hash of the names and bytes of files.
func diskHash(files map[string][]byte) [sha256.Size]byte {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%q %d\n", name, len(files[name]))
		h.Write(files[name])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// TestLedgerSyncsOfRound checks that a round syncs its line, its state and its mark, each once and in this order. A
// round creates no file, and extends the ledger only when the ledger's last block is full.
func TestLedgerSyncsOfRound(t *testing.T) {
	const rounds = 60
	h := runNode(t, ledgerFiles(t, 0), rounds)
	grown, files := 0, h.after(h.acked[1])
	for k := 2; k <= rounds; k++ {
		var synced []string
		for _, s := range h.steps[h.acked[k-1]:h.acked[k]] {
			before := len(files[s.name])
			s.on(files)
			switch longer := len(files[s.name]) > before; {
			case s.kind == "sync":
				synced = append(synced, s.name)
			case s.kind != "write" || longer && s.name != simLedger && s.name != logName:
				t.Errorf("round %d: %s of %q at %d", k, s.kind, s.name, s.off)
			case longer && s.name == simLedger:
				grown++
			}
		}
		if want := []string{simLedger, slotName(k & 1), simMark}; !slices.Equal(synced, want) {
			t.Errorf("round %d syncs %q, want %q", k, synced, want)
		}
	}
	if lines := len(bytes.TrimRight(files[simLedger], "\x00")); grown > lines/block {
		t.Errorf("a ledger of %d bytes has grown %d times", lines, grown)
	}
}

// cuts returns how many power cuts to simulate at each of the given number of steps: 5, or 20 with SPADE_LONG. The
// variable SPADE_CRASHES sets the number of power cuts at all steps together.
func cuts(steps int) int {
	if all, err := strconv.Atoi(os.Getenv("SPADE_CRASHES")); err == nil {
		return max(1, all/steps)
	}
	if os.Getenv("SPADE_LONG") != "" {
		return 20
	}
	return 5
}

// TestLedgerPowerCut cuts the power at every step of a node's rounds, with ledger lines that cross block boundaries.
// Each unsynced write is then complete, missing or partial. The node must still have every release that a neighbor may
// have seen.
func TestLedgerPowerCut(t *testing.T) {
	t.Parallel() // waits for the disk
	coin := rng.New(5, rng.Address{Purpose: rng.Fault})
	found := map[facts]int{}
	for _, other := range []int{0, 10, 11} {
		h := runNode(t, ledgerFiles(t, other), 4)
		for n := range len(h.steps) + 1 {
			seen := h.promised(n)
			for range cuts(3 * len(h.steps)) {
				f := resumes(t, h.powerCut(n, &coin), seen)
				found[facts{f.saved - seen, f.reserved - seen, f.marked - seen}]++
			}
		}
	}
	// An unfinished round leaves nothing, or only its line, or its line and state, or its line, state and mark. No
	// other combination is possible.
	for _, f := range []facts{{0, 0, 0}, {0, 1, 0}, {1, 1, 0}, {1, 1, 1}} {
		if found[f] == 0 {
			t.Errorf("never found: %+v", f)
		}
		delete(found, f)
	}
	if len(found) > 0 {
		t.Errorf("found besides: %v", found)
	}
}

// TestLedgerPowerCutTwice cuts the power again during recovery from the first power cut. A process that finds a round
// marked may send its release, so that round must then remain marked.
func TestLedgerPowerCutTwice(t *testing.T) {
	t.Parallel() // waits for the disk
	coin := rng.New(6, rng.Address{Purpose: rng.Fault})
	h := runNode(t, ledgerFiles(t, 10), 3)
	for n := range len(h.steps) + 1 {
		for range 3 {
			files := h.powerCut(n, &coin)
			f := resumes(t, files, h.promised(n))
			again := runNode(t, files, 0)
			for m := range len(again.steps) + 1 {
				seen := h.promised(n)
				if m == len(again.steps) {
					seen = f.saved // the saved release is marked, if it is not yet, and sent again
				}
				resumes(t, again.powerCut(m, &coin), seen)
			}
		}
	}
}

// TestLedgerTornLineLosesPower cuts the power at every step of a node's rounds in a ledger that ends with a torn line, longer
// than the lines that follow. The torn line must be cut off before another line is written over it: the rest of it would
// follow an unsynced line, and only the last line of a ledger may be damaged.
func TestLedgerTornLineLosesPower(t *testing.T) {
	coin := rng.New(10, rng.Address{Purpose: rng.Fault})
	files := ledgerFiles(t, 3)
	log, _, err := readLedgerLog(withoutRoom(files[simLedger]), nil)
	must(t, err)
	line, err := log.line(4, reserved(runID(strings.Repeat("long", 40), fleetA, "a"), 1, noisy))
	must(t, err)
	clear(line[40:48])
	copy(files[simLedger][log.size():], line)
	h := runNode(t, files, 2)
	for n := range len(h.steps) + 1 {
		for range 20 {
			resumes(t, h.powerCut(n, &coin), h.promised(n))
		}
	}
}

// TestFoundIsDurable checks that a state and a mark survive a power cut once a process has read them. A process that is
// killed between write and sync leaves what the next process can read although it is not on the disk.
func TestFoundIsDurable(t *testing.T) {
	coin := rng.New(7, rng.Address{Purpose: rng.Fault})
	h := runNode(t, ledgerFiles(t, 0), 3)
	for n := range h.steps {
		d := newSimDisk(h.start)
		for _, s := range h.steps[:n] {
			d.apply(s)
		}
		node, err := openNode(d)
		must(t, err)
		found := node.facts()
		for range 10 {
			after := history{start: h.start, steps: d.steps}.powerCut(len(d.steps), &coin)
			left, logged := resumes(t, after, found.marked), readLog(after[logName]).newest >= 0
			if left.saved < found.saved || found.saved > 0 && !logged {
				t.Fatalf("killed after step %d, %+v was found, and a power cut left %+v", n, found, left)
			}
		}
	}
}

// TestLedgerOneFileSetBack rolls back either the state, the lines or the mark to any earlier content after a power cut.
// The node must then refuse to continue, unless nobody has yet seen the release that it would make next.
func TestLedgerOneFileSetBack(t *testing.T) {
	t.Parallel() // waits for the disk
	coin := rng.New(8, rng.Address{Purpose: rng.Fault})
	h := runNode(t, ledgerFiles(t, 2), 3)
	refused, went := 0, 0
	type opened struct {
		facts facts
		err   error
	}
	known := map[[sha256.Size]byte]opened{} // by the disk's contents, which are often the same
	var before []map[string][]byte          // the files after each earlier step
	for n := range len(h.steps) + 1 {
		for back, then := range before {
			for _, names := range [][]string{{"slot-0", "slot-1", logName}, {simLedger}, {simMark}} {
				files := h.powerCut(n, &coin)
				for _, name := range names {
					if files[name] = then[name]; files[name] == nil {
						delete(files, name)
					}
				}
				disk := diskHash(files)
				o, ok := known[disk]
				if !ok {
					var node simNode
					if node, o.err = openNode(newSimDisk(files)); o.err == nil {
						o.facts = node.facts()
						o.err = dpmech.CheckResume(o.facts.saved, o.facts.reserved, o.facts.marked)
					}
					known[disk] = o
				}
				if o.err == nil && o.facts.saved < h.promised(n) {
					t.Fatalf("release %d was seen, and with %q of step %d the node would draw %d anew", h.promised(n), names,
						back, o.facts.saved+1)
				}
				if o.err != nil {
					refused++
				} else {
					went++
				}
			}
		}
		before = append(before, h.after(n))
	}
	if refused == 0 || went == 0 {
		t.Errorf("%d times refused, %d times not", refused, went)
	}
}

// TestLedgerMarkRots changes the bytes of a mark file, one at a time. readMark must then return the newest or the
// previous mark. If the byte at the same position is changed in both marks, readMark must fail, unless the position is
// after the end of a mark.
func TestLedgerMarkRots(t *testing.T) {
	t.Parallel() // waits for the disk
	h := runNode(t, ledgerFiles(t, 2), 3)
	files := h.after(len(h.steps))
	ends := []int{bytes.IndexByte(files[simMark], '\n'), bytes.IndexByte(files[simMark][block:], '\n')}
	for at := range 2 * block {
		if far := at%block - slices.Max(ends); far > 3 && at%block < block-3 { // a zero like those around it
			continue
		}
		changed := bytes.Clone(files[simMark])
		changed[at] ^= 1
		m, err := parseMark(changed)
		if err != nil || m.Seq < 4 || len(m.Unsent) != 2 {
			t.Fatalf("byte %d: %+v, %v", at, m, err)
		}
		changed[(at+block)%(2*block)] ^= 1
		_, err = parseMark(changed)
		if at := at % block; at <= slices.Min(ends) && err == nil || at > slices.Max(ends) && err != nil {
			t.Fatalf("byte %d of both: %v", at, err)
		}
	}
}

// TestLedgerMarkGrows checks that, if the list of unsent releases outgrows its half of the file, a larger file replaces
// the old one. When the list becomes shorter again, the larger file stays in use.
func TestLedgerMarkGrows(t *testing.T) {
	l, path := newLedger(t, nil)
	const many = 1500
	for k := 1; k <= many; k++ { // reservations without marks; not synced one by one, to save time
		line, err := l.log.line(k, reserved(zeroRun, k, noisy))
		if err == nil {
			err = l.log.add(line[:len(line)-1])
		}
		if err == nil {
			_, err = l.file.WriteAt(line, l.log.lines[k-1].end)
		}
		must(t, err)
	}
	for k := 1; k <= 3; k++ {
		reserve(t, l, "sent", k, k)
		markUpTo(t, l, "sent", k)
		m, err := readMark(path)
		if err != nil || m.Seq != many+k || len(m.Unsent) != many {
			t.Fatalf("mark %d: %+v, %v", k, m, err)
		}
		if st, err := os.Stat(markPath(path)); err != nil || st.Size() != 4*block {
			t.Fatalf("the file has %d bytes (%v)", st.Size(), err)
		}
	}
	must(t, l.Close())
	l = reopen(t, path)
	if got := l.Marked(runID("sent", fleetA, "a")); got != 3 {
		t.Errorf("marked up to %d", got)
	}
	must(t, l.Mark(runID("run", [32]byte{}, "a"), many))
	if got := marks(t, path); got != strconv.Itoa(many+3)+" []" {
		t.Errorf("the mark says %s", got)
	}
}
