package program

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// long reports whether SPADE_LONG is set. Tests then use more kills, seeds and rounds, as in the full check .ci/run.
var long = os.Getenv("SPADE_LONG") != ""

// asProgram is the environment variable that makes the test binary act as the program.
const asProgram = "SPADE_EDGE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" { // also for the processes that tests start; they keep little memory
		debug.SetGCPercent(800)
	}
	if os.Getenv(asProgram) != "" {
		if os.Args[1] == panicking.Name {
			cli.Commands = append(cli.Commands, panicking)
		}
		Websockets.Main()
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given { // more tests in parallel than processors, because most tests wait for processes
		_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
	os.Exit(m.Run())
}
