package transcripts

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var entryLine = regexp.MustCompile(`(?m)^  (\S.*)  \[(\d+|-)\]$`)

// trouble runs a command that must print a message explained in "spade-edge help troubleshooting": "trouble MESSAGE
// COMMAND ARG...". Three dots in MESSAGE match any text. Among the entries of the help topic whose text occurs in
// MESSAGE, the longest one specifies the expected exit code. If this code is "-", the node prints the message and
// continues; then trouble repeats the command, such as "cat log", for up to a minute.
func trouble(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: trouble MESSAGE COMMAND ARG...")
	}
	ts.Check(ts.Exec("spade-edge", "help", "troubleshooting"))
	entry, want := "", ""
	for _, e := range entryLine.FindAllStringSubmatch(ts.ReadFile("stdout"), -1) {
		if pattern(e[1]).MatchString(args[0]) && len(strings.ReplaceAll(e[1], "...", "")) > len(strings.ReplaceAll(entry, "...", "")) {
			entry, want = e[1], e[2]
		}
	}
	if entry == "" {
		ts.Fatalf("no entry for %q", args[0])
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		code, text := codeOf(ts, args[1:]), ts.ReadFile("stdout")+ts.ReadFile("stderr")
		found := pattern(args[0]).MatchString(text) && pattern(entry).MatchString(text)
		switch {
		case want == "-" && !found && time.Now().Before(end):
			continue
		case !found:
			ts.Fatalf("no %q in\n%s", args[0], text)
		case want != "-" && strconv.Itoa(code) != want:
			ts.Fatalf("exit code %d, want %s", code, want)
		case packagePrefix().MatchString(text):
			ts.Fatalf("%q in what people read", packagePrefix().FindString(text))
		}
		return
	}
}

// pattern returns a pattern for a message in which three dots match any text.
func pattern(message string) *regexp.Regexp {
	var parts []string
	for _, part := range strings.Split(message, "...") {
		parts = append(parts, regexp.QuoteMeta(strings.TrimSpace(part)))
	}
	return regexp.MustCompile("(?m)" + strings.Join(parts, ".*"))
}
