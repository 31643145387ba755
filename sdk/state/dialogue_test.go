package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/internal/dialogue"
)

var rewrite = flag.Bool("update", false, "write testdata/*.txt anew")

// TestDialogues runs the dialogues in testdata/*.txt: stores and ledgers whose files are damaged, set back and deleted.
func TestDialogues(t *testing.T) {
	t.Parallel() // waits for the disk
	dialogue.Run(t, "testdata/*.txt", *rewrite, func(t *testing.T, out *dialogue.Lines) func([]string) {
		d := &desk{t: t, Lines: out, dir: t.TempDir(), copies: map[string][]byte{}}
		t.Cleanup(func() {
			if d.ledger != nil {
				_ = d.ledger.Close()
			}
		})
		return d.do
	})
}

// desk is a folder with the files of a store or of the ledger "l", and copies of files.
type desk struct {
	t *testing.T
	*dialogue.Lines
	dir    string
	copies map[string][]byte
	ledger *Ledger // if open
	runs   []string
}

// varying matches what differs between runs of a test: hashes and ids.
var varying = regexp.MustCompile("[0-9a-g`]{16,}(\\.\\.\\.)?") // a flipped bit turns a into ` and f into g

// tell prints a text, without the folder and without what varies.
func (d *desk) tell(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, d.dir+string(filepath.Separator), ""), d.dir, "the store")
	d.Say("%s", varying.ReplaceAllString(text, "#"))
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *desk) number(text string) int {
	n, err := strconv.Atoi(text)
	d.must(err)
	return n
}

// edit changes the content of a file.
func (d *desk) edit(name string, change func(b []byte) []byte) {
	b, err := os.ReadFile(d.path(name))
	if err == nil {
		err = os.WriteFile(d.path(name), change(b), 0o600)
	}
	d.must(err)
}

// at returns a place in a file: "40", or "line:2" for the end of a line, with an offset such as "line:2-5".
func (d *desk) at(b []byte, place string) int {
	line, is := strings.CutPrefix(place, "line:")
	if !is {
		n := d.number(place)
		return n + len(b)*min(1, max(0, -n))
	}
	offset := 0
	if i := strings.IndexAny(line, "+-"); i > 0 {
		line, offset = line[:i], d.number(line[i:])
	}
	end := 0
	for range d.number(line) {
		end += 1 + bytes.IndexByte(b[end:], '\n')
	}
	return end + offset
}

func (d *desk) do(words []string) {
	verb, args := words[0], append(words[1:], "", "", "")
	switch verb {
	case "ledger", "open", "close", "reserve", "mark", "show":
		d.account(verb, args)
		return
	case "fill": // a store of some rounds, in a folder of its own
		d.dir = filled(d.t, d.number(args[0]))
	case "examine":
		d.examine()
	case "remove":
		for _, name := range words[1:] {
			d.must(os.Remove(d.path(name)))
		}
	case "folder":
		d.must(os.Mkdir(d.path(args[0]), 0o700))
	case "flip":
		d.edit(args[0], func(b []byte) []byte { b[d.at(b, args[1])] ^= 1; return b })
	case "cut":
		d.edit(args[0], func(b []byte) []byte { return b[:d.at(b, args[1])] })
	case "append":
		d.edit(args[0], func(b []byte) []byte { return append(b, strings.Join(words[2:], " ")...) })
	case "zeros":
		d.edit(args[0], func(b []byte) []byte { return append(b, make([]byte, d.number(args[1]))...) })
	case "reseal": // changes a slot and its digest
		d.edit(args[0], func(b []byte) []byte {
			b[d.number(args[1])]++
			end := slotHeader + int(binary.LittleEndian.Uint64(b[24:])) + int(binary.LittleEndian.Uint32(b[12:]))
			sum := sha256.Sum256(b[:end])
			copy(b[end:], sum[:])
			return b
		})
	case "swap":
		a, b := d.path(args[0]), d.path(args[1])
		d.must(errors.Join(os.Rename(a, d.path("x")), os.Rename(b, a), os.Rename(d.path("x"), b)))
	case "from": // files of another store
		other := filled(d.t, d.number(args[0]))
		for _, name := range words[2:] {
			b, err := os.ReadFile(filepath.Join(other, name))
			d.must(err)
			d.edit(name, func([]byte) []byte { return b })
		}
	case "copy":
		b, err := os.ReadFile(d.path(args[0]))
		d.must(err)
		d.copies[args[1]] = b
	case "restore":
		d.must(os.WriteFile(d.path(args[1]), d.copies[args[0]], 0o600))
	default:
		d.t.Fatalf("unknown command %q", words)
	}
}

