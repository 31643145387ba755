package transcripts

import (
	"errors"
	"os/exec"
	"slices"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// refused runs a command that must fail, and may change files: "refused CODE COMMAND ARG...". It checks the exit code,
// and that standard output is empty.
func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: refused CODE COMMAND ARG...")
	}
	err := ts.Exec(args[1], args[2:]...)
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
		ts.Fatalf("%v, want exit code %s\n%s", err, args[0], ts.ReadFile("stderr"))
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("found output of a command that failed:\n%s", out)
	}
}

// signal sends a signal to the background command with an argument: "signal HUP ARGUMENT".
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
