package sweep

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

// Do calls f for 0 to n-1 in parallel, with one goroutine per processor. Every few seconds it prints the progress and
// the estimated remaining time to log. The function cost returns an estimate of the work of each call, in any unit. f
// returns a note about its result, for the log. After an error, Do starts no further calls and returns the first error.
func Do(ctx context.Context, log io.Writer, what string, n int, cost func(i int) float64,
	f func(ctx context.Context, i int) (note string, err error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all float64
	for i := range n {
		all += cost(i)
	}
	start := time.Now()
	said := start
	var mu sync.Mutex
	var done float64
	next, count := 0, 0
	work := func() {
		for {
			mu.Lock()
			i := next
			next++
			mu.Unlock()
			if i >= n || ctx.Err() != nil {
				return
			}
			note, err := f(ctx, i)
			if err != nil {
				cancel(err)
				return
			}
			mu.Lock()
			done += cost(i)
			count++
			if now := time.Now(); now.Sub(said) > 5*time.Second || count == n {
				said = now
				gone := now.Sub(start)
				left := time.Duration(float64(gone) * (all - done) / done)
				fmt.Fprintf(log, "%s: %d of %d, %s gone, about %s left: %s\n", what, count, n, gone.Round(time.Second),
					left.Round(time.Second), note)
			}
			mu.Unlock()
		}
	}
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(work)
	}
	wg.Wait()
	return context.Cause(ctx)
}
