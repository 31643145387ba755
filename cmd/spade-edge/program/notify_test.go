package program

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spade-dfl/spade-edge/tinytest"
)

// A node tells its service manager that it is ready, what it does, that it is alive, and that it ends.
func TestNotify(t *testing.T) {
	noWindows(t)
	m := tinytest.NewServiceManager(t, filepath.Join(t.TempDir(), "notify"))
	t.Setenv("NOTIFY_SOCKET", m.LocalAddr().String())
	t.Setenv("WATCHDOG_USEC", "200000")
	tr := newTrial(t, "ab bc", nil)
	lone := start(t, "run", tr.path("b.json"))
	if before := m.Await(t, "READY=1"); slices.ContainsFunc(before,
		func(s string) bool { return strings.HasPrefix(s, "WATCHDOG") }) && len(before) > 5 {
		t.Errorf("before the run begins: %q", before)
	}
	m.Await(t, `STATUS=NOT PRIVATE  round 0 of 9, waiting for "a", "c"`)
	for range 3 {
		m.Await(t, "WATCHDOG=1")
	}
	if err := lone.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	m.Await(t, "STOPPING=1")
	lone.wait(t, exitFailed)
}
