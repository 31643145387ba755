package explain

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
)

const decimals = 3

// Certificate returns a certificate as a text page for readers who are not experts. It does not verify the certificate.
func Certificate(c *certificate.Certificate) string {
	p := new(page)
	p.WriteString("PRIVACY CERTIFICATE\n\n")
	if c.Simulated {
		p.WriteString("SIMULATED: the noise came from a seed that others can know. This run protects\n" +
			"nobody's data; the figures are what a real run would have cost.\n\n")
	}
	run, member, members := Facts(c)
	p.item("run", "%s", run)
	p.item("member", "%s", member)
	p.item("members", "%s", members)
	p.item("fleet hash", "%s (of run, start, members, edges, settings and task: \"spade-edge fleet show\" computes it from a fleet file)", c.Fleet)
	p.WriteByte('\n')
	p.item("protected", "%s: the guarantee compares the run with one in which %s", c.Unit, c.Adjacency)
	about := "the data"
	bound, unit := c.Bound()
	if unit != dpmech.Client {
		about = "any one " + unit.Kind()
	}
	p.item("guarantee", "%s, at delta %v%s: they can raise the odds of any guess about %s of this "+
		"member by a factor of at most e^epsilon, except with a probability of about delta",
		Total(bound, c.Delta, dpmech.GDP), c.Delta, unit.Phrase(), about)
	p.item("in words", "%s", Words(bound, unit))
	if c.AgainstAll != nil {
		p.item("", "outsiders see all releases; colluding members, whichever they are, also know the noise that they share")
	}
	p.cost(c.Cost, unit)
	if unit == dpmech.Record {
		p.persons(c.Cost)
	}
	p.limit("limit of run", c.Limit)
	p.WriteByte('\n')
	made := "an update clipped to length R"
	if u := c.Spends.Unit(); u != dpmech.Client {
		made = fmt.Sprintf("a sum over the %ss, with the share of each %[1]s clipped to length R", u.Kind())
	}
	p.item("releases", "%d. Each is %s, with Gaussian noise of standard deviation sigma in every number", c.Rounds, made)
	p.spends(c.Spends)
	if c.ReservedUnmade > 0 {
		p.item("reserved", "%d more in the ledger, for which no release is known; the cost of this run includes them",
			c.ReservedUnmade)
	}
	p.item("without cost", "%s", freeText(c))
	p.WriteByte('\n')
	if life := c.Lifetime; life == nil {
		p.item("lifetime", "NOT KNOWN: no ledger was kept, so the cost of other runs on the same data is not counted")
	} else {
		p.item("lifetime", "data set %q, all runs since %s together (%d): %s, at delta %v%s", life.Dataset, life.Created,
			len(life.Runs), Total(life.Total(), life.Delta, dpmech.GDP), life.Delta, life.Unit.Phrase())
		p.cost(life.Cost, life.Unit)
		p.limit("limit of all", life.Limit.Lifelong())
		for _, r := range life.Runs {
			p.item("", "- run %s, member %s: %d releases, rho %.6g against %s", r.Run, r.Member, r.Spends.Rounds(), r.Rho,
				r.Total().Figures()[0].Adversary)
		}
		p.item("ledger", "%s, after reservation %d, hash %s", life.Ledger.ID, life.Ledger.Seq, life.Ledger.Hash)
	}
	p.WriteByte('\n')
	p.list("taken as public", c.ConditionalOn)
	p.list("not covered", c.NotCovered)
	p.WriteByte('\n')
	p.item("signed", "%s", signedText(c))
	return p.String()
}

// Names returns the names in quotes. It leaves out those beyond the first 12 or beyond the first 200 bytes, and says how
// many these are, so that a list of members fits onto a page.
func Names(names []string) string {
	var text strings.Builder
	for i, name := range names {
		if i == 12 || i > 0 && text.Len() > 200 {
			return fmt.Sprintf("%s and %d more", &text, len(names)-i)
		}
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(strconv.Quote(name))
	}
	return text.String()
}

// Facts returns the run, with its time, the member, with its number of units, and the members, as texts for people. It does
// not verify them.
func Facts(c *certificate.Certificate) (run, member, members string) {
	run, member, members = c.Run, c.Member, "not listed"
	began, errBegan := time.Parse(time.RFC3339, c.Began)
	ended, errEnded := time.Parse(time.RFC3339, c.Ended)
	if errBegan == nil && errEnded == nil {
		const form = "2006-01-02 15:04"
		lasted := strings.TrimSuffix(max(ended.Sub(began), time.Minute).String(), "0s")
		run += fmt.Sprintf(", %s to %s UTC by the device's clock (about %s)", began.Format(form), ended.Format(form), lasted)
	}
	if _, unit := c.Bound(); c.Units > 0 {
		member += fmt.Sprintf(", with %d %ss, which is public", c.Units, unit.Kind())
	}
	if n := len(c.Members); n > 0 {
		members = fmt.Sprintf("%d: %s", n, Names(c.Members))
	}
	return run, member, members
}

