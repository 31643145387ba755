package privacy

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"html"
	"math"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/audit"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
)

// Verification is the result of verifying a certificate, printed as text or, with -json, as JSON.
type Verification struct {
	Verified      bool `json:"verified"` // with -fleet; without, only the arithmetic was checked
	LedgerChecked bool `json:"ledger_checked"`
	// neighbors whose signature confirms that they received the last release
	Countersigned []string `json:"countersigned_by"`
	// all other neighbors; both lists are empty if no fleet was checked
	NotCountersigned []string                 `json:"not_countersigned_by"`
	Certificate      *certificate.Certificate `json:"certificate"`

	units int // plan.Units of the fleet; 0 if no fleet was checked
}

func (o *privacyOptions) verifyCertificate() error {
	text, cert, err := CertificateIn(o.verify)
	if err != nil {
		return err
	}
	v := Verification{
		Verified: o.Given["fleet"], LedgerChecked: o.Given["ledger"],
		Countersigned: []string{}, NotCountersigned: []string{}, Certificate: cert,
	}
	var ledger *state.Ledger
	if !v.LedgerChecked {
		err = right(o.verify, cert.Verify())
	} else if ledger, err = state.ReadLedger(o.ledger); err == nil {
		err = right(o.verify, ledger.Verify(cert))
	}
	if err == nil && v.Verified {
		err = o.audit(&v, ledger)
	}
	if delta := cert.Delta; err == nil && o.page != "" && delta >= plan.MostDelta && !o.AnyDelta {
		err = cli.Usage("-report: delta is %v, want less than %v: at this delta no epsilon says anything; -any-delta makes the report", delta, plan.MostDelta)
	}
	if err == nil && o.page != "" {
		err = cli.WriteAll([]cli.Written{{Path: o.page, Content: o.report(&v, text, ledger)}}, o.force)
	}
	if err != nil {
		return err
	}
	return o.Print(v, func(t cli.Table) {
		if !v.Verified {
			fmt.Fprintf(t, "%s\n\n", arithmetic)
		}
		if fmt.Fprintf(t, "%s\n%s", cert.Text(), o.summary(&v, ledger)); o.page != "" {
			fmt.Fprintf(t, "report: %s\n", o.page)
		}
	})
}

// arithmetic is the first line about a certificate whose author was not checked.
const arithmetic = "ONLY THE ARITHMETIC WAS CHECKED: without -fleet, anybody may have edited what this certificate says."

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

