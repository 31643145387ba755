package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
)

// progress shows how far a run is: a line that moves on a terminal, a line a round elsewhere. It may be used from
// several goroutines.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	moving  bool // on a terminal
	method  sdk.Method
	started time.Time
	open    bool // the cursor stands behind a moving line
}

func newProgress(w io.Writer, m sdk.Method) *progress {
	return &progress{w: w, moving: isTerminal(w), method: m, started: time.Now()}
}

// isTerminal reports whether w is a character device, such as a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// round says that a release is made, and what is known of the model.
func (p *progress) round(k int, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, width := p.method.Last(), max(12, len(p.method.Phase(p.method.Learning())))
	line := fmt.Sprintf("%s %*d of %d  %-*s  %s  %.1f s",
		releaseWord(p.method), len(fmt.Sprint(last)), k, last, width, p.method.Phase(k), note,
		time.Since(p.started).Seconds())
	if !p.moving {
		fmt.Fprintln(p.w, line)
		return
	}
	fmt.Fprintf(p.w, "\r%s\x1b[K", line)
	p.open = true
}

// say prints a line of its own; without a format it only leaves the moving line.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		fmt.Fprintln(p.w)
	}
	if p.open = false; format != "" {
		fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *progress) end() { p.say("") }

// prompt does work that knows no context, such as reading a data set, and waits for it no longer than ctx lasts. Work
// that was given up ends with the process.
func prompt[T any](ctx context.Context, work func() (T, error)) (T, error) {
	var value, none T
	err := ctx.Err()
	if err != nil {
		return none, err
	}
	done := make(chan struct{})
	go func() {
		value, err = work()
		close(done)
	}()
	select {
	case <-done:
		return value, err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
