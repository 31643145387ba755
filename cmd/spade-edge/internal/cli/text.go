package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
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

// Wrap is Row in lines of 80 columns.
func (t Table) Wrap(name, format string, args ...any) {
	words := strings.Fields(OneLine(fmt.Sprintf(format, args...)))
	fmt.Fprintln(t, Wrapped(fmt.Sprintf("%-14s", name), strings.Repeat(" ", 15), words, 80))
}

// OneLine is text as it stands in a line. Part of it may come from other machines.
func OneLine(text string) string {
	return transport.Printable(withoutPackages(strings.ReplaceAll(text, "\n", "; ")))
}

// packages are the names with which errors begin, for programmers. Some are sections of a file as well: these are left where
// they are behind something else.
var packages = regexp.MustCompile(`(^|[("]|: |; )((admm|audit|broker|builtin|device|dpmech|fleetfile|losses|mem|monitor|mqtt|nats|pair|` +
	`plan|regular|rng|scorer|sdk|signed|sim|state|task|trust|vec|ws|zoest): )+|(^|[("])((graph|transport|wire): )+`)

// withoutPackages is the text of errors without the names of packages in it.
func withoutPackages(text string) string { return packages.ReplaceAllString(text, "$1$4") }

// printable is oneLine for text whose lines are to stay apart.
func printable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = transport.Printable(withoutPackages(line))
	}
	return strings.Join(lines, "\n")
}

// WriteCost says what a spend costs, by the number of colluders as curve has it, and against the named adversary in every
// accounting. each is what it is the cost for, as in [sdk.Privacy.Each], and note what is to be said of it besides.
func WriteCost(t Table, c dpmech.Cost, curve dpmech.Curve, each, note string) {
	protects := each
	if each == dpmech.Client.Each() {
		protects = "for each client's whole data set"
	}
	t.Row("privacy", "%s, at delta %v %s%s", curve.Text(), c.Delta, protects, note)
	named := ""
	if c.AgainstAll != nil {
		named = "against " + c.Adversary + ": "
	}
	t.Row("", "(%sexact (gdp) %s; as zCDP %s; by the paper's formula %s; zero-out, a weaker statement, %s; rho %.6g in zCDP)", named,
		EpsilonText(c.EpsilonGDP), EpsilonText(c.EpsilonZCDP), EpsilonText(c.EpsilonPaper), EpsilonText(c.EpsilonZeroOut), c.Rho)
}

// CurveText is the text of a curve, and what it is for unless that is a client.
func CurveText(c dpmech.Curve, each string) string {
	if each == dpmech.Client.Each() {
		return c.Text()
	}
	return c.Text() + ", " + each
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
