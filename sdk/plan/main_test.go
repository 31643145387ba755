package plan_test

import (
	"runtime/debug"
	"testing"
)

// TestMain makes garbage collection less frequent: the tests keep little memory and leave much garbage.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	m.Run()
}
