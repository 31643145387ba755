package state

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/signed"
)

func exampleJournal() *Journal {
	j := &Journal{Run: "r \x1b", Fleet: [32]byte{7}, Member: "../ a/%"}
	for i, name := range []string{"a", "b"} {
		var two [2]signed.Statement
		for k := range two {
			two[k] = signed.Statement{Kind: signed.Release, Round: i + 1, Value: [32]byte{byte(k)}}
			two[k].Sign(memberKey(name), signed.NewScope(j.Run, j.Fleet, name))
		}
		j.Evidence = append(j.Evidence, signed.NewEvidence(name, &two[0], &two[1]))
	}
	j.Quarantine = []Quarantine{
		{Neighbor: "../ a/%", Release: 4, Why: "x \x1b", Frames: []Frame{NewFrame(make([]byte, MaxFrameKept+5)), NewFrame([]byte{2})}},
		{Neighbor: "b", Release: 1, Told: true, Frames: []Frame{NewFrame([]byte{1})}},
	}
	return j
}

// TestJournalIsReadAgain checks that Inspect returns what a node stored. Only the start of a long frame
// is stored. A missing file yields an empty journal.
func TestJournalIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	if r, err := Inspect(dir); err != nil || !reflect.DeepEqual(r, Report{}) {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, want := range []*Journal{{Run: "r", Member: "a"}, exampleJournal(), {Run: "r", Fleet: [32]byte{1}, Member: "a"}} {
		text, err := want.Encode()
		if err == nil {
			err = d.Keep(JournalName, text)
		}
		must(t, err)
		if r, err := Inspect(dir); err != nil || r.Refused != nil || !reflect.DeepEqual(&r.Journal, want) {
			t.Errorf("%+v, %v, want %+v", r.Journal, err, want)
		}
	}
	if n := len(exampleJournal().Quarantine[0].Frames[0].Start); n != MaxFrameKept {
		t.Errorf("%d bytes of a frame are kept", n)
	}
}

// TestJournalIsRefused checks that Inspect rejects a damaged journal with an error that names the line
// and the remedy.
func TestJournalIsRefused(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir)
	good, err := exampleJournal().Encode()
	must(t, err)
	text := string(good)
	first, rest, _ := strings.Cut(text, "\n")
	for name, c := range map[string][2]string{
		"torn":          {text[:len(text)-10], "line 5"},
		"no head":       {rest, "line 1: want the fields run, fleet and member"},
		"two heads":     {first + "\n" + first + "\n", "line 2: want the fields run, fleet and member"},
		"short hash":    {strings.Replace(text, `"fleet":"07`, `"fleet":"`, 1), "line 1: fleet has 31 bytes, want 32"},
		"a field":       {strings.Replace(text, `"evidence"`, `"evidense"`, 1), `line 2: unknown field "evidense"`},
		"half of it":    {strings.Replace(text, `"first":"01`, `"first":"`, 1), "line 2: signed: "},
		"no release":    {strings.Replace(text, `"release":4`, `"release":0`, 1), "line 4: quarantine: found neighbor"},
		"nothing":       {first + "\n{}\n", "line 2: found 0 of the fields fleet"},
		"two in a line": {strings.Replace(text, `{"evidence"`, `{"fleet":"00","evidence"`, 1), "line 2: found 2 of the fields fleet"},
	} {
		mustWrite(t, filepath.Join(dir, JournalName), []byte(c[0]))
		if r, err := Inspect(dir); err != nil || r.Refused == nil || !strings.Contains(r.Refused.Error(), c[1]) {
			t.Errorf("%s: %v, %v, want %q", name, r.Refused, err, c[1])
		}
	}
}

func FuzzParseJournal(f *testing.F) {
	text, err := exampleJournal().Encode()
	must(f, err)
	f.Add(text[:2000])
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := ParseJournal(text)
		if err != nil {
			return
		}
		again, err := j.Encode()
		must(t, err)
		if back, err := ParseJournal(again); err != nil || !reflect.DeepEqual(back, j) {
			t.Errorf("%+v, %v, want %+v", back, err, j)
		}
	})
}
