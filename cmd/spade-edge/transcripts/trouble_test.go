package transcripts

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
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
	entry, want := entryOf(ts.ReadFile("stdout"), args[0])
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

// entryOf returns the longest entry of the topic whose text occurs in message, and its exit code.
func entryOf(topic, message string) (entry, code string) {
	length := func(text string) int { return len(strings.ReplaceAll(text, "...", "")) }
	for _, e := range entryLine.FindAllStringSubmatch(topic, -1) {
		if pattern(e[1]).MatchString(message) && length(e[1]) > length(entry) {
			entry, code = e[1], e[2]
		}
	}
	return entry, code
}

// TestTroubleshooting checks that every entry of "spade-edge help troubleshooting" has a cause and a remedy, and that
// something provokes its message: a "trouble" line of a transcript, the test of this name of package program, whose exit
// code must be that of the entry, or a test of a program for brokers that a comment names.
func TestTroubleshooting(t *testing.T) {
	topic := readAll(t, "../internal/cli/topics/troubleshooting.txt")
	for _, lines := range regexp.MustCompile(`(?m)^  \S.*\n.*`).FindAllString(topic, -1) {
		if !regexp.MustCompile(`^  \S.*  \[(\d+|-)\]\n      \S`).MatchString(lines) {
			t.Errorf("%q is no message with an exit code, and below it a cause and a remedy", lines)
		}
	}
	provoked := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:\[\w+\] |\s*// )?trouble '((?:[^']|'')+)'(?: |$)`).
		FindAllStringSubmatch(readAll(t, "testdata/*.txtar")+readAll(t, "../../../transport/broker/cmd/*/*_test.go"), -1) {
		entry, _ := entryOf(topic, strings.ReplaceAll(m[1], "''", "'"))
		provoked[entry] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^\t"(.+)": \{"(.+)", func`).FindAllStringSubmatch(readAll(t, "../program/trouble_test.go"), -1) {
		entry, code := entryOf(topic, m[1])
		if provoked[entry] = true; code != m[2] {
			t.Errorf("%s: exit code %s, want %s", m[1], m[2], code)
		}
	}
	for _, e := range entryLine.FindAllStringSubmatch(topic, -1) {
		if !provoked[e[1]] {
			t.Errorf("nothing provokes %q, or it is there twice", e[1])
		}
		delete(provoked, e[1])
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
