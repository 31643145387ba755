package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
)

// ProgressLines is about how many lines a run has. Tests set it, to see each round.
var ProgressLines = 10

// Progress shows how far a run is, in about ten lines. It may be used from several goroutines.
type Progress struct {
	mu      sync.Mutex
	w       io.Writer
	Name    string // of the node, and what sets it off: several may share a terminal; empty for none
	Method  sdk.Method
	started time.Time

	part int       // of progressLines, that was said last
	said time.Time // when that was
}

// NewProgress returns what tells of a run to the rounds given.
func NewProgress(w io.Writer, m sdk.Method) *Progress {
	return &Progress{w: w, Method: m, started: time.Now()}
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

// line prints the line of a share of the run, if it is the first, of another tenth, or the first for a minute.
func (p *Progress) line(share float64, format string, args ...any) {
	if part := int(share*float64(ProgressLines) + 1e-6); part > p.part || p.said.IsZero() || time.Since(p.said) >= time.Minute {
		p.part, p.said = part, time.Now()
		fmt.Fprintln(p.w, p.Name+fmt.Sprintf(format, args...))
	}
}

// Say prints a line of its own.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.w, p.Name+withoutPackages(fmt.Sprintf(format, args...)))
}

// Prompt does work that has no context, such as reading data, and waits for it until ctx ends; the work then goes on unseen.
func Prompt[T any](ctx context.Context, work func() (T, error)) (value T, err error) {
	done := make(chan struct{})
	var result T
	var failed error
	go func() {
		result, failed = work()
		close(done)
	}()
	select {
	case <-done:
		return result, failed
	case <-ctx.Done():
		return value, ctx.Err()
	}
}
