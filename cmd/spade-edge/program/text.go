package program

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

// epsilonText writes an epsilon for people: with four decimals, and never below what it is.
func epsilonText(epsilon float64) string { return dpmech.FormatEpsilon(epsilon, 4) }

// table is text for people: lines that begin with a word.
type table struct{ io.Writer }

func (t table) row(name, format string, args ...any) {
	fmt.Fprintf(t, "%-14s %s\n", name, oneLine(fmt.Sprintf(format, args...)))
}

// oneLine is text as it stands in a line. Part of it may come from other machines.
func oneLine(text string) string { return transport.Printable(strings.ReplaceAll(text, "\n", "; ")) }

// printable is oneLine for text whose lines are to stay apart.
func printable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = transport.Printable(line)
	}
	return strings.Join(lines, "\n")
}

// folded breaks a line before words, where it can, so that no row is wider than width; rows after the first begin with
// indent spaces. Letters from U+1100 on count twice, since many are that wide.
func folded(line string, width, indent int) (rows []string) {
	rest, lead := []rune(line), len(line)-len(strings.TrimLeft(line, " "))
	for {
		gap, end := 0, 0
		for used := 0; end < len(rest); end++ {
			if used++; rest[end] >= 0x1100 {
				used++
			}
			if rest[end] == ' ' && end > lead {
				gap = end
			}
			if used > width {
				break
			}
		}
		if end == len(rest) {
			return append(rows, string(rest))
		}
		if gap == 0 {
			gap = max(end, lead+1)
		}
		rows = append(rows, strings.TrimRight(string(rest[:gap]), " "))
		left := strings.TrimLeft(string(rest[gap:]), " ")
		if left == "" {
			return rows
		}
		rest, lead = []rune(strings.Repeat(" ", indent)+left), indent
	}
}

// filled fills a help text into lines of a width. Lines that follow each other without a blank before them, or with more
// blanks than the one before them, belong together; those of a flag and of its text do not. Command lines that are
// given as examples break before flags, with a backslash, and what is said about one goes before it.
func filled(text string, width int) string {
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
			b.WriteString("  " + strings.ReplaceAll(wrapped(parts[0], parts[1:], width-7), "\n", " \\\n    ") + "\n")
		default:
			open, from = line, blanks
		}
	}
	if open != "" {
		flush()
	}
	return b.String()
}

// costText says in every accounting what a spend is called.
func costText(c dpmech.Cost) string {
	return fmt.Sprintf("epsilon %s at delta %v, exact (gdp); as zCDP %s; by the paper's formula %s",
		epsilonText(c.EpsilonGDP), c.Delta, epsilonText(c.EpsilonZCDP), epsilonText(c.EpsilonPaper))
}

// zeroOutText says what other libraries call the same spend.
func zeroOutText(c dpmech.Cost) string {
	return fmt.Sprintf("epsilon %s if the data set is replaced by none and not by any other: "+
		"the weaker statement that other libraries make",
		epsilonText(c.EpsilonZeroOut))
}

// againstAll is how the second of the two adversaries is called everywhere.
const againstAll = "against all other members together"

// writeCost says what a spend is called everywhere. adversary is whom it is against; another part says the same against
// all other members, if noise is shared.
func writeCost(t table, c dpmech.Cost, adversary string) {
	one := func(c dpmech.Cost) {
		t.row("epsilon", "%s", costText(c)[len("epsilon "):])
		t.row("zero-out", "%s", zeroOutText(c))
		t.row("spend", "rho %.6g in zCDP, mu %.6g in GDP", c.Rho, c.Mu)
	}
	t.row("against", "%s", adversary)
	one(c)
	if c.AgainstAll != nil {
		t.row("against", "all other members together, who know the noise that they share with this one")
		one(*c.AgainstAll)
	}
}

// releaseWord is how a release is called: with rounds of mixing, a round of learning has several.
func releaseWord(m sdk.Method) string {
	if m.Mixing > 0 {
		return "release"
	}
	return "round"
}

// mixingText says how many rounds of mixing follow each round of learning, if any do.
func mixingText(mixing int) string {
	if mixing == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of mixing after each", mixing)
}

func bytesText(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// writeObject prints a value as one JSON object.
func writeObject(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// rough is a number of seconds as a duration with three digits.
func rough(seconds float64) time.Duration {
	d, unit := time.Duration(min(seconds*1e9, 1<<62)), time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

func duration(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Truncate(time.Second).String()
}

// wrapped joins words with spaces, in lines of a width; all but the first begin with spaces.
func wrapped(first string, words []string, width int) string {
	text, at := first, len(first)
	for _, word := range words {
		if at+1+len(word) > width {
			text, at = text+"\n ", 1
		}
		text, at = text+" "+word, at+1+len(word)
	}
	return text
}

// digits is a number with the fewest digits that tell it from others.
func digits(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// short cuts a text to n letters.
func short(s string, n int) string {
	if letters := []rune(s); len(letters) > n {
		return string(letters[:n-1]) + "~"
	}
	return s
}

// fields are a JSON object in this order.
type fields []field

type field struct {
	key   string
	value any
}

func (f fields) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, one := range f {
		b.WriteByte("{,"[min(i, 1)])
		if err := errors.Join(writeObject(&b, one.key), b.WriteByte(':'), writeObject(&b, one.value)); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
