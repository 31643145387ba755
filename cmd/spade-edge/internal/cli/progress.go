package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
)

// ProgressLines is the approximate number of progress lines of a run. Tests raise it to see each round.
var ProgressLines = 10

// Progress prints the progress of a run in about ProgressLines lines. It is safe for concurrent use.
type Progress struct {
	mu      sync.Mutex
	w       io.Writer
	Name    string // the node's name and a separator, as several nodes may share a terminal; may be empty
	Method  sdk.Method
	started time.Time

	part int       // the last part printed, of ProgressLines
	said time.Time // time of the last line
}

// NewProgress returns the progress of a run with the rounds of m.
func NewProgress(w io.Writer, m sdk.Method) *Progress {
	return &Progress{w: w, Method: m, started: time.Now()}
}

// Round reports that the node made release k. note says what is known of the model.
func (p *Progress) Round(k int, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, width := p.Method.Last(), max(12, len(p.Method.Phase(p.Method.Learning())))
	p.line(float64(k)/float64(last), "%s %*d of %d  %-*s  %s  %.1f s",
		ReleaseWord(p.Method), len(fmt.Sprint(last)), k, last, width, p.Method.Phase(k), note,
		time.Since(p.started).Seconds())
}

// Runs reports that over of all runs are complete, and the share of all their rounds.
func (p *Progress) Runs(share float64, over, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	spent := time.Since(p.started).Seconds()
	p.line(share, "run %*d of %d  %3.0f %% of all rounds  %.1f s, about %.0f s left", len(fmt.Sprint(all)), over, all,
		100*share, spent, max(0, spent*(1-share)/share))
}

// line prints a line if it is the first of the run or of a new part, or if the last was a minute ago.
func (p *Progress) line(share float64, format string, args ...any) {
	if part := int(share*float64(ProgressLines) + 1e-6); part > p.part || p.said.IsZero() || time.Since(p.said) >= time.Minute {
		p.part, p.said = part, time.Now()
		fmt.Fprintln(p.w, p.Name+fmt.Sprintf(format, args...))
	}
}

// Say prints a separate line.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.w, p.Name+withoutPackages(fmt.Sprintf(format, args...)))
}

// Prompt calls work, which takes no context, and waits for it until ctx ends; work then continues in the background.
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
