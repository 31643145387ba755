package cli

import (
	"bytes"
	"encoding/json"
	"errors"
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

// lineWidth is how wide the text of help is.
const lineWidth = 80

// folded breaks a line before words, where it can, so that no row is wider than width; rows after the first begin with
// indent spaces.
func folded(line string, width, indent int) (rows []string) {
	rest, lead := []rune(strings.TrimRight(line, " ")), len(line)-len(strings.TrimLeft(line, " "))
	indent = min(indent, width-1)
	for len(rest) > width {
		gap := width
		for gap > lead && rest[gap] != ' ' {
			gap--
		}
		if gap <= lead {
			gap = max(width, lead+1)
		}
		rows = append(rows, strings.TrimRight(string(rest[:gap]), " "))
		rest = []rune(strings.Repeat(" ", indent) + strings.TrimLeft(string(rest[gap:]), " "))
		lead = indent
	}
	return append(rows, string(rest))
}

// Filled fills a help text into lines of a width. Lines that follow each other without a blank before them, or with more
// blanks than the one before them, belong together; those of a flag and of its text do not. Command lines that are
// given as examples break before flags, with a backslash, and what is said about one goes before it.
func Filled(text string, width int) string {
	var b strings.Builder
	open, from := "", 0 // what is gathered, and how many blanks it begins with
	flush := func() {
		indent := from
		if name, _, list := strings.Cut(open[from:], "  "); list { // an item: its text stands behind its name
			rest := strings.TrimLeft(open[from+len(name):], " ")
			indent = len(open) - len(rest)
		}
		for _, row := range folded(open, width, indent) {
			b.WriteString(row + "\n")
		}
		open = ""
	}
	for line := range strings.Lines(strings.ReplaceAll(text, "\t", "    ")) {
		line = strings.TrimRight(line, "\n")
		words := strings.TrimLeft(line, " ")
		blanks := len(line) - len(words)
		example := blanks > 0 && strings.HasPrefix(words, "spade-edge")
		if open != "" {
			if words != "" && !example && (blanks > from || blanks+from == 0) && open[from] != '-' {
				open += " " + words
				continue
			}
			flush()
		}
		switch command, note, noted := strings.Cut(words, "  "); {
		case words == "":
			b.WriteString("\n")
		case example && len(line) > width:
			if noted {
				b.WriteString("  " + strings.TrimSpace(note) + "\n")
			}
			parts := strings.Split(command, " -")
			for i := range parts[1:] {
				parts[i+1] = "-" + parts[i+1]
			}
			b.WriteString("  " + strings.ReplaceAll(Wrapped(parts[0], parts[1:], width-7), "\n", " \\\n    ") + "\n")
		default:
			open, from = line, blanks
		}
	}
	if open != "" {
		flush()
	}
	return b.String()
}

// CostText says in every accounting what a spend is called.
func CostText(c dpmech.Cost) string {
	return fmt.Sprintf("epsilon %s at delta %v, exact (gdp); as zCDP %s; by the paper's formula %s",
		EpsilonText(c.EpsilonGDP), c.Delta, EpsilonText(c.EpsilonZCDP), EpsilonText(c.EpsilonPaper))
}

// ZeroOutText says what other libraries call the same spend.
func ZeroOutText(c dpmech.Cost) string {
	return fmt.Sprintf("epsilon %s if the data set is replaced by none and not by any other: "+
		"the weaker statement that other libraries make",
		EpsilonText(c.EpsilonZeroOut))
}

// AgainstAll is how the second of the two adversaries is called everywhere.
const AgainstAll = "against all other members together"

// WriteCost says what a spend is called everywhere. adversary is whom it is against; another part says the same against
// all other members, if noise is shared.
func WriteCost(t Table, c dpmech.Cost, adversary string) {
	one := func(c dpmech.Cost) {
		t.Row("epsilon", "%s", CostText(c)[len("epsilon "):])
		t.Row("zero-out", "%s", ZeroOutText(c))
		t.Row("spend", "rho %.6g in zCDP, mu %.6g in GDP", c.Rho, c.Mu)
	}
	t.Row("against", "%s", adversary)
	one(c)
	if c.AgainstAll != nil {
		t.Row("against", "all other members together, who know the noise that they share with this one")
		one(*c.AgainstAll)
	}
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

// Wrapped joins words with spaces, in lines of a width; all but the first begin with spaces.
func Wrapped(first string, words []string, width int) string {
	text, at := first, len(first)
	for _, word := range words {
		if at+1+len(word) > width {
			text, at = text+"\n ", 1
		}
		text, at = text+" "+word, at+1+len(word)
	}
	return text
}

// Digits is a number with the fewest digits that tell it from others.
func Digits(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Short cuts a text to n letters.
func Short(s string, n int) string {
	if letters := []rune(s); len(letters) > n {
		return string(letters[:n-1]) + "~"
	}
	return s
}

// Fields are a JSON object in this order.
type Fields []Field

// Field is one entry of Fields.
type Field struct {
	Key   string
	Value any
}

func (f Fields) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, one := range f {
		b.WriteByte("{,"[min(i, 1)])
		if err := errors.Join(WriteObject(&b, one.Key), b.WriteByte(':'), WriteObject(&b, one.Value)); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
