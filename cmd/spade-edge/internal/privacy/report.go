package privacy

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"html"
	"math"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/transport"
)

// reportPage is the HTML template of a report. Names in braces are placeholders.
//
//go:embed report.html
var reportPage string

// reportScript is a program in Python that computes the figures of a report again.
//
//go:embed report.py
var reportScript []byte

// figure marks a text as a figure of the page: report.py computes all of them again, in their order.
func figure(text string) string { return "⟦" + text + "⟧" }

var (
	marked = regexp.MustCompile("⟦([^⟧]*)⟧")
	// counted matches what [explain.Words] says of how often an adversary is right.
	counted = regexp.MustCompile(`(at most |, )(\d+)( times in 100)? \(`)
)

// list builds HTML from untrusted text.
type list struct{ strings.Builder }

// add appends HTML. It escapes the values and formats them with form.
func (l *list) add(form string, values ...any) {
	for i, v := range values {
		values[i] = plain(fmt.Sprint(v))
	}
	fmt.Fprintf(l, form, values...)
}

func plain(text string) string {
	return strings.ReplaceAll(html.EscapeString(transport.Printable(text)), "/", "/<wbr>") // where a path may break
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

// words returns the two sentences of [explain.Words], with their figures marked.
func words(t dpmech.Total, unit dpmech.Unit) (first, second string) {
	first, second, _ = strings.Cut(counted.ReplaceAllString(explain.Words(t, unit), "$1"+figure("$2")+"$3 ("), ". ")
	return first, second
}

// odds returns e^epsilon, or words if it is too large to mean anything.
func odds(epsilon float64) string {
	if x := math.Exp(epsilon); x <= 1e6 {
		return explain.Epsilon(x)
	}
	return "over a million"
}

// report returns an HTML page for people who decide about data, such as an ethics board. script is the name of the program
// beside it that computes its figures again.
func (o *privacyOptions) report(v *Verification, script string) []byte {
	c := v.Certificate
	bound, unit := c.Bound()
	var bars, likely, figures, several list
	if v.weak != "" {
		several.add("<li><b>%s</b></li>", sentence(v.weak))
	}
	costs, against := bound.Figures(), explain.Bars(bound, c.Delta, dpmech.GDP)
	for i, bar := range against {
		times, epsilon := explain.Times(bar.Guess), explain.Epsilon(bar.Epsilon)
		bars.add(`<li><span>%s</span><div class="track"><div style="width: %v%%"></div></div><b>%v in 100, ε %v</b></li>`,
			sentence(bar.Who)[:len(bar.Who)], 2*times-100, figure(fmt.Sprint(times)), figure(epsilon))
		likely.add([]string{"%s times against %s", ", and %s times against %s"}[i], figure(odds(bar.Epsilon)), bar.Who)
		figures.add(`<tr><th scope="row">%s</th><td>%v</td><td>%v</td><td>%s</td><td>%v</td></tr>`, bar.Who,
			figure(dpmech.FormatEpsilon(math.Sqrt(2*costs[i].Rho), 6)), figure(dpmech.FormatEpsilon(bar.Epsilon, 4)), figure(odds(bar.Epsilon)),
			figure(dpmech.FormatEpsilon(100*bar.Guess, 3)))
	}
	if unit == dpmech.Record {
		times := func(n float64) string { return figure(fmt.Sprint(explain.Times(explain.Guess(n * n * costs[0].Rho)))) }
		several.add("<li>Somebody with several records at this member is protected less. Against %v: with 2 records %v times in "+
			"100, with 3 %v, with 5 %v, with 10 %v.</li>", against[0].Who, times(2), times(3), times(5), times(10))
	}
	badge, good := "ONLY THE ARITHMETIC WAS CHECKED", ""
	switch {
	case c.Simulated:
		badge = "SIMULATED: protects nobody"
	case v.Verified:
		badge, good = "Verified for these keys", " good"
	}
	first, more := words(bound, unit)
	page := strings.NewReplacer(
		"{member}", plain(c.Member), "{run}", plain(c.Run), "{badge}", badge, "{good}", good, "{words}", plain(sentence(first)),
		"{more}", plain(more)+".", "{bars}", bars.String(), "{likely}", likely.String(), "{other}", plain(unit.Kind()),
		"{figures}", figures.String(), "{several}", several.String(), "{releases}", releases(c.Spends), "{facts}", facts(c),
		"{adjacency}", plain(c.Adjacency), "{uncovered}", items(c.NotCovered), "{public}", items(c.ConditionalOn), "{checked}", items(v.Checked),
		"{unchecked}", items(v.Unchecked), "{keys}", keys(v), "{commands}", o.commands(v, script), "{program}", plain(o.Program.Version()),
		"{delta}", fmt.Sprint(c.Delta), "{script}", plain(script),
	).Replace(reportPage)
	return marked.ReplaceAll([]byte(page), []byte(`<data value="$1">$1</data>`))
}

// facts returns HTML that describes what a certificate protects and which runs it covers.
func facts(c *certificate.Certificate) string {
	var l list
	run, member, members := explain.Facts(c)
	l.fact("Run", "%s", run)
	l.fact("Member", "%s", member)
	l.fact("Members", "%s", members)
	l.fact("Protected", "%s", c.Unit)
	l.fact("For how long", "Indefinitely: what was sent cannot reveal more later.")
	reserved := ""
	if c.ReservedUnmade > 0 {
		reserved = fmt.Sprintf(", and %d more that are counted, but were not made", c.ReservedUnmade)
	}
	l.fact("Releases", "%d with noise in every number%s.", c.Rounds, reserved)
	limit := func(name string, most *dpmech.Limit) {
		if most != nil {
			l.fact(name, "%v. The device refuses more.", most)
		}
	}
	limit("Limit of the run", c.Limit)
	life := c.Lifetime
	if life == nil {
		l.fact("All runs", "NOT KNOWN: no ledger was kept, so what other runs revealed of the same data is not counted.")
		return l.String()
	}
	all, _ := words(life.Total(), life.Unit)
	l.fact("All runs", "On the data set %q since %s (%d in all): %s.", life.Dataset, life.Created, len(life.Runs), all)
	limit("Their limit", life.Limit)
	return l.String()
}

// releases returns the rows of a table with the releases of a run.
func releases(spends dpmech.Spends) string {
	var l list
	for _, s := range spends {
		effective := "the same"
		if s.Shared != (dpmech.Shared{}) {
			effective = fmt.Sprintf("%.6g", s.Shared.Effective)
		}
		l.add(`<tr><th scope="row">%v to %v</th><td>%v</td><td>%v</td><td>%v</td><td>%v</td></tr>`, s.First, s.Last(), s.Rounds,
			fmt.Sprintf("%.6g", s.Clip), fmt.Sprintf("%.6g", s.Sigma), effective)
	}
	return l.String()
}

// mostKeys is the number of members whose keys the page shows, so that it stays one page of A4.
const mostKeys = 3

// keys returns HTML with the fingerprints of the member and of those who countersigned: all their keys whose signatures count,
// since a forger can list a key of its own beside that of a hospital.
func keys(v *Verification) string {
	var l list
	if !v.Verified {
		return "<p>No fleet file was given, so nothing ties this page to anybody.</p>"
	}
	l.add("<p>%s</p><dl>", "Nothing but keys ties names to hospitals. Phone each and compare every key; at the hospital, spade-edge keygen -name "+
		"NAME -from node.key prints it. This page was signed with "+v.Certificate.Key+".")
	signers := append([]string{v.Certificate.Member}, v.Countersigned...)
	for _, name := range signers[:min(len(signers), mostKeys)] {
		l.fact(name, "%s", strings.Join(cli.Fingerprints(v.file.SigningKeys(name)), " or "))
	}
	l.WriteString("</dl>")
	if more := len(signers) - mostKeys; more > 0 {
		l.add("<p>%d more countersigned; spade-edge fleet show prints the keys of all members.</p>", more)
	}
	return l.String()
}

func (o *privacyOptions) commands(v *Verification, script string) string {
	cert, fleet := filepath.Base(o.verify), filepath.Base(cmp.Or(o.fleet, "fleet.json"))
	var l list
	l.add("spade-edge privacy -verify %s -fleet %s\npython3 %s %s %s\nsha256sum %s\n%s\n", cert, fleet, script, cert, filepath.Base(o.page), cert,
		fmt.Sprintf("%x", sha256.Sum256(v.text)))
	if v.file != nil {
		l.add("sha256sum %s\n%s\n", fleet, fmt.Sprintf("%x", sha256.Sum256(v.fleet)))
	}
	l.add("spade-edge fleet show %s\nfleet hash %s", fleet, v.Certificate.Fleet)
	return l.String()
}
