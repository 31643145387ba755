package transcripts

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// codeOf runs a command and returns its exit code.
func codeOf(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

// exits checks the exit code of a command: "exits CODE COMMAND ARG...".
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	if code := codeOf(ts, args[1:]); strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

var entryLine = regexp.MustCompile(`(?m)^  (\S.*)  \[(\d+|-)\]$`)

// trouble runs a command that must print a message explained in "spade-edge help troubleshooting": "trouble MESSAGE
// COMMAND ARG...". Three dots in MESSAGE match any text. The expected exit code is that of the longest entry of the
// help topic that is part of MESSAGE. If this exit code is "-", the node prints the message and continues; then trouble
// repeats the command, such as "cat log", for up to a minute.
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

// field sets variables to parts of the JSON object that the last command printed: "field NAME PATH [NAME PATH]...". A
// path consists of names and numbers, such as models.2.loss.
func field(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args)%2 != 0 {
		ts.Fatalf("usage: field NAME PATH [NAME PATH]...")
	}
	for i := 0; i < len(args); i += 2 {
		rest := json.RawMessage(ts.ReadFile("stdout"))
		for _, name := range strings.Split(args[i+1], ".") {
			var object map[string]json.RawMessage
			var list []json.RawMessage
			if at, err := strconv.Atoi(name); err == nil && json.Unmarshal(rest, &list) == nil && at < len(list) {
				rest = list[at]
			} else if json.Unmarshal(rest, &object); object[name] != nil {
				rest = object[name]
			} else {
				ts.Fatalf("no %s of %s in %s", name, args[i+1], rest)
			}
		}
		value := string(rest)
		if json.Unmarshal(rest, &value) != nil {
			value = string(rest)
		}
		ts.Setenv(args[i], value)
	}
}

// is implements the script command "is A <|<=|==|!= B", which compares A with B: as numbers if both are numbers,
// otherwise as strings.
func is(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: is A <|<=|==|!= B")
	}
	order := strings.Compare(args[0], args[2])
	a, errA := strconv.ParseFloat(args[0], 64)
	b, errB := strconv.ParseFloat(args[2], 64)
	if errA == nil && errB == nil {
		order = cmp.Compare(a, b)
	}
	holds, known := map[string]bool{"<": order < 0, "<=": order <= 0, "==": order == 0, "!=": order != 0}[args[1]]
	if !known || !holds {
		ts.Fatalf("%s is not %s %s", args[0], args[1], args[2])
	}
}

// proxy starts an HTTP proxy that answers every request with the given status code, and sets the variable PROXY to its
// URL: "proxy STATUS".
func proxy(ts *testscript.TestScript, neg bool, args []string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = conn.Write([]byte("HTTP/1.1 " + strings.Join(args, " ") + "\r\n\r\n"))
			_ = conn.Close()
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv("PROXY", server.URL)
}
