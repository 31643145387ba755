package node

import (
	"cmp"
	"fmt"
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
	quarantine, err := state.ReadQuarantine(path) // as it is kept; nothing of it is verified
	for _, q := range quarantine {
		r.row("quarantine", "%q from release %d on: %s; what was received is in %s", q.Neighbor, q.Release, q.Why,
			state.QuarantinePath(path))
	}
	_, own := r.evidence(report.Evidence, member)
	used, _ := state.InUse(path) // if it cannot be told, it is not said
	refused := cmp.Or(report.Refused, err, own)
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

func (r *inspection) evidenceFile(path string) error {
	list, err := state.ReadEvidence(path)
	if err != nil {
		return err
	}
	all, _ := r.evidence(list, "")
	r.Any = all
	for _, e := range all {
		if e.Fault != "" {
			r.fault = fmt.Errorf("evidence against %q: %s", e.Member, e.Fault)
		}
	}
	return nil
}
