package program

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// The help of every command fits a terminal of 80 columns and has all of its text.
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
			if !strings.HasPrefix(out, cli.About(cmd.Name)) {
				t.Errorf("%s -h %s does not begin with its text:\n%s", cmd.Name, more, out)
			}
		}
	}
}

// So does every topic. Only messages are longer, so that a search finds them in one line.
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
