package privacy

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/audit"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Verification is the result of verifying a certificate, printed as text or, with -json, as JSON.
type Verification struct {
	Verified      bool `json:"verified"` // with -fleet; without, only the arithmetic was checked
	LedgerChecked bool `json:"ledger_checked"`
	// neighbors whose signature confirms that they received the last release
	Countersigned []string `json:"countersigned_by"`
	// all other neighbors; both lists are empty if no fleet was checked
	NotCountersigned []string                 `json:"not_countersigned_by"`
	Checked          []string                 `json:"checked"`     // in words
	Unchecked        []string                 `json:"not_checked"` // in words
	Verdict          string                   `json:"verdict"`
	Certificate      *certificate.Certificate `json:"certificate"`

	text   []byte          // of the certificate's file
	file   *fleetfile.File // nil if no fleet was checked
	fleet  []byte          // text of file
	ledger *state.Ledger   // nil if no ledger was checked
	weak   string          // why delta is too large, see [plan.WeakDelta]
}

func (o *privacyOptions) verifyCertificate() error {
	text, cert, err := CertificateIn(o.verify)
	if err != nil {
		return err
	}
	v := Verification{
		Verified: o.Given["fleet"], LedgerChecked: o.Given["ledger"],
		Countersigned: []string{}, NotCountersigned: []string{}, Certificate: cert, text: text,
	}
	if !v.LedgerChecked {
		err = right(o.verify, cert.Verify())
	} else if v.ledger, err = state.ReadLedger(o.ledger); err == nil {
		if id := v.ledger.Head().ID; cert.Lifetime != nil && cert.Lifetime.Ledger.ID != id { // what else differs would read like a forgery
			return fmt.Errorf("%s: the ledger %s has the id %s, want %s: this is a different ledger; the certificate is of the data set %q",
				o.verify, o.ledger, id, cert.Lifetime.Ledger.ID, cert.Lifetime.Dataset)
		}
		err = right(o.verify, v.ledger.Verify(cert))
	}
	if err == nil && v.Verified {
		err = o.audit(&v)
	}
	if delta := cert.Delta; err == nil && o.page != "" && delta >= plan.MostDelta && !o.AnyDelta {
		err = cli.Usage("-report: delta is %v, want less than %v: at this delta no epsilon says anything; -any-delta makes the report", delta, plan.MostDelta)
	}
	if err != nil {
		return err
	}
	o.conclude(&v)
	if o.page != "" {
		script := strings.TrimSuffix(o.page, filepath.Ext(o.page)) + ".py"
		page := []cli.Written{{Path: o.page, Content: o.report(&v, filepath.Base(script))}, {Path: script, Content: reportScript}}
		if err := cli.WriteAll(page, o.force); err != nil {
			return err
		}
	}
	return o.Print(v, func(t cli.Table) {
		fmt.Fprintf(t, "%s states what follows. What was checked, and the verdict, come last.\n\n%s\n", cli.OneLine(o.verify), explain.Certificate(cert))
		v.write(t)
		t.Wrap("report", "%s", o.page)
		t.Wrap("verdict", "%s", v.Verdict)
	})
}

// write prints what was checked and what was not.
func (v *Verification) write(t cli.Table) {
	for i, list := range [][]string{v.Checked, v.Unchecked} {
		name := []string{"checked", "not checked"}[i]
		for _, text := range list {
			t.Wrap(name, "- %s", text)
			name = ""
		}
	}
	t.Wrap("WARNING", "%s", v.weak)
}

