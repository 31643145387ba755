package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/dpmech/strict"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// JournalName is the name under which a node keeps its [Journal]; see [Store].Keep. In a [Dir], it is the name of a file.
const JournalName = "journal.jsonl"

// Journal holds what a node stores about the other members of a run. Its text form has one JSON object per line: the
// first line identifies the owner, and each further line holds one element of Evidence, Quarantine or Ledgers.
type Journal struct {
	Run        string
	Fleet      [sha256.Size]byte // hash of the fleet
	Member     string            // owner of the journal
	Evidence   []signed.Evidence
	Quarantine []Quarantine  // at most one for each neighbor
	Ledgers    []OtherLedger // at most one for each ledger
}

type journalLine struct {
	Run        string           `json:"run,omitempty"`
	Fleet      hexText          `json:"fleet,omitempty"`
	Member     string           `json:"member,omitempty"`
	Evidence   *signed.Evidence `json:"evidence,omitempty"`
	Quarantine *Quarantine      `json:"quarantine,omitempty"`
	Ledger     *OtherLedger     `json:"ledger,omitempty"`
}

// Encode returns the journal as text.
func (j *Journal) Encode() ([]byte, error) {
	lines := []journalLine{{Run: j.Run, Fleet: j.Fleet[:], Member: j.Member}}
	for i := range j.Evidence {
		lines = append(lines, journalLine{Evidence: &j.Evidence[i]})
	}
	for i := range j.Quarantine {
		lines = append(lines, journalLine{Quarantine: &j.Quarantine[i]})
	}
	for i := range j.Ledgers {
		lines = append(lines, journalLine{Ledger: &j.Ledgers[i]})
	}
	return encodeLines(lines)
}

// ParseJournal parses the output of [Journal.Encode]; empty text is an empty journal. It does not check signatures.
func ParseJournal(text []byte) (j Journal, err error) {
	lines, err := parseLines(text, (*journalLine).check)
	if err != nil {
		return j, fmt.Errorf("state: %s: %w; restore the journal from a copy, or remove it and lose the evidence in it", JournalName, err)
	}
	for i, l := range lines {
		switch {
		case (i == 0) != (l.Fleet != nil):
			return Journal{}, fmt.Errorf("state: %s: line %d: want the fields run, fleet and member in the first line only", JournalName, i+1)
		case i == 0:
			j.Run, j.Member = l.Run, l.Member
			copy(j.Fleet[:], l.Fleet)
		case l.Evidence != nil:
			j.Evidence = append(j.Evidence, *l.Evidence)
		case l.Ledger != nil:
			j.Ledgers = append(j.Ledgers, *l.Ledger)
		default:
			j.Quarantine = append(j.Quarantine, *l.Quarantine)
		}
	}
	return j, nil
}

func (l *journalLine) check() error {
	has := 0
	for _, there := range []bool{l.Fleet != nil, l.Evidence != nil, l.Quarantine != nil, l.Ledger != nil} {
		if there {
			has++
		}
	}
	var err error
	switch {
	case has != 1:
		return fmt.Errorf("found %d of the fields fleet, evidence, quarantine and ledger, want exactly one", has)
	case l.Fleet != nil && len(l.Fleet) != sha256.Size:
		return fmt.Errorf("fleet has %d bytes, want %d", len(l.Fleet), sha256.Size)
	case l.Evidence != nil:
		err = l.Evidence.Check()
	case l.Quarantine != nil && (l.Quarantine.Release < 1 || l.Quarantine.Neighbor == ""):
		err = fmt.Errorf("quarantine: found neighbor %q and release %d, want a name and a release of 1 or more", l.Quarantine.Neighbor, l.Quarantine.Release)
	}
	return err
}

// Quarantine records why a node stopped working with a neighbor, together with the proof.
type Quarantine struct {
	Neighbor string  `json:"neighbor"`
	Release  int     `json:"release"` // the member's first release without the neighbor
	Round    int     `json:"round"`   // number of releases that the member had made by then
	Why      string  `json:"why"`     // what was found, and what was wanted
	Told     bool    `json:"told"`    // the neighbor dropped the member, not vice versa
	Frames   []Frame `json:"frames"`  // what the neighbor sent; signed releases are in the field "own" of these frames
}

// OtherLedger is a ledger of the journal's owner that the owner does not use in this run, as shown by a neighbor.
type OtherLedger struct {
	By     string         `json:"by"`     // the neighbor
	Signed signed.Earlier `json:"signed"` // what the owner signed about the ledger
}

// String returns a sentence that names the ledger.
func (o OtherLedger) String() string { return TextOfLedger(o.Signed.LedgerID(), o.By) }

// TextOfLedger returns the sentence for a ledger with the given id that a neighbor has shown.
func TextOfLedger(id, by string) string {
	return fmt.Sprintf("neighbors know of another ledger of this member: %s (shown by %q); what it counts is not counted here", id, by)
}

// Frame is the stored part of a frame that a neighbor sent. A release that was found impossible only when it was due is
// encoded again: the frame that arrived may also have had the field "resent", and then its SHA-256 differs.
type Frame struct {
	Bytes  int    `json:"bytes"`  // length
	SHA256 string `json:"sha256"` // SHA-256 of the whole frame, in hexadecimal digits
	Start  []byte `json:"start"`  // first bytes, at most MaxFrameKept
}

// MaxFrameKept is the maximum length, in bytes, of the stored part of a frame.
const MaxFrameKept = 256 << 10

// NewFrame returns the stored form of the frame b, with a copy of its first bytes.
func NewFrame(b []byte) Frame {
	return Frame{Bytes: len(b), SHA256: fmt.Sprintf("%x", sha256.Sum256(b)), Start: append([]byte(nil), b[:min(len(b), MaxFrameKept)]...)}
}

// Kept implements [Store].
func (d *Dir) Kept(name string) ([]byte, error) { return readIfThere(filepath.Join(d.dir, name)) }

// Keep implements [Store]: it replaces the file with the given name.
func (d *Dir) Keep(name string, data []byte) error {
	switch {
	case d.err != nil:
		return d.err
	case name != JournalName:
		return fmt.Errorf("state: found data named %q, want %q", name, JournalName)
	}
	return named(Replace(filepath.Join(d.dir, name), data, 0o600))
}

// maxLines is the maximum number of lines that [parseLines] accepts. It is far above the number of members of any
// fleet.
const maxLines = 4096

// parseLines parses each line as a JSON object and checks it. Every error names the line.
func parseLines[T any](text []byte, check func(*T) error) (list []T, err error) {
	for line := range bytes.Lines(text) {
		var one T
		err := strict.ReadJSON(bytes.TrimSuffix(line, []byte{'\n'}), &one)
		if err == nil {
			err = check(&one)
		}
		if err == nil && len(list) == maxLines {
			err = fmt.Errorf("found more lines than the maximum of %d", maxLines)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(list)+1, err)
		}
		list = append(list, one)
	}
	return list, nil
}

func encodeLines[T any](list []T) ([]byte, error) {
	if len(list) > maxLines {
		return nil, fmt.Errorf("state: %d lines, want at most %d", len(list), maxLines)
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	for i := range list {
		if err := out.Encode(&list[i]); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// replaceLines replaces the content of a file, which only its owner may read, with one JSON object per line.
func replaceLines[T any](path string, list []T) error {
	text, err := encodeLines(list)
	if err != nil {
		return err
	}
	return named(Replace(path, text, 0o600))
}