// signedText describes the signatures without verifying them.
func signedText(c *certificate.Certificate) string {
	if c.Signature == "" {
		return "by nobody: anyone could have written this"
	}
	text := fmt.Sprintf("as this file says, by %s with the key %s", c.Member, c.Key)
	if len(c.Countersigned) == 0 {
		return text + "; no neighbor signed that it holds the last release"
	}
	var names []string
	for _, by := range c.Countersigned {
		names = append(names, by.Member)
	}
	return text + "; neighbors that signed that they hold the last release: " + Names(names)
}

func freeText(c *certificate.Certificate) string {
	var free []string
	add := func(rounds int, of string) {
		switch {
		case rounds == 1:
			free = append(free, "1 round of "+of+", which uses no data")
		case rounds > 1:
			free = append(free, fmt.Sprintf("%d rounds of %s, which use no data", rounds, of))
		}
	}
	add(c.Mixing, "mixing after each release")
	add(c.Cooldown, "cool-down")
	if len(free) == 0 {
		return "nothing else was sent"
	}
	return strings.Join(free, "; ")
}

// page builds a text in two columns, with names on the left and wrapped values on the right.
type page struct{ strings.Builder }

const (
	pageIndent = 16
	pageWidth  = 80
)

func (p *page) item(name, format string, args ...any) {
	line := fmt.Sprintf("%-*s", pageIndent-1, name)
	for _, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		word = strings.Map(visible, word)
		if len(line) >= pageIndent && len(line)+1+len(word) > pageWidth { // a line has at least one word
			p.WriteString(line + "\n")
			line = strings.Repeat(" ", pageIndent-1)
		}
		line += " " + word
	}
	p.WriteString(strings.TrimRight(line, " ") + "\n")
}

// visible replaces control characters with question marks, because a certificate of unknown origin may be displayed
// before it is verified, and must not control the terminal.
func visible(r rune) rune {
	if strconv.IsPrint(r) {
		return r
	}
	return '?'
}

func (p *page) cost(c certificate.Cost, unit dpmech.Unit) {
	named := ""
	if c.AgainstAll != nil {
		named = "against " + c.Adversary + ": "
	}
	p.item("also stated as", "%s%.6g-GDP; rho %.6g in zCDP, which is epsilon %s; "+
		"by the formula of the SPADE-DFL paper epsilon %s; under the weaker zero-out adjacency, in which the %s is "+
		"removed, epsilon %s",
		named, c.Mu, c.Rho, dpmech.FormatEpsilon(c.EpsilonZCDP, decimals), dpmech.FormatEpsilon(c.EpsilonPaper, decimals),
		unit.Kind(), dpmech.FormatEpsilon(c.EpsilonZeroOut, decimals))
}

// persons writes epsilon for persons with several records. Replacing all r records of a person takes r steps, each of
// which replaces one record, and the mu of GDP adds up over the steps.
func (p *page) persons(c certificate.Cost) {
	var list []string
	for r := 2; r <= 10; r++ {
		list = append(list, fmt.Sprintf("%d: %s", r, dpmech.FormatEpsilon(dpmech.GDP.Epsilon(float64(r*r)*c.Rho, c.Delta), decimals)))
	}
	p.item("several records", "epsilon for a person with this many records at this member, at the same delta, against %s: %s",
		c.Adversary, strings.Join(list, ", "))
	if c.AgainstAll != nil {
		p.persons(*c.AgainstAll)
	}
}

func (p *page) limit(name string, l *dpmech.Limit) {
	if l == nil {
		p.item(name, "none")
		return
	}
	p.item(name, "%v; a release beyond it is refused", l)
}

// list writes a name and its values, with each value on a separate line.
func (p *page) list(name string, values []string) {
	if len(values) == 0 {
		p.item(name, "nothing")
	}
	for _, v := range values {
		p.item(name, "- %s", v)
		name = ""
	}
}

func (p *page) spends(list dpmech.Spends) {
	for _, s := range list {
		rounds := fmt.Sprintf("round %d", s.First)
		if s.Rounds > 1 {
			rounds = fmt.Sprintf("rounds %d to %d", s.First, s.Last())
		}
		shared := ""
		if s.Shared != (dpmech.Shared{}) {
			with := "each neighbor"
			if s.Shared.Partners > 0 {
				with = fmt.Sprintf("each of %d members", s.Shared.Partners)
			}
			shared = fmt.Sprintf(", and %v shared with %s: equivalent to %v against %s", s.Shared.Sigma, with,
				s.Shared.Effective, s.Shared.Adversary())
		}
		p.item("", "%s: R %v, sigma %v%s", rounds, s.Clip, s.Sigma, shared)
	}
}
