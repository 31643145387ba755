package sdk_test

import (
	"flag"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// long is the form of tests with all their cases. It is that of the whole check, .ci/run.
var long = os.Getenv("SPADE_LONG") != ""

// onlyLong leaves a test to the whole check: it waits long for others or takes much time, and a shorter one has its main case.
func onlyLong(t *testing.T) {
	t.Helper()
	if !long {
		t.Skip("SPADE_LONG=1 runs it")
	}
}

// Most tests that run in parallel wait for a disk, or for a last word that was lost: more of them run than there are processors.
func TestMain(m *testing.M) {
	flag.Parse()
	if p := flag.Lookup("test.parallel").Value; p.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = p.Set(strconv.Itoa(8 * runtime.GOMAXPROCS(0)))
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // nodes without a Logger warn through it
	os.Exit(m.Run())
}
