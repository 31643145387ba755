package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
)

// ProgressLines is into how many parts a run is cut for lines that do not move. Tests set it, to see each round.
var ProgressLines = 10

// Progress shows how far a run is: a line that moves on a terminal, and about ten lines elsewhere. It may be used from
// several goroutines.
type Progress struct {
	mu      sync.Mutex
	w       io.Writer
	Name    string // of the node, and what sets it off: several may share a terminal; empty for none
	moving  bool   // on a terminal
	Method  sdk.Method
	started time.Time
	open    bool // the cursor stands behind a moving line

	part int       // of progressLines, that was said last
	said time.Time // when that was
}

// NewProgress returns what tells of a run to the rounds given.
func NewProgress(w io.Writer, m sdk.Method) *Progress {
	return &Progress{w: w, moving: IsTerminal(w), Method: m, started: time.Now()}
}

// IsTerminal reports whether w is a character device, such as a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Round says that a release is made, and what is known of the model.
func (p *Progress) Round(k int, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, width := p.Method.Last(), max(12, len(p.Method.Phase(p.Method.Learning())))
	p.line(float64(k)/float64(last), "%s %*d of %d  %-*s  %s  %.1f s",
		ReleaseWord(p.Method), len(fmt.Sprint(last)), k, last, width, p.Method.Phase(k), note,
		time.Since(p.started).Seconds())
}

// Runs says how many of several runs are over, and which share of all their rounds.
func (p *Progress) Runs(share float64, over, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	spent := time.Since(p.started).Seconds()
	p.line(share, "run %*d of %d  %3.0f %% of all rounds  %.1f s, about %.0f s left", len(fmt.Sprint(all)), over, all,
		100*share, spent, max(0, spent*(1-share)/share))
}

// line shows a line of a run of which some share is over. Elsewhere than on a terminal it leaves out most of them: the
// first one counts, each that is another part further, and one after a minute's silence.
func (p *Progress) line(share float64, format string, args ...any) {
	if p.moving {
		// The terminal cuts what is wider than it is.
		fmt.Fprintf(p.w, "\r\x1b[K\x1b[?7l%s\x1b[?7h", p.Name+fmt.Sprintf(format, args...))
		p.open = true
		return
	}
	if part := int(share*float64(ProgressLines) + 1e-6); part > p.part || p.said.IsZero() || time.Since(p.said) >= time.Minute {
		p.part, p.said = part, time.Now()
		fmt.Fprintln(p.w, p.Name+fmt.Sprintf(format, args...))
	}
}

// Say prints a line of its own; without a format it only leaves the moving line.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		fmt.Fprintln(p.w)
	}
	if p.open = false; format != "" {
		fmt.Fprintln(p.w, p.Name+fmt.Sprintf(format, args...))
	}
}

// End ends the line that is being rewritten.
func (p *Progress) End() { p.Say("") }

// Prompt does work that knows no context, such as reading a data set, and waits for it no longer than ctx lasts. Work
// that was given up ends with the process.
func Prompt[T any](ctx context.Context, work func() (T, error)) (T, error) {
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
