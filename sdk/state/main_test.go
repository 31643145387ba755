package state

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain makes garbage collection less frequent: the simulated disks are small and short-lived, so by default the
// collector would run after every few of them.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	os.Exit(m.Run())
}
