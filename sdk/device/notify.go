package device

import (
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// notifier reports to the service manager as sd_notify(3) does: with datagrams to the socket that the environment names.
// Without a socket it does nothing. Errors are ignored.
type notifier struct {
	socket   string        // a path, or "@" and an abstract name; empty for none
	watchdog time.Duration // within which a keepalive is expected; 0 for never
	status   string        // the last one told
}

// newNotifier reads the environment, and removes from it what child processes must not use.
func newNotifier() *notifier {
	n := &notifier{socket: os.Getenv("NOTIFY_SOCKET")}
	usec, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	pid := os.Getenv("WATCHDOG_PID")
	if err == nil && usec > 0 && usec < 1<<52 && n.socket != "" && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.watchdog = time.Duration(usec) * time.Microsecond
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(name) // fails on no system for such names
	}
	return n
}

// send sends assignments such as "READY=1".
func (n *notifier) send(assignments ...string) {
	if n.socket == "" {
		return
	}
	conn, err := net.Dial("unixgram", n.socket) // a leading @ is an abstract name to Go as well
	if err != nil {
		return
	}
	_, _ = conn.Write([]byte(strings.Join(assignments, "\n")))
	_ = conn.Close()
}

// setStatus sends the line that "systemctl status" shows, if it has changed. Only one goroutine calls it.
func (n *notifier) setStatus(line string) {
	if line != n.status {
		n.status = line
		n.send("STATUS=" + line)
	}
}

// interval returns the time between two reports.
func (n *notifier) interval() time.Duration {
	if n.watchdog > 0 {
		return max(min(time.Second, n.watchdog/4), time.Millisecond)
	}
	return time.Second
}
