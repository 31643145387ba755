package privacy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/audit"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Verification is the result of verifying a certificate, printed as text or, with -json, as JSON.
type Verification struct {
	Verified      bool `json:"verified"`
	LedgerChecked bool `json:"ledger_checked"`
	FleetChecked  bool `json:"fleet_checked"`
	// neighbors whose signature confirms that they received the last release
	Countersigned []string `json:"countersigned_by"`
	// all other neighbors; both lists are empty if no fleet was checked
	NotCountersigned []string            `json:"not_countersigned_by"`
	Certificate      *dpmech.Certificate `json:"certificate"`
}

func (o *privacyOptions) verifyCertificate() error {
	text, cert, err := CertificateIn(o.verify)
	if err != nil {
		if j, other := state.ParseJournal(text); other == nil && len(j.Evidence)+len(j.Quarantine) > 0 {
			return o.verifyEvidence(j)
		}
		return err
	}
	v := Verification{
		Verified: true, LedgerChecked: o.Given["ledger"], FleetChecked: o.Given["fleet"],
		Countersigned: []string{}, NotCountersigned: []string{}, Certificate: cert,
	}
	var ledger *state.Ledger
	if !v.LedgerChecked {
		err = right(o.verify, cert.Verify())
	} else if ledger, err = state.ReadLedger(o.ledger); err == nil {
		err = right(o.verify, ledger.Verify(cert))
	}
	if err == nil && v.FleetChecked {
		err = o.audit(&v, ledger)
	}
	if err == nil && o.page != "" {
		err = cli.WriteAll([]cli.Written{{Path: o.page, Content: o.report(&v, text, ledger)}}, o.force)
	}
	if err != nil {
		return err
	}
	return o.Print(v, func(t cli.Table) {
		if fmt.Fprintf(t, "%s\n%s", cert.Text(), o.summary(&v, ledger)); o.page != "" {
			fmt.Fprintf(t, "report: %s\n", o.page)
		}
	})
}

// CertificateIn reads a certificate without verifying it. It returns the text of the file even if parsing fails.
func CertificateIn(path string) ([]byte, *dpmech.Certificate, error) {
	text, err := fleetfile.ReadFile(path, MaxForeign, "a certificate")
	if err != nil {
		return nil, nil, err
	}
	c, err := dpmech.ParseCertificate(text)
	if err != nil {
		return text, nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, c, nil
}

// MaxForeign is the maximum size, in bytes, of a file that other people supply.
const MaxForeign = 64 << 20

// right prefixes err with the path of the certificate. If err is nil, it returns nil.
func right(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s is not valid:\n%w", path, err)
}

// audit checks the certificate against the fleet file and its keys. It also checks the certificate against ledger,
// unless ledger is nil.
func (o *privacyOptions) audit(v *Verification, ledger *state.Ledger) error {
	file, err := fleetfile.Read(o.fleet)
	if err != nil {
		return cli.AsUsageError(err)
	}
	a, err := audit.Certificate(file.Fleet, v.Certificate, file.SigningKeys)
	if err != nil {
		return right(o.verify, err)
	}
	if head := a.LedgerHead(); head != nil && ledger != nil {
		if err := ledger.Contains(*head); err != nil {
			return right(o.verify, fmt.Errorf("head: the certificate's ledger state does not belong to the given ledger: %w", err))
		}
	}
	v.Countersigned = append(v.Countersigned, a.Countersigned...)
	v.NotCountersigned = append(v.NotCountersigned, a.NotCountersigned...)
	return nil
}

func (o *privacyOptions) summary(v *Verification, ledger *state.Ledger) string {
	c, holders, others := v.Certificate, "nobody: only the member itself says that no release is left out", quoted(v.NotCountersigned)
	if len(v.Countersigned) > 0 {
		holders = quoted(v.Countersigned) + ": each holds the last release, and therefore all before it"
	}
	text := "consistent: every figure follows from the clip and noise of the releases.\n" +
		"Nothing here shows who wrote the certificate, nor that these are all releases: that takes -fleet, with the fleet file.\n"
	if v.FleetChecked {
		text = fmt.Sprintf("verified: signed with the key that %s has for %q, with the clip, noise, delta and limit of that file;\n"+
			"every figure follows from the clip and noise of the releases\ncountersigned by %s\n", o.fleet, c.Member, holders)
	}
	if v.FleetChecked && c.AgainstAll != nil {
		text += fmt.Sprintf("the graph of %s leaves as much pairwise noise as the certificate states for each number of "+
			"colluders\n", o.fleet)
	}
	if others != "" {
		text += "not countersigned by " + others + "\n"
	}
	if c.Simulated {
		text += "SIMULATED: the noise came from a seed, and the run protects nobody.\n"
	}
	if ledger != nil {
		text += fmt.Sprintf("ledger: %s still contains every release that the certificate counts (%d then, %d now)\n", o.ledger,
			c.Lifetime.Ledger.Seq, ledger.Head().Seq)
	}
	return text
}

func quoted(names []string) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprintf("%q", names), "[]"), `" "`, `", "`)
}

// Evidence is the result of verifying the evidence in a journal, printed as text or, with -json, as JSON.
type Evidence struct {
	Evidence []Double `json:"evidence"`
}

// Double is one piece of evidence: equivocation (two releases in the same round), or a release that no honest member
// can make.
type Double struct {
	Member   string `json:"member"`
	Round    int    `json:"round"`
	Meaning  string `json:"meaning"`
	Verified bool   `json:"verified"`        // the member's keys in the fleet file made the signatures, which prove it
	Fault    string `json:"fault,omitempty"` // why the evidence does not count
}

// verifyEvidence checks the evidence in a journal with the keys in the fleet file, so it need not trust the journal's
// author. For equivocation, it checks the signatures of both releases; for an impossible release, it checks the release
// against the fleet's public parameters.
func (o *privacyOptions) verifyEvidence(j *state.Journal) error {
	if o.fleet == "" {
		return cli.Usage("-fleet is missing: %s contains evidence, which is checked with the keys in the fleet file", o.verify)
	}
	file, err := fleetfile.Read(o.fleet)
	if err != nil {
		return cli.AsUsageError(err)
	}
	var v Evidence
	var faults []error
	add := func(one Double, err error) {
		if one.Verified = err == nil; err != nil {
			one.Fault = err.Error()
			faults = append(faults, fmt.Errorf("evidence against %q: %w", one.Member, err))
		}
		v.Evidence = append(v.Evidence, one)
	}
	for _, e := range j.Evidence {
		add(Double{Member: e.Member, Round: e.Round, Meaning: e.String()},
			e.Verify(file.Fleet.Run, file.Fleet.Hash(), file.SigningKeys(e.Member)))
	}
	for _, q := range j.Quarantine {
		if len(q.Frames) == 1 && !q.Told { // two frames are equivocation, which is in j.Evidence
			add(Double{Member: q.Neighbor, Round: q.Release - 1, Meaning: q.Why},
				file.Fleet.Proves(q.Neighbor, q.Frames[0].Start, file.SigningKeys(q.Neighbor)))
		}
	}
	err = o.Print(v, func(t cli.Table) {
		for _, one := range v.Evidence {
			judged := "the signatures are good"
			if !one.Verified {
				judged = "it does not count: " + one.Fault
			}
			t.Row("evidence", "%s; %s", one.Meaning, judged)
		}
	})
	if err == nil && faults != nil {
		return cli.AsExit(errors.Join(faults...), cli.ExitFailed)
	}
	return err
}
