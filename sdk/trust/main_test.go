package trust

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain makes garbage collection less frequent: the tests keep little memory and leave much garbage, so by default
// the collector would run very often.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	os.Exit(m.Run())
}
