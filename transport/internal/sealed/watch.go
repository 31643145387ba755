package sealed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// State is how the connection with a broker is.
type State struct {
	Up     bool
	Since  time.Time // of the last change of Up
	Where  string    // the server, without credentials, if up
	Proxy  string    // through which it was dialed, if up; empty for none
	Ended  int       // how many connections have
	LostBy error     // why the last of them has
	Err    error     // the last fault
}

// Watch keeps the state of a connection, which is made again whenever it ends. Its methods may be called from several
// goroutines.
type Watch struct {
	prefix string // of errors
	log    *slog.Logger

	mu    sync.Mutex // of what follows
	state State
	now   context.Context // ends at the next change of Up
	over  context.CancelFunc
}

// NewWatch returns the watch of a connection that is not there yet.
func NewWatch(prefix string, log *slog.Logger) *Watch {
	w := &Watch{prefix: prefix, log: log}
	w.now, w.over = context.WithCancel(context.Background())
	return w
}

// Connected notes a connection, and where it leads.
func (w *Watch) Connected(where, proxy string) {
	w.change(State{Up: true, Where: where, Proxy: proxy})
	if proxy != "" {
		where += ", behind the proxy " + proxy
	}
	w.log.Info("connected to the broker", "at", where)
}

// Disconnected notes that a connection has ended, and why: nil if the broker has ended it without a reason.
func (w *Watch) Disconnected(err error) {
	if err == nil {
		err = errors.New("the broker has ended the connection")
	}
	w.change(State{LostBy: err, Err: fmt.Errorf("%s: no connection with the broker: %w", w.prefix, err)})
	w.log.Info("disconnected from the broker", "reason", err)
}

// Failed notes a fault. The same one is a warning once, until a connection succeeds.
func (w *Watch) Failed(err error) {
	w.mu.Lock()
	old := w.state.Err
	w.state.Err = fmt.Errorf("%s: broker: %w", w.prefix, err)
	same := old != nil && old.Error() == w.state.Err.Error()
	w.mu.Unlock()
	w.log.Log(context.Background(), endpoint.Level(same), "broker", "reason", err)
}

// Worked notes that the broker has done what it was asked.
func (w *Watch) Worked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Err = nil
}

// change takes a new state, to which it adds the time and what has ended before.
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

// State returns how the connection is.
func (w *Watch) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// Period returns a context that ends when the connection comes or goes, and whether there is one.
func (w *Watch) Period() (period context.Context, up bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now, w.state.Up
}

// Pause waits before another attempt, but not longer than until the connection changes.
func (w *Watch) Pause(ctx context.Context, d time.Duration) {
	period, _ := w.Period()
	select {
	case <-time.After(d):
	case <-period.Done():
	case <-ctx.Done():
	}
}

// Backoff returns how long to wait before another attempt: waits double from least to most, and are random.
func Backoff(least, most time.Duration, attempts int) time.Duration {
	d := least << min(attempts, 20)
	if d > most || d <= 0 {
		d = most
	}
	return endpoint.Jitter(d)
}
