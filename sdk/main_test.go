package sdk_test

import (
	"errors"
	"flag"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
)

// long is true if SPADE_LONG is set, as in the full check, .ci/run. The tests then run all their cases.
var long = os.Getenv("SPADE_LONG") != ""

// wanted returns the number in an environment variable, or the usual one if it is not set.
func wanted(t *testing.T, variable string, usual int) int {
	t.Helper()
	if s := os.Getenv(variable); s != "" {
		n := must(strconv.Atoi(s))(t)
		return n
	}
	return usual
}

// TestMain allows more parallel tests than there are processors, because most tests wait for a disk or a lost message.
func TestMain(m *testing.M) {
	flag.Parse()
	if p := flag.Lookup("test.parallel").Value; p.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = p.Set(strconv.Itoa(8 * runtime.GOMAXPROCS(0)))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800) // the tests have a small heap and much garbage
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // nodes without a Logger warn through it
	os.Exit(m.Run())
}

// must returns a function that returns v, and ends the test if err is not nil.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		ok(t, err)
		return v
	}
}

// ok ends the test if one of the errors is not nil.
func ok(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