// CertificateIn reads a certificate without verifying it, and also returns the text of the file.
func CertificateIn(path string) ([]byte, *certificate.Certificate, error) {
	text, err := fleetfile.ReadFile(path, MaxForeign, "a certificate")
	if err != nil {
		return nil, nil, err
	}
	c, err := certificate.Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
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

// audit checks the certificate against the fleet file and its keys, and its head against the ledger, if there is one.
func (o *privacyOptions) audit(v *Verification) error {
	file, text, err := fleetfile.ReadWithoutX0(o.fleet)
	if err != nil {
		return cli.AsUsageError(err)
	}
	v.file, v.fleet = file, text
	a, err := audit.Certificate(file, v.Certificate, file.SigningKeys)
	if other := o.otherRun(v.Certificate, file.Fleet); other != nil && v.Certificate.Run != file.Fleet.Run {
		return fmt.Errorf("%s: %w", o.verify, other) // what else differs would read like a forgery
	} else if other != nil {
		err = errors.Join(other, err)
	}
	if err != nil {
		return right(o.verify, err)
	}
	if head := a.LedgerHead(); head != nil && v.ledger != nil {
		if err := v.ledger.Contains(*head); err != nil {
			return right(o.verify, fmt.Errorf("head: the certificate's ledger state does not belong to the given ledger: %w", err))
		}
	}
	v.Countersigned = append(v.Countersigned, a.Countersigned...)
	v.NotCountersigned = append(v.NotCountersigned, a.NotCountersigned...)
	return nil
}

// otherRun returns an error if the certificate is not of the fleet f. It names the file to use, as far as it is beside the
// file of f.
func (o *privacyOptions) otherRun(c *certificate.Certificate, f *sdk.Fleet) error {
	if c.Fleet == fmt.Sprintf("%x", f.Hash()) {
		return nil
	}
	use := fmt.Sprintf("verify it with the fleet file of run %q, which the devices of its members keep as fleet-RUN.json", c.Run)
	beside, _ := filepath.Glob(filepath.Join(filepath.Dir(o.fleet), "fleet*.json")) // the pattern is valid
	for _, path := range beside {
		if file, _, err := fleetfile.ReadWithoutX0(path); err == nil && c.Fleet == fmt.Sprintf("%x", file.Fleet.Hash()) {
			use = path + " has this hash: use it if it is from the device of a member"
		}
	}
	return fmt.Errorf("this certificate is of run %q with the fleet hash %.16s, and %s is of run %q with the fleet hash %.8x: %s", c.Run,
		c.Fleet, o.fleet, f.Run, f.Hash(), use)
}

// conclude states what was checked, what was not, and the verdict.
func (o *privacyOptions) conclude(v *Verification) {
	c := v.Certificate
	check := func(format string, args ...any) { v.Checked = append(v.Checked, fmt.Sprintf(format, args...)) }
	not := func(format string, args ...any) { v.Unchecked = append(v.Unchecked, fmt.Sprintf(format, args...)) }
	check("every figure follows from the clip and noise that the certificate states for its releases")
	_, unit := c.Bound()
	v.weak = plan.WeakDelta(c.Delta, unit, 0)
	v.Verdict = "ONLY THE ARITHMETIC WAS CHECKED: without -fleet, anybody may have edited what this certificate says"
	if v.Verified {
		v.weak = plan.WeakDelta(c.Delta, unit, plan.Units(v.file.Fleet))
		v.Verdict = fmt.Sprintf("VERIFIED: the account of %q in run %q, if the keys in %s are those of its members", c.Member, c.Run, o.fleet)
		check("the signature is by the key of %q in %s, and run, members, units, clip, noise, delta, limit and number of releases agree with "+
			"that file", c.Member, o.fleet)
		if c.AgainstAll != nil {
			check("the graph of %s leaves as much pairwise noise as the certificate states for its number of colluders", o.fleet)
		}
		if len(v.Countersigned) > 0 {
			check("countersigned by %s: each holds the last release, and therefore all before it", explain.Names(v.Countersigned))
		} else {
			not("that no release is left out: no neighbor countersigned the last one")
		}
		if len(v.NotCountersigned) > 0 {
			not("not countersigned by %s", explain.Names(v.NotCountersigned))
		}
		not("that the keys in %s are those of the members: compare them by phone (spade-edge fleet show %[1]s). %q has the key %s", o.fleet,
			c.Member, c.Key)
	} else {
		not("who wrote the certificate, when and for which members, that these are all releases, and what it rests on: that takes -fleet, with "+
			"the fleet file of run %q", c.Run)
	}
	if v.ledger != nil {
		check("%s still contains every release that the certificate counts (%d then, %d now)", o.ledger, c.Lifetime.Ledger.Seq, v.ledger.Head().Seq)
	} else if c.Lifetime != nil {
		not("that the ledger has no further releases of this run: that takes -ledger")
	}
	not("that the noise was random, and that what was declared or taken as public is true and complete: nothing can show that")
	if c.Simulated {
		v.Verdict = "SIMULATED: the noise came from a seed, and the run protects nobody"
	}
}
