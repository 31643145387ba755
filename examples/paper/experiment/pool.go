package experiment

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

// progress tells how much is done, and how long the rest will take at the speed so far.
type progress struct {
	mu          sync.Mutex
	w           io.Writer
	what        string
	start, last time.Time
	done, all   float64 // cost
	count, jobs int
}

func newProgress(w io.Writer, what string, jobs int, cost float64) *progress {
	now := time.Now()
	return &progress{w: w, what: what, start: now, last: now, all: cost, jobs: jobs}
}

// add counts something as done, and says so now and then.
func (p *progress) add(cost float64, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += cost
	p.count++
	now := time.Now()
	if now.Sub(p.last) < 5*time.Second && p.count < p.jobs {
		return
	}
	p.last = now
	gone := now.Sub(p.start)
	left := time.Duration(float64(gone) * (p.all - p.done) / p.done)
	fmt.Fprintf(p.w, "%s: %d of %d, %.1f %%, %s gone, about %s left: %s\n",
		p.what, p.count, p.jobs, 100*p.done/p.all, gone.Round(time.Second), left.Round(time.Second), note)
}

// parallel calls f for 0 to n-1, on as many goroutines as there are processors, and returns the first error, after which nothing new is begun.
func parallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	next := 0
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n || ctx.Err() != nil {
					return
				}
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// Do does the jobs that the store does not have yet, with the given settings, and adds them.
func (l *Lab) Do(ctx context.Context, jobs []Job, settings *Settings, store *Store, log io.Writer) error {
	done := make(map[Job]bool)
	read := make(map[string]bool)
	for _, j := range jobs {
		if file := name(j.Table, j.Dataset); !read[file] {
			read[file] = true
			results, err := store.Results(j.Table, j.Dataset)
			if err != nil {
				return err
			}
			for _, r := range results {
				done[r.id()] = true
			}
		}
	}
	var todo []Job
	cost := 0.0
	for _, j := range jobs {
		if done[j.id()] {
			continue
		}
		if _, err := settings.For(j); err != nil {
			return err
		}
		todo = append(todo, j)
		cost += j.cost()
	}
	if len(todo) == 0 {
		fmt.Fprintf(log, "runs: all %d are there\n", len(jobs))
		return nil
	}
	show := newProgress(log, "runs", len(todo), cost)
	return parallel(ctx, len(todo), func(ctx context.Context, i int) error {
		j := todo[i]
		setting, err := settings.For(j)
		if err != nil {
			return err
		}
		r, err := l.Run(ctx, j, setting)
		if err != nil {
			return err
		}
		show.add(j.cost(), fmt.Sprintf("%s %s %s %s seed %d: %.2f %%, %.1f s", j.Table, j.Dataset, j.Partition, j.Method, j.Seed, r.Accuracy, r.Seconds))
		return store.Add(r)
	})
}
