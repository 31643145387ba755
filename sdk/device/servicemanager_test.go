package device

import (
	"net"
	"strings"
	"testing"
	"time"
)

// serviceManager is the socket of a service manager such as systemd (sd_notify). Windows has none.
type serviceManager struct{ *net.UnixConn }

// newServiceManager listens at a path, or at an abstract address, which starts with "@", until the test ends.
func newServiceManager(t testing.TB, address string) serviceManager {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return serviceManager{c}
}

func (m serviceManager) next(t testing.TB, within time.Duration) string {
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

// await reads messages until a message contains word, and returns all messages that came before that message.
func (m serviceManager) await(t testing.TB, word string) []string {
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