// audit checks the certificate against the fleet file and its keys and, unless ledger is nil, against the ledger.
func (o *privacyOptions) audit(v *Verification, ledger *state.Ledger) error {
	file, err := fleetfile.ReadWithoutX0(o.fleet)
	if err != nil {
		return cli.AsUsageError(err)
	}
	v.units = plan.Units(file.Fleet)
	a, err := audit.Certificate(file.Fleet, v.Certificate, file.SigningKeys)
	if other := o.otherRun(v.Certificate, file.Fleet); other != nil {
		if err = other; v.Certificate.Run == file.Fleet.Run {
			err = fmt.Errorf("%w\n%w", other, err)
		}
	}
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

// otherRun returns an error if the certificate is not of the fleet f. It names the file to use, as far as it is beside the
// file of f.
func (o *privacyOptions) otherRun(c *certificate.Certificate, f *sdk.Fleet) error {
	if c.Fleet == fmt.Sprintf("%x", f.Hash()) {
		return nil
	}
	use := fmt.Sprintf("verify it with the fleet file of run %q, which the devices of its members keep as fleet-RUN.json", c.Run)
	beside, _ := filepath.Glob(filepath.Join(filepath.Dir(o.fleet), "fleet*.json")) // the pattern is valid
	for _, path := range beside {
		if file, err := fleetfile.ReadWithoutX0(path); err == nil && c.Fleet == fmt.Sprintf("%x", file.Fleet.Hash()) {
			use = "use " + path
		}
	}
	return fmt.Errorf("this certificate is of run %q with the fleet hash %.16s, and %s is of run %q with the fleet hash %.8x: %s", c.Run,
		c.Fleet, o.fleet, f.Run, f.Hash(), use)
}

func (o *privacyOptions) summary(v *Verification, ledger *state.Ledger) string {
	c, holders, others := v.Certificate, "nobody: only the member itself says that no release is left out", quoted(v.NotCountersigned)
	if len(v.Countersigned) > 0 {
		holders = quoted(v.Countersigned) + ": each holds the last release, and therefore all before it"
	}
	text := "every figure follows from the clip and noise that the certificate states\n" +
		"nothing shows who wrote the certificate, that these are all releases, or that the noise was random and the conditions are all: " +
		"that takes -fleet, with the fleet file\n"
	if v.Verified {
		text = fmt.Sprintf("verified: signed with the key that %s has for %q, with the clip, noise, delta and limit of that file;\n"+
			"every figure follows from the clip and noise of the releases\ncountersigned by %s\n", o.fleet, c.Member, holders)
	}
	if v.Verified && c.AgainstAll != nil {
		text += fmt.Sprintf("the graph of %s leaves as much pairwise noise as the certificate states for its number "+
			"of colluders\n", o.fleet)
	}
	if others != "" {
		text += "not countersigned by " + others + "\n"
	}
	_, unit := c.Bound()
	if weak := plan.WeakDelta(c.Delta, unit, v.units); weak != "" {
		text += "WARNING: " + weak + "\n"
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

// reportPage is the HTML template of a report. Names in braces are placeholders.
//
//go:embed report.html
var reportPage string

// list builds HTML from untrusted text.
type list struct{ strings.Builder }

// add appends HTML. It escapes the values and formats them with form.
func (l *list) add(form string, values ...any) {
	for i, v := range values {
		values[i] = strings.ReplaceAll(html.EscapeString(transport.Printable(fmt.Sprint(v))), "/", "/<wbr>") // where a path may break
	}
	fmt.Fprintf(l, form, values...)
}

func (l *list) fact(term, format string, values ...any) {
	l.add("<dt>%s</dt><dd>%s</dd>", term, fmt.Sprintf(format, values...))
}

func items(all []string) string {
	var l list
	for _, one := range all {
		l.add("<li>%s</li>", one)
	}
	return cmp.Or(l.String(), "<li>Nothing.</li>")
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// report returns an HTML page for people who decide about data, such as an ethics board. text is the content of the
// certificate's file.
func (o *privacyOptions) report(v *Verification, text []byte, ledger *state.Ledger) []byte {
	c := v.Certificate
	bound, unit := c.Bound()
	var bars, figures, several list
	if weak := plan.WeakDelta(c.Delta, unit, v.units); weak != "" {
		several.add("<li><b>%s</b></li>", sentence(weak))
	}
	costs, against := bound.Figures(), bound.Bars(c.Delta, dpmech.GDP)
	for i, bar := range against {
		times, epsilon := dpmech.Times(bar.Guess), dpmech.FormatEpsilon(bar.Epsilon, 1)
		bars.add(`<li><span>%s</span><div class="track"><div style="width: %v%%"></div></div><b>%v in 100, ε %v</b></li>`,
			sentence(bar.Who)[:len(bar.Who)], 2*times-100, times, epsilon)
		figures.add(`<tr><th scope="row">%s</th><td>%v</td><td>%v</td><td>%v</td></tr>`, bar.Who,
			dpmech.FormatEpsilon(math.Sqrt(2*costs[i].Rho), 6), dpmech.FormatEpsilon(bar.Epsilon, 4), dpmech.FormatEpsilon(100*bar.Guess, 3))
	}
	if unit == dpmech.Record {
		rho, who := costs[0].Rho, against[0].Who
		several.add("<li>Somebody with several records at this member is protected less. Against %v: with 2 records %v times in "+
			"100, with 3 %v, with 5 %v, with 10 %v.</li>", who, dpmech.Times(dpmech.Guess(4*rho)), dpmech.Times(dpmech.Guess(9*rho)),
			dpmech.Times(dpmech.Guess(25*rho)), dpmech.Times(dpmech.Guess(100*rho)))
	}
	badge, good := "ONLY THE ARITHMETIC WAS CHECKED", ""
	switch {
	case c.Simulated:
		badge = "SIMULATED: protects nobody"
	case v.Verified:
		badge, good = "Verified and signed", " good"
	}
	words, more, _ := strings.Cut(bound.Words(unit), ". ")
	plain := html.EscapeString // need not call Printable: Verify accepts only printable text
	return []byte(strings.NewReplacer(
		"{member}", plain(c.Member), "{run}", plain(c.Run), "{badge}", badge, "{good}", good, "{words}", plain(sentence(words)),
		"{more}", plain(more)+".", "{bars}", bars.String(), "{figures}", figures.String(), "{several}", several.String(),
		"{facts}", facts(c), "{adjacency}", plain(c.Adjacency), "{uncovered}", items(c.NotCovered), "{public}", items(c.ConditionalOn),
		"{signed}", items(strings.Split(strings.TrimSpace(o.summary(v, ledger)), "\n")), "{commands}", o.commands(v, text), "{delta}", fmt.Sprint(c.Delta),
	).Replace(reportPage))
}

// facts returns HTML that describes what a certificate protects and which runs it covers.
func facts(c *certificate.Certificate) string {
	var l list
	l.fact("Protected", "%s", c.Unit)
	l.fact("For how long", "Indefinitely: what was sent cannot reveal more later.")
	bound, _ := c.Bound()
	l.fact("This run", "%d releases with noise in every number, and %d more that were reserved: %s, at δ %v.", c.Rounds, c.ReservedUnmade,
		strings.Replace(bound.Text(c.Delta, dpmech.GDP), "epsilon", "ε", 1), c.Delta)
	limit := func(name string, most *dpmech.Limit) {
		if most != nil {
			l.fact(name, "%v. The device refuses more.", most)
		}
	}
	limit("Its limit", c.Limit)
	life := c.Lifetime
	if life == nil {
		l.fact("All runs", "NOT KNOWN: no ledger was kept, so what other runs revealed of the same data is not counted.")
		return l.String()
	}
	words, _, _ := strings.Cut(life.Total().Words(life.Unit), ". ")
	l.fact("All runs", "On the data set %q since %s (%d in all): %s.", life.Dataset, life.Created, len(life.Runs), words)
	limit("Their limit", life.Limit)
	return l.String()
}

func (o *privacyOptions) commands(v *Verification, text []byte) string {
	cert, fleet := filepath.Base(o.verify), filepath.Base(cmp.Or(o.fleet, "fleet.json"))
	var l list
	l.add("spade-edge privacy -verify %s -fleet %s\n\n%s: SHA-256 %s\n%s: the fleet with hash %s", cert, fleet, cert,
		fmt.Sprintf("%x", sha256.Sum256(text)), fleet, v.Certificate.Fleet)
	return l.String()
}
