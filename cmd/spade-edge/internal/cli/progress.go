package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// progressLines is the approximate number of progress lines per run.
const progressLines = 10

// Progress prints the progress of a run in about progressLines lines. It is safe for concurrent use.
type Progress struct {
	mu      sync.Mutex
	w       io.Writer
	Name    string // the node's name and a separator, because several nodes may share a terminal; may be empty
	Method  sdk.Method
	started time.Time

	part int       // part of the run that the last line showed, in 1/progressLines of all rounds
	said time.Time // time of the last line; zero before the first, and so more than a minute ago
}

// NewProgress returns a Progress that writes to w, for a run of the method m.
func NewProgress(w io.Writer, m sdk.Method) *Progress {
	return &Progress{w: w, Method: m, started: time.Now()}
}

// Round reports that the node made its k-th release, counted from 1. It calls note, which returns a remark about the
// model, only if it prints a line.
func (p *Progress) Round(k int, note func() string) {
	last := p.Method.Last()
	p.line(float64(k)/float64(last), func() string {
		width := max(12, len(monitor.PhaseOf(p.Method, p.Method.Learning())))
		return fmt.Sprintf("%s %*d of %d  %-*s  %s  %.1f s", ReleaseWord(p.Method), len(fmt.Sprint(last)), k, last, width,
			monitor.PhaseOf(p.Method, k), note(), time.Since(p.started).Seconds())
	})
}

// Runs reports the progress of several runs: over is the number of completed runs, all is the total number of runs, and
// share is the completed fraction of all rounds, in (0, 1].
func (p *Progress) Runs(share float64, over, all int) {
	spent := time.Since(p.started).Seconds()
	p.line(share, func() string {
		return fmt.Sprintf("run %*d of %d  %3.0f %% of all rounds  %.1f s, about %.0f s left", len(fmt.Sprint(all)), over, all,
			100*share, spent, max(0, spent*(1-share)/share))
	})
}

// line prints the first line of a run. After that, it prints a line only if share has reached the next multiple of
// 1/progressLines, or if the last line is at least a minute old.
func (p *Progress) line(share float64, text func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if part := int(share*progressLines + 1e-6); part > p.part || time.Since(p.said) >= time.Minute {
		p.part, p.said = part, time.Now()
		fmt.Fprintln(p.w, p.Name+text())
	}
}

// Say immediately prints a line that is not about progress.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.w, p.Name+withoutPackages(fmt.Sprintf(format, args...)))
}

// Prompt calls the function work and returns its result. If ctx ends first, Prompt returns the context's error while
// the function continues in the background.
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
