package sdk_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// long is the form of tests with all their cases. It is that of the whole check, .ci/run.
var long = os.Getenv("SPADE_LONG") != ""

// Most tests that run in parallel wait for a disk, or for a last word that was lost: more of them run than there are processors.
func TestMain(m *testing.M) {
	flag.Parse()
	if p := flag.Lookup("test.parallel").Value; p.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = p.Set(strconv.Itoa(8 * runtime.GOMAXPROCS(0)))
	}
	os.Exit(m.Run())
}
