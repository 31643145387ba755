package node

import (
	"cmp"
	"encoding/hex"
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
	r.add("log", len(report.Log), "%d lines; the last is %s", len(report.Log), last(report.Log))
	if report.Secrets {
		r.add("secrets", true, "%s", secretText)
	}
	for _, remark := range report.Remarks {
		r.row("remark", "%s", remark)
	}
	r.add("remarks", append([]string{}, report.Remarks...), "")
	quarantine, err := state.ReadQuarantine(path) // as it is kept; nothing of it is verified
	for _, q := range quarantine {
		r.row("quarantine", "%q from release %d on: %s; what was received is in %s", q.Neighbor, q.Release, q.Why,
			state.QuarantinePath(path))
	}
	r.add("quarantine", quarantine, "")
	evidence, own := r.evidence(report.Evidence, member)
	r.add("evidence", evidence, "")
	used, _ := state.InUse(path) // if it cannot be told, it is not said
	r.add("in_use", used, "")
	refused := cmp.Or(report.Refused, err, own)
	r.add("opens", refused == nil, "")
	switch {
	case used:
		r.row("verdict", "in use: a node is at work on it")
	case refused != nil:
		r.add("refused", refused.Error(), "")
		r.row("verdict", "refused")
		r.fault = refused
	default:
		r.row("verdict", "sound: a node goes on from it")
	}
	return nil
}

// slots says what the slots of a state folder hold, and returns whose state it is.
func (r *inspection) slots(all []state.SlotReport) (member string) {
	type slot struct {
		state.SlotReport
		Member string `json:"member,omitempty"`
		Fleet  string `json:"fleet_hash,omitempty"`
		Model  string `json:"model_sha256,omitempty"`
	}
	var content []slot
	for _, s := range all {
		one := slot{SlotReport: s}
		name := filepath.Base(s.File)
		switch kept := s.Snapshot; {
		case s.Fault != "":
			r.row(name, "%s", s.Fault)
		case kept == nil:
			r.row(name, "round %d, but %v", s.Round, s.Foreign)
		default:
			member = kept.Member
			one.Member, one.Fleet, one.Model = kept.Member, hex.EncodeToString(kept.Fleet[:]), sdk.ModelHash(kept.Model)
			r.row(name, "round %d of %q in the fleet with hash %s, %s, model_sha256 %s, made by %s", s.Round, kept.Member,
				one.Fleet[:16], cli.BytesText(s.Bytes), one.Model, kept.Build)
		}
		content = append(content, one)
	}
	r.add("slots", content, "")
	return member
}

// last returns the last line, if there is one.
func last(lines []string) string {
	if len(lines) == 0 {
		return "missing"
	}
	return lines[len(lines)-1]
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
