package transcripts

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"

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

// signal sends a signal to the latest background command that has ARGUMENT among its arguments: "signal HUP ARGUMENT".
func signal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: signal NAME ARGUMENT")
	}
	for _, c := range slices.Backward(ts.BackgroundCmds()) {
		if slices.Contains(c.Args, args[1]) {
			ts.Check(exec.Command("kill", "-"+args[0], strconv.Itoa(c.Process.Pid)).Run())
			return
		}
	}
	ts.Fatalf("no background command has the argument %q", args[1])
}
