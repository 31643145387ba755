package sealed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// State describes the connection to a broker.
type State struct {
	Up     bool
	Since  time.Time // time of the last change of Up
	Where  string    // the server, without credentials, if up
	Proxy  string    // the proxy of the connection, if up; empty for none
	Ended  int       // number of connections that have ended
	LostBy error     // why the last connection ended
	Err    error     // the last error
}

// Watch tracks the state of a connection that is restored whenever it ends. It is safe for concurrent use.
type Watch struct {
	prefix      string // prefix of errors
	log         *slog.Logger
	least, most time.Duration // wait before a retry

	mu    sync.Mutex // guards the fields below
	state State
	now   context.Context // ends at the next change of Up
	over  context.CancelFunc
}

// NewWatch returns a Watch that is initially not connected. least and most limit the wait before a retry, see
// [Watch.Backoff].
func NewWatch(prefix string, log *slog.Logger, least, most time.Duration) *Watch {
	w := &Watch{prefix: prefix, log: log, least: least, most: most}
	w.now, w.over = context.WithCancel(context.Background())
	return w
}

// Connected records a new connection. where is the name of the server. proxy is the name of the proxy in between, or
// empty if there is none.
func (w *Watch) Connected(where, proxy string) {
	w.change(State{Up: true, Where: where, Proxy: proxy})
	if proxy != "" {
		where += ", behind the proxy " + proxy
	}
	w.log.Info("connected to the broker", "at", where)
}

// Disconnected records that the connection ended. err is the reason, or nil if the broker did not state one.
func (w *Watch) Disconnected(err error) {
	if err == nil {
		err = errors.New("the broker ended the connection")
	}
	w.change(State{LostBy: err, Err: fmt.Errorf("%s: no connection to the broker: %w", w.prefix, err)})
	w.log.Info("disconnected from the broker", "reason", err)
}

// Failed records and logs an error. It logs the error at level Debug if the last recorded error is the same, and
// otherwise at level Warn.
func (w *Watch) Failed(err error) {
	w.mu.Lock()
	old := w.state.Err
	w.state.Err = fmt.Errorf("%s: broker: %w", w.prefix, err)
	same := old != nil && old.Error() == w.state.Err.Error()
	w.mu.Unlock()
	w.log.Log(context.Background(), endpoint.Level(same), "broker", "reason", err)
}

// Worked records that the broker fulfilled a request. It clears the last error.
func (w *Watch) Worked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Err = nil
}

// change sets a new state, with the current time and an updated count of ended connections.
func (w *Watch) change(to State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	to.Since, to.Ended = time.Now(), w.state.Ended
	if w.state.Up && !to.Up {
		to.Ended++
	} else {
		to.LostBy = w.state.LostBy
	}
	w.state = to
	w.over()
	w.now, w.over = context.WithCancel(context.Background())
}

// State returns the state of the connection.
func (w *Watch) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// Period returns the current value of State.Up, and a context that ends when that value next changes.
func (w *Watch) Period() (period context.Context, up bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now, w.state.Up
}

// Pause waits before the next attempt, see [Watch.Backoff]. It returns early if the connection changes or ctx ends.
func (w *Watch) Pause(ctx context.Context, attempts int) {
	period, _ := w.Period()
	select {
	case <-time.After(w.Backoff(attempts)):
	case <-period.Done():
	case <-ctx.Done():
	}
}

// Backoff returns how long to wait before the next attempt: a random duration between d/2 and d. Here d is the shortest
// wait, doubled once per previous attempt and limited to the longest wait.
func (w *Watch) Backoff(attempts int) time.Duration {
	d := w.least << min(attempts, 20)
	if d > w.most || d <= 0 {
		d = w.most
	}
	return endpoint.Jitter(d)
}

// Split parses a valid broker URL. web reports whether the scheme is wss or ws. path has no leading or trailing
// slashes.
func Split(text string) (u *url.URL, web bool, path string) {
	u, err := url.Parse(text)
	if err != nil {
		return new(url.URL), false, ""
	}
	return u, u.Scheme == "wss" || u.Scheme == "ws", strings.Trim(u.EscapedPath(), "/")
}

// Secure reports whether a connection to the URL uses TLS.
func Secure(text string) bool { u, _, _ := Split(text); return u.Scheme == "tls" || u.Scheme == "wss" }

// Redacted returns a URL with its password masked.
func Redacted(text string) string { u, _, _ := Split(text); return u.Redacted() }

// WarnIfExposed logs a warning if connections to the URL leave this machine without TLS.
func (w *Watch) WarnIfExposed(text string) {
	u, _, _ := Split(text)
	ip := net.ParseIP(u.Hostname())
	if !Secure(text) && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		w.log.Warn("the connection to the broker is not encrypted: frames are sealed, but an eavesdropper sees which "+
			"members communicate, and can read any credentials", "broker", Redacted(text))
	}
}
