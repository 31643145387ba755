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

// progressLines is into how many parts a run is cut for lines that do not move. Tests set it, to see each round.
var progressLines = 10

// progress shows how far a run is: a line that moves on a terminal, and about ten lines elsewhere. It may be used from
// several goroutines.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	name    string // of the node, and what sets it off: several may share a terminal; empty for none
	moving  bool   // on a terminal
	method  sdk.Method
	started time.Time
	open    bool // the cursor stands behind a moving line

	part int       // of progressLines, that was said last
	said time.Time // when that was
}

func newProgress(w io.Writer, m sdk.Method) *progress {
	return &progress{w: w, moving: isTerminal(w), method: m, started: time.Now()}
}

// terminalSize returns how many rows a terminal has, and letters in each; 24 and 100 if that is not known.
func terminalSize(w io.Writer) (rows, columns int) {
	if f, ok := w.(*os.File); ok && isTerminal(w) {
		rows, columns = sizeOf(f)
	}
	if rows < 2 || columns < 1 {
		return 24, 100
	}
	return rows, columns
}

func terminalWidth(w io.Writer) int {
	_, width := terminalSize(w)
	return width
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
	p.line(float64(k)/float64(last), "%s %*d of %d  %-*s  %s  %.1f s",
		releaseWord(p.method), len(fmt.Sprint(last)), k, last, width, p.method.Phase(k), note,
		time.Since(p.started).Seconds())
}

// runs says how many of several runs are over, and which share of all their rounds.
func (p *progress) runs(share float64, over, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	spent := time.Since(p.started).Seconds()
	p.line(share, "run %*d of %d  %3.0f %% of all rounds  %.1f s, about %.0f s left", len(fmt.Sprint(all)), over, all,
		100*share, spent, max(0, spent*(1-share)/share))
}

// line shows a line of a run of which some share is over. Elsewhere than on a terminal it leaves out most of them: the
// first one counts, each that is another part further, and one after a minute's silence.
func (p *progress) line(share float64, format string, args ...any) {
	if p.moving {
		fmt.Fprintf(p.w, "\r%s\x1b[K", short(p.name+fmt.Sprintf(format, args...), terminalWidth(p.w)-1))
		p.open = true
		return
	}
	if part := int(share*float64(progressLines) + 1e-6); part > p.part || p.said.IsZero() || time.Since(p.said) >= time.Minute {
		p.part, p.said = part, time.Now()
		fmt.Fprintln(p.w, p.name+fmt.Sprintf(format, args...))
	}
}

// say prints a line of its own; without a format it only leaves the moving line.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		fmt.Fprintln(p.w)
	}
	if p.open = false; format != "" {
		fmt.Fprintln(p.w, p.name+fmt.Sprintf(format, args...))
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
