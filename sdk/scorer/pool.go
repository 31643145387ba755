package scorer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/zoest"
)

const (
	maxDepth = 64        // queries that a process may hold
	maxGroup = 256 << 10 // parameters that these have together, but for a single query
)

// errClosed fails what is asked of an oracle that is closed.
var errClosed = errors.New("scorer: the oracle is closed")

// Oracle is an oracle whose losses come from a program. Its methods may be called from any goroutine.
type Oracle struct {
	cfg          Program // with defaults
	name         string  // of the program, as it was given
	spawn        *spawner
	dim, samples int
	depth        int // queries that a process gets at once, at most

	tasks   chan *task
	ctx     context.Context // ends with Close
	end     context.CancelFunc
	workers sync.WaitGroup
	dir     string // removed by Close; empty for none
	close   func() error

	mu       sync.Mutex // guards what follows
	serving  int        // processes that have said hello
	failures int        // processes that have failed since the last answer
	last     error      // of these
	retry    time.Time  // when the program is tried again if it is broken
	warned   bool
	newest   error // why the newest query that failed has no loss
}

// newOracle makes an oracle whose workers are yet to be started.
func newOracle(cfg Program, depth int) (*Oracle, error) {
	o := &Oracle{name: cfg.Command[0], depth: depth, tasks: make(chan *task)}
	var err error
	if o.cfg, err = cfg.ready(); err != nil {
		return nil, err
	}
	o.spawn = newSpawner()
	o.ctx, o.end = context.WithCancel(context.Background())
	o.close = sync.OnceValue(func() error {
		o.end()
		o.workers.Wait()
		o.spawn.stop()
		return os.RemoveAll(o.dir) // of no name it removes nothing
	})
	return o, nil
}

// Dim returns the number of parameters, d.
func (o *Oracle) Dim() int { return o.dim }

// Samples returns the number of samples, m.
func (o *Oracle) Samples() int { return o.samples }

// Loss asks for one loss; see [zoest.Oracle].
func (o *Oracle) Loss(ctx context.Context, x []float32, sample int) (float64, error) {
	var loss [1]float64
	if err := o.Losses(ctx, []zoest.Query{{Point: x, Sample: sample}}, loss[:]); err != nil {
		return 0, err
	}
	return loss[0], nil
}

// Losses asks for several losses; see [zoest.BatchOracle]. A loss that cannot be obtained is NaN; if all of them are,
// the error is that of the first.
func (o *Oracle) Losses(ctx context.Context, queries []zoest.Query, losses []float64) error {
	if len(queries) != len(losses) {
		return fmt.Errorf("scorer: %d queries and room for %d losses", len(queries), len(losses))
	}
	either, cancel := context.WithCancel(ctx) // ends with the oracle as well
	defer cancel()
	defer context.AfterFunc(o.ctx, cancel)()
	var tasks []*task
	for group := range slices.Chunk(queries, o.share(len(queries))) {
		if either.Err() != nil {
			break
		}
		t := newTask(either, group)
		select {
		case o.tasks <- t:
			tasks = append(tasks, t)
		case <-either.Done():
		}
	}
	var first error
	failed, at := 0, 0
	for _, t := range tasks {
		if !t.wait() {
			continue
		}
		for i, err := range t.errs {
			if losses[at] = t.losses[i]; err != nil {
				o.note(err)
				losses[at] = math.NaN()
				failed++
				if at == 0 {
					first = err
				}
			}
			at++
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case o.ctx.Err() != nil:
		return errClosed
	}
	if failed < len(losses) {
		return nil
	}
	return first
}

// share returns how many of n queries a process should get at once, so that all have work.
func (o *Oracle) share(n int) int {
	if w := o.cfg.Workers; w > 1 {
		n = (n + 2*w - 1) / (2 * w)
	}
	return max(1, min(n, o.depth, maxGroup/o.dim))
}

// LastFailure returns why the newest query that failed has no loss, and nil if none has failed. It speaks of a sample
// and may quote the program: it is for the device alone.
func (o *Oracle) LastFailure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.newest
}

