package main

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
)

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

// heads shows what a node remembers of its neighbors' ledgers.
func (r *inspection) heads(path string) error {
	h, err := state.OpenHeads(path)
	if err != nil {
		return err
	}
	all := []fields{}
	fmt.Fprintf(&r.text, "%-51s  %-32s  %s\n", "key", "ledger", "lines")
	for _, k := range h.Known() {
		key := transport.FormatKey(k.Key)
		fmt.Fprintf(&r.text, "%-51s  %-32s  %d\n", key, k.Ledger, k.Lines)
		all = append(all, fields{{"key", key}, {"ledger", k.Ledger}, {"lines", k.Lines}})
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
	table{&r.text}.ledger(path, life)
	return nil
}

func (r *inspection) certificate(path string) error {
	_, c, err := certificateIn(path)
	if err != nil {
		return usageError{err}
	}
	r.fault = c.Verify()
	r.Any = fields{{"verified", r.fault == nil}, {"certificate", c}}
	fmt.Fprintf(&r.text, "\n%s\n", c.Text())
	if r.fault == nil {
		r.row("consistent", "every figure follows from the clip and noise of the releases; "+
			"who wrote it, privacy -verify with -fleet shows")
	}
	return nil
}
