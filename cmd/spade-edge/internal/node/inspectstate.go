package node

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// secretText stands for what is kept of the noise that neighbors share.
const secretText = "not shown: of the noise that the run's members share; they are removed when it is over"

// stateFolder says what a node's state folder holds, and whether a node would go on from it.
func (r *inspection) stateFolder(path string) error {
	r.Kind = "state folder"
	if !isFile(filepath.Join(path, "releases.log")) && !isFile(filepath.Join(path, "slot-0")) {
		return cli.AsUsageError(fmt.Errorf("%s is a folder, but not one of a node's state: "+
			"it has neither releases.log nor slot-0, and no node.json", path))
	}
	report, err := state.Inspect(path)
	if err != nil {
		return err
	}
	member := r.slots(report.Slots[:])
	last := "missing"
	if n := len(report.Log); n > 0 {
		last = report.Log[n-1]
	}
	r.row("log", "%d lines; the last is %s", len(report.Log), last)
	if report.Secrets {
		r.row("secrets", "%s", secretText)
	}
	for _, remark := range report.Remarks {
		r.row("remark", "%s", remark)
	}
	r.quarantine(report.Journal.Quarantine, filepath.Join(path, state.JournalName))
	_, own := r.evidence(report.Journal.Evidence, member)
	used, _ := state.InUse(path) // if it cannot be told, it is not said
	refused := cmp.Or(report.Refused, own)
	switch {
	case used:
		r.row("verdict", "in use: a node is at work on it")
	case refused != nil:
		r.row("verdict", "refused: %v", refused)
		r.fault = refused
	default:
		r.row("verdict", "sound: a node goes on from it")
	}
	return nil
}

// slots says what the slots of a state folder hold, and returns whose state it is.
func (r *inspection) slots(all []state.SlotReport) (member string) {
	for _, s := range all {
		name := filepath.Base(s.File)
		switch kept := s.Snapshot; {
		case s.Fault != "":
			r.row(name, "%s", s.Fault)
		case kept == nil:
			r.row(name, "round %d, but %v", s.Round, s.Foreign)
		default:
			member = kept.Member
			r.row(name, "round %d of %q in the fleet with hash %x, %s, model_sha256 %s, made by %s", s.Round, kept.Member,
				kept.Fleet[:8], cli.BytesText(s.Bytes), sdk.ModelHash(kept.Model), kept.Build)
		}
	}
	return member
}

// evidenceReport is one piece of evidence, and its JSON.
type evidenceReport struct {
	Member  string `json:"member"`
	Round   int    `json:"round"`
	Meaning string `json:"meaning"`
	// whether the member's keys have made both signatures; null if no fleet file is known
	Verified *bool  `json:"verified"`
	Fault    string `json:"fault,omitempty"` // why it does not count
}

// evidence adds a line for each piece of evidence. The error says that there is some against the member itself: its
// node does not go on. Evidence that is known not to count is no such error.
func (r *inspection) evidence(list []signed.Evidence, member string) (all []evidenceReport, own error) {
	for _, e := range list {
		one, meaning := evidenceReport{Member: e.Member, Round: e.Round, Meaning: e.String()},
			"the signatures are not checked, which takes -fleet"
		if r.fleet != nil {
			f := r.fleet.Fleet
			err := e.Verify(f.Run, f.Hash(), r.fleet.SigningKeys(e.Member))
			good := err == nil
			one.Verified, meaning = &good, "both signatures are good"
			if err != nil {
				one.Fault, meaning = err.Error(), "it does not count: "+err.Error()
			}
		}
		if e.Member == member && one.Fault == "" {
			own = fmt.Errorf("%v: %w", e, sdk.ErrClone)
		}
		r.row("evidence", "%v; %s", e, meaning)
		all = append(all, one)
	}
	return all, own
}

// quarantine adds a line for each neighbor in quarantine, of a journal in a file.
func (r *inspection) quarantine(list []state.Quarantine, file string) {
	for _, q := range list {
		r.row("quarantine", "%q from release %d on: %s; what was received is in %s", q.Neighbor, q.Release, q.Why, file)
	}
}

func (r *inspection) journal(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	j, err := state.ParseJournal(text)
	if err != nil {
		return err
	}
	r.row("of", "%q in run %q with fleet hash %x", j.Member, j.Run, j.Fleet[:8])
	for _, s := range j.Stops {
		r.row("stop", "member %d asks for an end after round %d", s.Member, s.Round)
	}
	r.quarantine(j.Quarantine, path)
	all, _ := r.evidence(j.Evidence, "")
	r.Any = all
	for _, e := range all {
		if e.Fault != "" {
			r.fault = fmt.Errorf("evidence against %q: %s", e.Member, e.Fault)
		}
	}
	return nil
}
