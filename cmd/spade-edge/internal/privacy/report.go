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

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
)

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
	curve, unit := c.Bound()
	var bars, figures, several list
	for i, bar := range curve.Bars() {
		times, epsilon := dpmech.Times(bar.Guess), dpmech.FormatEpsilon(bar.Epsilon, 1)
		bars.add(`<li><span>%s</span><div class="track"><div style="width: %v%%"></div></div><b>%v in 100, ε %v</b></li>`,
			sentence(bar.Who)[:len(bar.Who)], 2*times-100, times, epsilon)
		figures.add(`<tr><th scope="row">%s</th><td>%v</td><td>%v</td><td>%v</td></tr>`, bar.Who,
			dpmech.FormatEpsilon(math.Sqrt(2*curve.Points[i].Rho), 6), dpmech.FormatEpsilon(bar.Epsilon, 4), dpmech.FormatEpsilon(100*bar.Guess, 3))
	}
	if unit == dpmech.Record {
		rho, who := curve.Points[0].Rho, curve.Bars()[0].Who
		several.add("<li>Somebody with several records at this member is protected less. Against %v: with 2 records %v times in "+
			"100, with 3 %v, with 5 %v, with 10 %v.</li>", who, dpmech.Times(dpmech.Guess(4*rho)), dpmech.Times(dpmech.Guess(9*rho)),
			dpmech.Times(dpmech.Guess(25*rho)), dpmech.Times(dpmech.Guess(100*rho)))
	}
	badge, good := "Figures verified, signatures not checked", ""
	switch {
	case c.Simulated:
		badge = "SIMULATED: protects nobody"
	case v.FleetChecked:
		badge, good = "Verified and signed", " good"
	}
	words, more, _ := strings.Cut(curve.Words(unit), ". ")
	plain := html.EscapeString // need not call Printable: Verify accepts only printable text
	return []byte(strings.NewReplacer(
		"{member}", plain(c.Member), "{run}", plain(c.Run), "{badge}", badge, "{good}", good, "{words}", plain(sentence(words)),
		"{more}", plain(more)+".", "{bars}", bars.String(), "{figures}", figures.String(), "{several}", several.String(),
		"{facts}", facts(c), "{adjacency}", plain(c.Adjacency), "{uncovered}", items(c.NotCovered), "{public}", items(c.ConditionalOn),
		"{signed}", items(strings.Split(strings.TrimSpace(o.summary(v, ledger)), "\n")), "{commands}", o.commands(v, text), "{delta}", fmt.Sprint(c.Delta),
	).Replace(reportPage))
}

// facts returns HTML that describes what a certificate protects and which runs it covers.
func facts(c *dpmech.Certificate) string {
	var l list
	l.fact("Protected", "%s", c.Unit)
	l.fact("For how long", "Indefinitely: what was sent cannot reveal more later.")
	curve, _ := c.Bound()
	l.fact("This run", "%d releases with noise in every number, and %d more that were reserved: %s, at δ %v.", c.Rounds, c.ReservedUnmade,
		strings.Replace(curve.Text(), "epsilon", "ε", 1), c.Delta)
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
	words, _, _ := strings.Cut(curveOf(life.Total(), life.Delta).Words(life.Unit()), ". ")
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