// account does one thing with the ledger.
func (d *desk) account(verb string, args []string) {
	switch verb {
	case "ledger":
		l, err := CreateLedger(d.path("l"), "patients", dpmech.Client, nil, NeverUsed)
		if err != nil {
			d.tell(err.Error())
			return
		}
		d.ledger = l
	case "open":
		looking, lookErr := ReadLedger(d.path("l"))
		l, err := OpenLedger(d.path("l"))
		if fmt.Sprint(err) != fmt.Sprint(lookErr) {
			d.t.Fatalf("OpenLedger says %v, and ReadLedger %v", err, lookErr)
		}
		if err != nil {
			d.tell(err.Error())
			return
		}
		if looking.Head() != l.Head() {
			d.t.Fatalf("OpenLedger finds %v, and ReadLedger %v", l.Head(), looking.Head())
		}
		d.ledger = l
		d.Say("the ledger has %d reservations", l.Head().Seq)
	case "close":
		d.must(d.ledger.Close())
		d.ledger = nil
	case "reserve":
		if !slices.Contains(d.runs, args[0]) {
			d.runs = append(d.runs, args[0])
		}
		before := d.ledger.Head().Seq
		for round := d.number(args[1]); round <= d.number(args[2]); round++ {
			d.must(d.ledger.Reserve(runID(args[0], fleetA, "a"), round, noisy))
		}
		d.Say("%d lines are new", d.ledger.Head().Seq-before)
	case "mark":
		if err := d.ledger.Mark(runID(args[0], fleetA, "a"), d.number(args[1])); err != nil {
			d.tell(err.Error())
		}
	case "show":
		looking, err := ReadLedger(d.path("l"))
		d.must(err)
		for _, run := range d.runs {
			id := runID(run, fleetA, "a")
			d.Say("run %s: reserved up to %d, marked up to %d", run, d.ledger.Last(id), d.ledger.Marked(id))
			if looking.Last(id) != d.ledger.Last(id) || looking.Marked(id) != d.ledger.Marked(id) {
				d.t.Fatalf("who reads the file finds %d and %d", looking.Last(id), looking.Marked(id))
			}
		}
		m, err := readMark(d.path("l"))
		d.must(err)
		d.Say("the mark: line %d, and not sent before it %v", m.Seq, m.Unsent)
	}
}

// examine opens the store, and prints what Open and Inspect say. A store that is refused must not change. One that is
// opened must keep the next round, repair its log and find two rounds again.
func (d *desk) examine() {
	before := d.files()
	report, inspectErr := Inspect(d.dir)
	if d.files() != before {
		d.t.Fatal("Inspect changed something")
	}
	store, err := sized(Open(d.dir))(10 * testLimit)
	if inspectErr == nil && fmt.Sprint(report.Refused) != fmt.Sprint(err) {
		d.t.Errorf("Inspect says %v, Open %v", report.Refused, err)
	}
	if err != nil {
		how := "refused"
		if errors.Is(err, ErrRollback) {
			how = "refused, set back"
		}
		d.tell(how + ": " + err.Error())
		if os.Remove(d.path("lock")); d.files() != before {
			d.t.Error("a refused directory was changed")
		}
		return
	}
	kept, remarks := loaded(d.t, store), store.Remarks()
	d.Say("opened, with rounds %v", kept)
	for _, remark := range remarks {
		d.tell(remark)
	}
	if !slices.Equal(report.Remarks, remarks) {
		d.t.Errorf("Inspect remarks %q, Open %q", report.Remarks, remarks)
	}
	d.must(errors.Join(store.Save(savedRound(kept[0]+1, 20)), store.Close()))
	if log, err := os.ReadFile(d.path(logName)); err != nil || !bytes.HasSuffix(log, []byte("}\n")) ||
		bytes.Count(log, []byte("\n")) != bytes.Count(log, []byte(`{"round":`)) {
		d.t.Errorf("the log was repaired to %q, %v", log, err)
	}
	if got := loaded(d.t, mustOpen(d.t, d.dir)); !slices.Equal(got, []int{kept[0] + 1, kept[0]}) {
		d.t.Errorf("a round later the store has %v", got)
	}
}

// files returns all files in the folder except the lock, for comparison.
func (d *desk) files() string {
	entries, err := os.ReadDir(d.dir)
	d.must(err)
	var b strings.Builder
	for _, e := range entries {
		if e.Name() != "lock" {
			content, _ := os.ReadFile(d.path(e.Name()))
			fmt.Fprintf(&b, "%s %q\n", e.Name(), content)
		}
	}
	return b.String()
}
