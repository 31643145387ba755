package program

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// The help of every command fits a terminal of 80 columns, and has every word that was written for it.
func TestHelpFits(t *testing.T) {
	for _, cmd := range cli.Commands {
		for _, more := range []string{"", "all"} {
			code, out, log := call(append([]string{cmd.Name}, strings.Fields("-h "+more)...)...)
			if code != cli.ExitDone || log != "" {
				t.Errorf("%s -h %s: exit code %d, %s", cmd.Name, more, code, log)
			}
			for line := range strings.Lines(out) {
				if n := utf8.RuneCountInString(line) - 1; n > 80 {
					t.Errorf("%s -h %s: a line of %d: %s", cmd.Name, more, n, line)
				}
			}
			words := strings.Fields(strings.ReplaceAll(out, "\\\n", "\n"))
			for _, word := range strings.Fields(cli.About(cmd.Name)) {
				i := slices.Index(words, word)
				if i < 0 {
					t.Errorf("%s -h: %q is missing", cmd.Name, word)
					continue
				}
				words = slices.Delete(words, i, i+1)
			}
		}
	}
}

// So does every topic. Only messages are longer: who looks for one finds it in one line.
func TestTopicsFit(t *testing.T) {
	for _, name := range append([]string{""}, cli.TopicNames()...) {
		_, out, _ := call(append([]string{"help"}, strings.Fields(name)...)...)
		for line := range strings.Lines(out) {
			message := name == "troubleshooting" && strings.HasSuffix(line, "]\n")
			if n := utf8.RuneCountInString(line) - 1; n > 80 && !message {
				t.Errorf("help %s: a line of %d: %s", name, n, line)
			}
		}
	}
}

func TestFilled(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"one two\nthree four five\n\nsix\n", "one two three\nfour five\n\nsix\n"},
		{"  a    first words\n       more of it\n  bcd  the second\n", "  a    first\n       words\n       more of\n       it\n" +
			"  bcd  the\n       second\n"},
		{"  -flag int\n    \twhat it is for\n  -x\n    \tno\n", "  -flag int\n        what\n        it is\n        for\n" +
			"  -x\n        no\n"},
		{"  spade-edge x  # says\n", "  # says\n  spade-edge x\n"},
		{"  spade-edge -a 1 -b \"c d\"\n", "  spade-edge \\\n      -a 1 \\\n      -b \"c d\"\n"},
		{"", ""}, {"\n", "\n"}, {"  \n", "\n"},
	} {
		if got := cli.Filled(c.text, 14); got != c.want {
			t.Errorf("%q becomes\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}
