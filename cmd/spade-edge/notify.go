package main

import (
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// notifier tells the service manager how the process is, as sd_notify(3) does: datagrams to the socket that it names in the
// environment. Without one all of it does nothing, and what cannot be told is not worth failing for.
type notifier struct {
	socket   string        // a path, or "@" and an abstract name; empty for none
	watchdog time.Duration // within which a sign of life is wanted; 0 for never

	mu     sync.Mutex
	status string // the last one told
}

// newNotifier reads the environment, and takes out of it what programs that this one starts must not use.
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

// tell sends assignments such as "READY=1".
func (n *notifier) tell(assignments ...string) {
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

// say sends the line that "systemctl status" shows, if it has changed.
func (n *notifier) say(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if line != n.status {
		n.status = line
		n.tell("STATUS=" + line)
	}
}

// pace returns how often the process should look after itself.
func (n *notifier) pace() time.Duration {
	if n.watchdog > 0 {
		return max(min(time.Second, n.watchdog/4), time.Millisecond)
	}
	return time.Second
}
