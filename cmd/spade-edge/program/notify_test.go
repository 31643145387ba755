package program

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// TestNotify checks that a node tells its service manager when it is ready and when it stops, and that it regularly
// sends its status and a watchdog notification.
func TestNotify(t *testing.T) {
	t.Parallel()
	noWindows(t)
	m := newServiceManager(t)
	tr := newTrial(t, "ab bc", nil)
	lone := starting(t, []string{"NOTIFY_SOCKET=" + m.LocalAddr().String(), "WATCHDOG_USEC=200000"}, "run", tr.path("b.json"))
	if before := m.await(t, "READY=1"); slices.ContainsFunc(before,
		func(s string) bool { return strings.HasPrefix(s, "WATCHDOG") }) && len(before) > 5 {
		t.Errorf("before the run begins: %q", before)
	}
	m.await(t, `STATUS=NOT PRIVATE  round 0 of 9, waiting for "a", "c"`)
	for range 3 {
		m.await(t, "WATCHDOG=1")
	}
	if err := lone.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	m.await(t, "STOPPING=1")
	lone.wait(t, cli.ExitFailed)
}

// serviceManager is the socket of a service manager such as systemd (sd_notify).
type serviceManager struct{ *net.UnixConn }

func newServiceManager(t *testing.T) serviceManager {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return serviceManager{c}
}

// await reads messages until one contains the given word. It returns all earlier messages.
func (m serviceManager) await(t *testing.T, word string) (before []string) {
	t.Helper()
	b := make([]byte, 4096)
	if err := m.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for {
		n, err := m.Read(b)
		if err != nil {
			t.Fatalf("no %q after %q: %v", word, before, err)
		}
		if strings.Contains(string(b[:n]), word) {
			return before
		}
		before = append(before, string(b[:n]))
	}
}
