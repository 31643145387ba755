package main

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// manager is the socket of a service manager.
type manager struct{ *net.UnixConn }

func newManager(t *testing.T, address string) manager {
	t.Helper()
	noWindows(t)
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return manager{c}
}

// next returns the next message, or "" if none comes in time.
func (m manager) next(t *testing.T, within time.Duration) string {
	t.Helper()
	if err := m.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, err := m.Read(b)
	if err != nil {
		return ""
	}
	return string(b[:n])
}

// await reads until a message has a word in it, and returns all before.
func (m manager) await(t *testing.T, word string) []string {
	t.Helper()
	var before []string
	for {
		msg := m.next(t, time.Minute)
		if msg == "" {
			t.Fatalf("no %q after %q", word, before)
		}
		if strings.Contains(msg, word) {
			return before
		}
		before = append(before, msg)
	}
}

// A node tells its service manager that it is ready, what it does, that it is alive, and that it ends.
func TestNotify(t *testing.T) {
	m := newManager(t, filepath.Join(t.TempDir(), "notify"))
	t.Setenv("NOTIFY_SOCKET", m.LocalAddr().String())
	t.Setenv("WATCHDOG_USEC", "200000")
	tr := newTrial(t, "ab bc", nil)
	lone := start(t, "run", tr.path("b.json"))
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
	lone.wait(t, exitFailed)
}
