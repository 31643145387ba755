package node

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
)

// secretText stands for what is kept of the noise that neighbors share.
const secretText = "not shown: of the noise that the run's members share; they are removed when it is over"

func (r *inspection) stateFolder(path string) error {
	r.Kind = "state folder"
	if _, err := os.Stat(filepath.Join(path, "releases.log")); err != nil {
		if _, err := os.Stat(filepath.Join(path, "slot-0")); err != nil {
			return cli.AsUsageError(fmt.Errorf("%s is a folder, but not one of a node's state: "+
				"it has neither releases.log nor slot-0, and no node.json", path))
		}
	}
	report, err := state.Inspect(path)
	if err != nil {
		return err
	}
	used, _ := state.InUse(path) // if it cannot be told, it is not said
	type slot struct {
		state.SlotReport
		Member string `json:"member,omitempty"`
		Fleet  string `json:"fleet_hash,omitempty"`
		Model  string `json:"model_sha256,omitempty"`
	}
	content := struct {
		InUse   bool              `json:"in_use"`
		Opens   bool              `json:"opens"`
		Refused string            `json:"refused,omitempty"`
		Remarks []string          `json:"remarks"`
		Slots   []slot            `json:"slots"`
		Log     []json.RawMessage `json:"log"`

		Evidence []evidenceReport `json:"evidence,omitempty"`
		Secrets  bool             `json:"secrets,omitempty"`
		// as they are kept; nothing of it is verified
		Quarantine []state.Quarantine `json:"quarantine,omitempty"`
	}{Secrets: report.Secrets, InUse: used, Opens: report.Refused == nil, Remarks: append([]string{}, report.Remarks...)}
	member := ""
	for _, s := range report.Slots {
		one := slot{SlotReport: s}
		switch kept, err := state.ReadSnapshot(s.File); {
		case s.Fault != "":
			r.row(filepath.Base(s.File), "%s", s.Fault)
		case err != nil:
			r.row(filepath.Base(s.File), "round %d, but %v", s.Round, err)
		default:
			member = kept.Member
			one.Member, one.Fleet, one.Model = kept.Member, hex.EncodeToString(kept.Fleet[:]), sdk.ModelHash(kept.Model)
			r.row(filepath.Base(s.File), "round %d of %q in the fleet with hash %s, %s, model_sha256 %s", s.Round, kept.Member,
				one.Fleet[:16], cli.BytesText(s.Bytes), one.Model)
		}
		content.Slots = append(content.Slots, one)
	}
	r.row("log", "%d lines", len(report.Log))
	for i, line := range report.Log {
		raw := json.RawMessage(line)
		if !json.Valid(raw) {
			raw, _ = json.Marshal(line)
		}
		content.Log = append(content.Log, raw)
		if i >= len(report.Log)-5 {
			r.row("", "%s", line)
		}
	}
	if report.Secrets {
		r.row("secrets", "%s", secretText)
	}
	for _, remark := range report.Remarks {
		r.row("remark", "%s", remark)
	}
	if content.Quarantine, err = state.ReadQuarantine(path); report.Refused == nil {
		report.Refused, content.Opens = err, err == nil
	}
	for _, q := range content.Quarantine {
		r.row("quarantine", "%q from release %d on: %s; what was received is in %s", q.Neighbor, q.Release, q.Why,
			state.QuarantinePath(path))
	}
	var own error
	if content.Evidence, own = r.evidence(report.Evidence, member); report.Refused == nil {
		report.Refused, content.Opens = own, own == nil
	}
	switch {
	case used:
		r.row("verdict", "in use: a node is at work on it")
	case report.Refused != nil:
		r.row("verdict", "refused")
		content.Refused, r.fault = report.Refused.Error(), report.Refused
	default:
		r.row("verdict", "sound: a node goes on from it")
	}
	r.Any = content
	return nil
}

func (r *inspection) slot(path string) error {
	r.Kind = "slot"
	k, err := state.ReadSnapshot(path)
	if err != nil {
		return err
	}
	all := cli.Fields{
		{Key: "member", Value: k.Member}, {Key: "fleet_hash", Value: hex.EncodeToString(k.Fleet[:])}, {Key: "build", Value: k.Build}, {Key: "round", Value: k.Round},
		{Key: "dim", Value: len(k.Model)}, {Key: "model_sha256", Value: sdk.ModelHash(k.Model)}, {Key: "averaged_kept", Value: k.Averaged != nil},
	}
	if k.Note != "" {
		all = append(all, cli.Field{Key: "note", Value: json.RawMessage(k.Note)})
	}
	r.Any = all
	r.row("release", "round %d of %q in the fleet with hash %x", k.Round, k.Member, k.Fleet[:8])
	r.row("model", "%d numbers, sha256 %s", len(k.Model), sdk.ModelHash(k.Model))
	r.row("made by", "%s", k.Build)
	r.row("note", "%s", k.Note)
	return nil
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

func (r *inspection) heads(path string) error {
	h, err := state.OpenHeads(path)
	if err != nil {
		return err
	}
	all := []cli.Fields{}
	fmt.Fprintf(&r.text, "%-51s  %-32s  %s\n", "key", "ledger", "lines")
	for _, k := range h.Known() {
		key := transport.FormatKey(k.Key)
		fmt.Fprintf(&r.text, "%-51s  %-32s  %d\n", key, k.Ledger, k.Lines)
		all = append(all, cli.Fields{{Key: "key", Value: key}, {Key: "ledger", Value: k.Ledger}, {Key: "lines", Value: k.Lines}})
	}
	r.Any = all
	return nil
}

func (r *inspection) ledger(path string) error {
	l, err := state.ReadLedger(path)
	if err != nil {
		return err
	}
	life := l.Lifetime(1e-5)
	if life.Limit != nil {
		life = l.Lifetime(life.Limit.Delta)
	}
	r.Any = life
	privacy.Ledger(cli.Table{Writer: &r.text}, path, life, privacy.LeftOf(life, "", nil))
	return nil
}

func (r *inspection) certificate(path string) error {
	_, c, err := privacy.CertificateIn(path)
	if err != nil {
		return cli.AsUsageError(err)
	}
	r.fault = c.Verify()
	r.Any = cli.Fields{{Key: "verified", Value: r.fault == nil}, {Key: "certificate", Value: c}}
	fmt.Fprintf(&r.text, "\n%s\n", c.Text())
	if r.fault == nil {
		r.row("consistent", "every figure follows from the clip and noise of the releases; "+
			"who wrote it, privacy -verify with -fleet shows")
	}
	return nil
}
