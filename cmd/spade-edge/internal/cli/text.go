package cli

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/transport"
)

// EpsilonText formats an epsilon with four decimals, rounded up.
func EpsilonText(epsilon float64) string { return dpmech.FormatEpsilon(epsilon, 4) }

// Table writes rows of text. Each row begins with a name.
type Table struct{ io.Writer }

// Row writes a name and, next to it, formatted text. If there is no text, it writes nothing.
func (t Table) Row(name, format string, args ...any) {
	if text := OneLine(fmt.Sprintf(format, args...)); text != "" {
		fmt.Fprintf(t, "%-14s %s\n", name, text)
	}
}

// Wrap is like Row, but breaks the text into lines of at most 80 columns.
func (t Table) Wrap(name, format string, args ...any) {
	if words := strings.Fields(OneLine(fmt.Sprintf(format, args...))); len(words) > 0 {
		fmt.Fprintln(t, Wrapped(fmt.Sprintf("%-14s", name), strings.Repeat(" ", 15), words, 80))
	}
}

// OneLine returns text as one line and escapes unprintable characters, because parts of text may come from other
// machines.
func OneLine(text string) string {
	return transport.Printable(withoutPackages(strings.ReplaceAll(text, "\n", "; ")))
}

// packages matches package names at the beginning of an error message or of a part of it. Names that also denote a
// section of a file match only at the beginning of the text, or after a parenthesis or quotation mark.
var packages = regexp.MustCompile(`(^|[("]|: |; )((admm|audit|broker|builtin|device|dpmech|fleetfile|losses|mem|monitor|mqtt|nats|pair|` +
	`plan|regular|rng|scorer|sdk|secret|signed|sim|state|task|trust|vec|ws|zoest): )+|(^|[("])((graph|transport|wire): )+`)

func withoutPackages(text string) string { return packages.ReplaceAllString(text, "$1$4") }

// printable applies [OneLine] to each line of text.
func printable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = OneLine(line)
	}
	return strings.Join(lines, "\n")
}

// Fingerprints returns the fingerprints of keys.
func Fingerprints(keys []ed25519.PublicKey) (all []string) {
	for _, key := range keys {
		all = append(all, signed.Fingerprint(key))
	}
	return all
}

// WriteCost prints the privacy cost of a run in two lines. The first line has the epsilons of the total,
// what the guarantee protects, and the note. The second line has the epsilons that the accounting methods compute against
// the adversary named in c.
func WriteCost(t Table, c certificate.Cost, total dpmech.Total, unit dpmech.Unit, note string) {
	protects := unit.Each()
	if unit == dpmech.Client {
		protects = "for each client's whole data set"
	}
	t.Row("privacy", "%s, at delta %v %s%s", explain.Total(total, c.Delta, dpmech.GDP), c.Delta, protects, note)
	named := ""
	if c.AgainstAll != nil {
		named = "against " + c.Adversary + ": "
	}
	t.Row("", "(%sexact (gdp) %s; as zCDP %s; by the paper's formula %s; zero-out, a weaker statement, %s; rho %.6g in zCDP)", named,
		EpsilonText(c.EpsilonGDP), EpsilonText(c.EpsilonZCDP), EpsilonText(c.EpsilonPaper), EpsilonText(c.EpsilonZeroOut), c.Rho)
}

// CostText formats a cost. It appends what the guarantee protects, unless that is each client.
func CostText(t dpmech.Total, delta float64, acc dpmech.Accounting, unit dpmech.Unit) string {
	return explain.Total(t, delta, acc) + EachText(unit)
}

// EachText returns what a guarantee protects, after a comma, or "" if that is each client.
func EachText(unit dpmech.Unit) string {
	if unit == dpmech.Client {
		return ""
	}
	return ", " + unit.Each()
}

// ReleaseWord returns the word for a release of m in the output: "round" or, with mixing, "release", because with
// mixing one learning round makes several releases.
func ReleaseWord(m sdk.Method) string {
	if m.Mixing > 0 {
		return "release"
	}
	return "round"
}

// MixingText returns a text with the number of mixing rounds after each learning round, or "" if there are none.
func MixingText(mixing int) string {
	if mixing == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of mixing after each", mixing)
}

// BytesText formats a number of bytes with a suitable unit.
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

// Duration formats a number of seconds as a duration.
func Duration(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Truncate(time.Second).String()
}

// Wrapped joins words with spaces and breaks them into lines of at most width bytes. The first line begins with the
// text in the parameter first; all other lines begin with the text in the parameter indent.
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
