package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport"
)

// EpsilonText writes an epsilon for people: with four decimals, and never below what it is.
func EpsilonText(epsilon float64) string { return dpmech.FormatEpsilon(epsilon, 4) }

// Table is text for people: lines that begin with a word.
type Table struct{ io.Writer }

// Row prints a name and, beside it, a text.
func (t Table) Row(name, format string, args ...any) {
	fmt.Fprintf(t, "%-14s %s\n", name, OneLine(fmt.Sprintf(format, args...)))
}

// OneLine is text as it stands in a line. Part of it may come from other machines.
func OneLine(text string) string { return transport.Printable(strings.ReplaceAll(text, "\n", "; ")) }

// printable is oneLine for text whose lines are to stay apart.
func printable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = transport.Printable(line)
	}
	return strings.Join(lines, "\n")
}

// AgainstAll is how the second of the two adversaries is called everywhere.
const AgainstAll = "against " + dpmech.AllOthers

// WriteCost says what a spend costs against its adversary and, if noise is shared, against all other members, in every
// accounting. each is what it is the cost for, as in [sdk.Privacy.Each], and note what is to be said of it besides.
func WriteCost(t Table, c dpmech.Cost, each, note string) {
	protects := each
	if each == dpmech.Client.Each() {
		protects = "for each client's whole data set"
	}
	one := func(name string, c dpmech.Cost) {
		t.Row(name, "epsilon %s at delta %v %s%s, against %s", EpsilonText(c.EpsilonGDP), c.Delta, protects, note, c.Adversary)
		t.Row("", "(exact (gdp); as zCDP %s; by the paper's formula %s; zero-out, a weaker statement, %s; rho %.6g in zCDP)",
			EpsilonText(c.EpsilonZCDP), EpsilonText(c.EpsilonPaper), EpsilonText(c.EpsilonZeroOut), c.Rho)
	}
	one("privacy", c)
	if c.AgainstAll != nil {
		one("", *c.AgainstAll)
	}
}

// FiguresText says what each figure of a total is as an epsilon, with its adversary, and what it is for unless that is a client.
func FiguresText(t dpmech.Total, each string, delta float64, acc dpmech.Accounting) string {
	if each = " " + each; each == " "+dpmech.Client.Each() {
		each = ""
	}
	var all []string
	for _, f := range t.Figures() {
		all = append(all, fmt.Sprintf("epsilon %s%s against %s", EpsilonText(acc.Epsilon(f.Rho, delta)), each, f.Adversary))
	}
	return strings.Join(all, "; ")
}

// ReleaseWord is how a release is called: with rounds of mixing, a round of learning has several.
func ReleaseWord(m sdk.Method) string {
	if m.Mixing > 0 {
		return "release"
	}
	return "round"
}

// MixingText says how many rounds of mixing follow each round of learning, if any do.
func MixingText(mixing int) string {
	if mixing == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of mixing after each", mixing)
}

// BytesText returns a number of bytes for people.
func BytesText(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// WriteObject prints a value as one JSON object.
func WriteObject(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Duration returns a number of seconds for people.
func Duration(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Truncate(time.Second).String()
}

// Wrapped joins words with spaces, in lines of a width; all but the first begin with indent.
func Wrapped(first, indent string, words []string, width int) string {
	var b strings.Builder
	line := first
	for _, word := range words {
		if len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = indent[:len(indent)-1]
		}
		line += " " + word
	}
	return b.String() + line
}

// Digits is a number with the fewest digits that tell it from others.
func Digits(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
