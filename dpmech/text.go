package dpmech

import (
	"fmt"
	"strings"
)

// decimals is how many an epsilon has in a text.
const decimals = 3

// Text returns the certificate as a page that needs no knowledge of the field. It does not verify.
func (c *Certificate) Text() string {
	p := new(page)
	p.line("PRIVACY CERTIFICATE")
	p.line("")
	if c.Simulated {
		p.line("SIMULATED: the noise came from a seed that others can know. This run protects")
		p.line("nobody's data; the figures are what a real run would have cost.")
		p.line("")
	}
	p.item("run", c.Run)
	p.item("member", c.Member)
	p.item("fleet file", c.Fleet+" (SHA-256)")
	p.line("")
	p.item("protected", fmt.Sprintf("%s: the guarantee compares the run with one in which %s", c.Unit, c.Adjacency))
	p.item("guarantee", fmt.Sprintf("epsilon %s at delta %v. Whoever sees everything that this member sent can raise the "+
		"odds of any guess about its data by a factor of at most e^epsilon, except with a probability of about delta",
		FormatEpsilon(c.EpsilonGDP, decimals), c.Delta))
	p.item("also stated as", costText(c.Cost, c.Version))
	if c.Slack != 0 {
		p.item("slack", fmt.Sprintf("%v, the distance of the noise from the ideal", c.Slack))
	}
	p.item("limit of run", limitText(c.Limit))
	p.line("")
	p.item("releases", fmt.Sprintf("%d. Each is an update cut to a length of at most R, with Gaussian noise of standard "+
		"deviation sigma in every number", c.Rounds))
	p.spends(c.Spends)
	if c.ReservedUnmade > 0 {
		p.item("reserved", fmt.Sprintf("%d more in the ledger, of which no release is known; they are counted in what this "+
			"run costs", c.ReservedUnmade))
	}
	p.item("noise", c.Sampler)
	p.item("without cost", c.freeText())
	p.line("")
	if life := c.Lifetime; life == nil {
		p.item("lifetime", "NOT KNOWN: no ledger was kept, so what other runs have spent of the same data is not counted")
	} else {
		p.item("lifetime", fmt.Sprintf("data set %q, all runs since %s together (%d): epsilon %s at delta %v",
			life.Dataset, life.Created, len(life.Runs), FormatEpsilon(life.EpsilonGDP, decimals), life.Delta))
		p.item("also stated as", costText(life.Cost, c.Version))
		p.item("limit of all", limitText(life.Limit))
		for _, r := range life.Runs {
			p.item("", fmt.Sprintf("- run %s, member %s: %d releases, rho %.6g",
				r.Run, r.Member, countRounds(r.Spends), r.Rho))
		}
		p.item("ledger", fmt.Sprintf("%s, after reservation %d, hash %s", life.Ledger.ID, life.Ledger.Seq, life.Ledger.Hash))
	}
	p.line("")
	p.list("taken as public", c.ConditionalOn, "nothing")
	p.list("not covered", c.NotCovered, "nothing")
	if c.Version > 1 {
		p.line("")
		p.item("signed", c.signedText())
	}
	return p.String()
}

// signedText says what signatures there are. None of them is checked here.
func (c *Certificate) signedText() string {
	if c.Signature == "" {
		return "NO: anybody can have written this"
	}
	text := fmt.Sprintf("as %s; that counts once it is verified with the key in the fleet file", c.Member)
	if len(c.Countersigned) == 0 {
		return text + ". No neighbor says that it holds the last release"
	}
	var names []string
	for _, by := range c.Countersigned {
		names = append(names, by.Member)
	}
	return text + ", and so does that these neighbors say they hold the last release: " + strings.Join(names, ", ")
}

func costText(c Cost, version int) string {
	text := fmt.Sprintf("%.6g-GDP; rho %.6g in zCDP, which is epsilon %s; "+
		"by the formula of the SPADE-DFL paper epsilon %s",
		c.Mu, c.Rho, FormatEpsilon(c.EpsilonZCDP, decimals), FormatEpsilon(c.EpsilonPaper, decimals))
	if version == 1 {
		return text
	}
	return text + "; under the weaker zero-out adjacency, in which the data set is replaced by none, epsilon " +
		FormatEpsilon(c.EpsilonZeroOut, decimals)
}

func limitText(l *Limit) string {
	if l == nil {
		return "none"
	}
	return fmt.Sprintf("epsilon %v at delta %v, in %v accounting; a release beyond it is refused",
		l.Epsilon, l.Delta, l.Accounting)
}

func (c *Certificate) freeText() string {
	var free []string
	if c.Cooldown > 0 {
		free = append(free, fmt.Sprintf("%d rounds of cool-down, in which nobody looks at data", c.Cooldown))
	}
	if c.Averaged {
		free = append(free, "the averaged model, which is made of releases")
	}
	if len(free) == 0 {
		return "nothing else was sent"
	}
	return strings.Join(free, "; ")
}

// page is text with names on the left and values, wrapped, beside them.
type page struct{ strings.Builder }

const (
	pageIndent = 16
	pageWidth  = 80
)

func (p *page) line(s string) { p.WriteString(s + "\n") }

// item writes a value beside its name.
func (p *page) item(name, value string) {
	line := fmt.Sprintf("%-*s", pageIndent-1, name)
	empty := true
	for _, word := range strings.Fields(value) {
		if !empty && len(line)+1+len(word) > pageWidth {
			p.line(line)
			line, empty = strings.Repeat(" ", pageIndent-1), true
		}
		line += " " + word
		empty = false
	}
	p.line(strings.TrimRight(line, " "))
}

// list writes values, one a line.
func (p *page) list(name string, values []string, none string) {
	if len(values) == 0 {
		p.item(name, none)
	}
	for i, v := range values {
		if i > 0 {
			name = ""
		}
		p.item(name, "- "+v)
	}
}

// spends writes releases as a table, long ones shortened in the middle.
func (p *page) spends(list []Spend) {
	const most = 20
	for i, s := range list {
		if len(list) > most && i == most/2 {
			p.item("", fmt.Sprintf("... %d lines more, all in the JSON ...", len(list)-most))
		}
		if len(list) > most && i >= most/2 && i < len(list)-most/2 {
			continue
		}
		rounds := fmt.Sprintf("round %d", s.First)
		if s.Rounds > 1 {
			rounds = fmt.Sprintf("rounds %d to %d", s.First, s.last())
		}
		p.item("", fmt.Sprintf("%s: R %v, sigma %v", rounds, s.Clip, s.Sigma))
	}
}
