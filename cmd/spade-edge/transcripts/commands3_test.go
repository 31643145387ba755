package transcripts

import (
	"os/exec"
	"slices"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

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
