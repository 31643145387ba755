package program

import (
	"bytes"
	"context"
	"io"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
)

func run(ctx context.Context, args []string, out, log io.Writer) int {
	return Websockets.Run(ctx, args, out, log)
}

// call runs the program in this process. It returns the exit code, standard output and standard error.
func call(args ...string) (code int, out, log string) {
	var o, l bytes.Buffer
	code = run(context.Background(), toy(args), &o, &l)
	return code, o.String(), l.String()
}

// toy adds the flag -anyway to the arguments of the run command, so that a run starts despite a bad forecast. In tests,
// forecasts are usually bad because fleets are small and runs are short. toy returns the arguments of other commands
// unchanged.
func toy(args []string) []string {
	if len(args) < 2 || args[0] != "run" {
		return args
	}
	return slices.Insert(slices.Clone(args), 1, "-anyway")
}

// outcome runs a command with -json and returns its decoded result. A nonzero exit code fails the test.
func outcome(t *testing.T, args ...string) (r setup.Result) {
	t.Helper()
	into(t, &r, cli.ExitDone, args...)
	return r
}

func with(args []string, more ...string) []string {
	return append(append([]string(nil), args...), more...)
}