func (o *Oracle) note(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.newest = err
}

// Close ends the program, as the function that has opened the oracle says, and waits for that. Calls that wait for an
// answer fail. Closing again does nothing.
func (o *Oracle) Close() error { return o.close() }

// failed notes that a process has failed, for a reason.
func (o *Oracle) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures++
	o.last, o.retry = err, time.Now().Add(o.pause(o.failures))
	o.warn(err)
}

// answered notes that the program works, even if what it has answered is an error.
func (o *Oracle) answered(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures = 0; err != nil {
		o.warn(err)
	}
}

// warn logs a failure. o.mu is held.
func (o *Oracle) warn(err error) {
	if !o.warned {
		o.warned = true
		o.cfg.Logger.Warn("a scoring program has failed; it is started again (details at level DEBUG, which must not leave " +
			"this device)")
	}
	o.cfg.Logger.Debug("a scoring program has failed", "err", err, "in_a_row", o.failures)
}

// patience is how many failures in a row make a program count as broken: more than one query that kills it can cause.
const patience = 8

// broken returns the error of a query while the program has failed too often to be waited for, until the time has come
// to try it again; nil otherwise.
func (o *Oracle) broken() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures < patience || o.serving > 0 || time.Now().After(o.retry) {
		return nil
	}
	return fmt.Errorf("scorer: broken, %d failures and no answer since; the last: %w", o.failures, o.last)
}

// pause returns how long to wait after so many failures in a row: not after the first, then ever longer, up to Backoff.
func (o *Oracle) pause(failures int) time.Duration {
	if failures < 2 {
		return 0
	}
	return min(o.cfg.Backoff, 10*time.Millisecond<<min(failures-2, 20))
}

// task is a group of queries that one process gets at once. Losses makes it, and from then on it belongs to a worker.
type task struct {
	ctx     context.Context // of the caller; ends with the oracle as well
	queries []zoest.Query   // the caller's; nobody reads them once encoded is closed
	encoded chan struct{}
	left    []query // those without an answer
	alone   bool    // they were in a process that failed; to find out which it was, each is asked alone

	done   chan struct{} // closed when what follows is complete
	losses []float64
	errs   []error
}

// query is one of a task.
type query struct {
	at, sample int    // its place in the task, and the sample
	id         uint64 // its number in the process
	start, end int    // where its message stands
}

func newTask(ctx context.Context, queries []zoest.Query) *task {
	t := &task{
		ctx: ctx, encoded: make(chan struct{}), done: make(chan struct{}), queries: queries,
		left: make([]query, len(queries)), losses: make([]float64, len(queries)), errs: make([]error, len(queries)),
	}
	for i, q := range queries {
		t.left[i] = query{at: i, sample: q.Sample}
	}
	return t
}

// wait waits until the task is done, which it reports, or its context has ended and nobody reads its queries.
func (t *task) wait() bool {
	select {
	case <-t.done:
		return true
	case <-t.ctx.Done():
	}
	select {
	case <-t.done:
	case <-t.encoded:
	}
	return false
}

// check fails the queries that cannot be asked.
func (t *task) check(dim, samples int) {
	t.left = slices.DeleteFunc(t.left, func(q query) bool {
		t.errs[q.at] = checkQuery(t.queries[q.at], dim, samples)
		return t.errs[q.at] != nil
	})
	if len(t.left) == 0 {
		close(t.done)
	}
}

// settle takes the answer to the i-th query that is left.
func (t *task) settle(i int, loss float64, err error) {
	t.losses[t.left[i].at], t.errs[t.left[i].at] = loss, err
	t.left = slices.Delete(t.left, i, i+1)
	if len(t.left) == 0 {
		close(t.done)
	}
}

// fail fails every query that is left.
func (t *task) fail(err error) {
	for len(t.left) > 0 {
		t.settle(0, 0, err)
	}
}
