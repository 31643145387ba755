package sealed

import (
	"cmp"
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
	Up     bool      // there is a connection over which this node can read
	Since  time.Time // time of the last change of Up
	Where  string    // the server, without credentials, if there is a connection
	Proxy  string    // the proxy of the connection; empty for none
	Ended  int       // number of connections that have ended
	LostBy error     // why the last connection ended
	Err    error     // why Up is false; nil if it is true
}

// Task is something that a node does at a broker, and that may fail while the others work.
type Task int

// The tasks whose failure [Watch.Failed] records. Failed messages are recorded for each peer, see [End].
const (
	Connecting Task = iota
	Looking         // looking for the place where the broker stores messages
	Reading         // reading messages
	tasks
)

// Watch tracks the state of a connection that is restored whenever it ends. It is safe for concurrent use.
type Watch struct {
	prefix      string // prefix of errors
	log         *slog.Logger
	least, most time.Duration // wait before a retry

	mu    sync.Mutex      // guards the fields below
	there bool            // there is a connection
	state State           // Up and Err follow from the other fields, see State
	why   [tasks]error    // why each task fails, or nil
	now   context.Context // ends when there next changes
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
// empty for a direct connection.
func (w *Watch) Connected(where, proxy string) {
	w.change(State{Where: where, Proxy: proxy}, nil)
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
	w.change(State{LostBy: err}, fmt.Errorf("%s: no connection to the broker: %w", w.prefix, err))
	w.log.Info("disconnected from the broker", "reason", err)
}

// Failed records and logs why a task fails. It logs the error at level Debug if the last recorded error of this task is
// the same, and otherwise at level Warn.
func (w *Watch) Failed(task Task, err error) {
	w.mu.Lock()
	old, now := w.why[task], fmt.Errorf("%s: broker: %w", w.prefix, err)
	same := old != nil && old.Error() == now.Error()
	w.set(task, now)
	w.mu.Unlock()
	w.log.Log(context.Background(), endpoint.Level(same), "broker", "reason", err)
}

// Worked records that a task succeeded.
func (w *Watch) Worked(task Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.set(task, nil)
}

// set records why a task fails, or nil if it does not. The caller holds w.mu.
func (w *Watch) set(task Task, err error) {
	before := w.up()
	w.why[task] = err
	if w.up() != before {
		w.state.Since = time.Now()
	}
}

// up reports whether there is a connection and everything works. The caller holds w.mu.
func (w *Watch) up() bool { return w.there && w.why == [tasks]error{} }

// change sets the state of a new connection or, if err is not nil, of an ended one, with the current time and an updated
// count of ended connections.
func (w *Watch) change(to State, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	to.Since, to.Ended = time.Now(), w.state.Ended
	if w.there && err != nil {
		to.Ended++
	} else {
		to.LostBy = w.state.LostBy
	}
	w.there, w.state, w.why = err == nil, to, [tasks]error{Connecting: err}
	w.over()
	w.now, w.over = context.WithCancel(context.Background())
}

// State returns the state of the connection.
func (w *Watch) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.state
	s.Up, s.Err = w.up(), cmp.Or(w.why[:]...)
	return s
}

// Period reports whether there is a connection, and returns a context that ends when that next changes.
func (w *Watch) Period() (period context.Context, there bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now, w.there
}

// Pause waits before the next attempt, see [Watch.Backoff]. It returns early if the connection changes or ctx ends. While
// there is a connection, it waits for at most the given time.
func (w *Watch) Pause(ctx context.Context, attempts int, most time.Duration) {
	period, there := w.Period()
	wait := w.Backoff(attempts)
	if there {
		wait = min(wait, most)
	}
	select {
	case <-time.After(wait):
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
