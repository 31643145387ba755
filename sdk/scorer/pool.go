package scorer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
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
	encode       func(dst []byte, id uint64, sample int, x []float32) []byte
	ids          atomic.Uint64 // the newest number of a query

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
	newest   error      // likewise, or why the newest query that failed has no loss
}

// newOracle makes an oracle whose workers are yet to be started.
func newOracle(
	cfg Program, depth int, encode func(dst []byte, id uint64, sample int, x []float32) []byte,
) (*Oracle, error) {
	o := &Oracle{name: cfg.Command[0], depth: depth, encode: encode, tasks: make(chan *task)}
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
	all := make([]query, len(queries))
	var tasks []*task
	for group := range slices.Chunk(all, o.share(len(all))) {
		if either.Err() != nil {
			break
		}
		t := &task{ctx: either, done: make(chan struct{})}
		for i := range group {
			q := &group[i]
			q.Query, queries = queries[0], queries[1:]
			if q.err = o.check(q.Query); q.err == nil {
				o.add(t, q)
			}
		}
		if len(t.left) == 0 {
			continue
		}
		select {
		case o.tasks <- t:
			tasks = append(tasks, t)
		case <-either.Done():
		}
	}
	for _, t := range tasks {
		select {
		case <-t.done:
		case <-either.Done():
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case o.ctx.Err() != nil:
		return errClosed
	}
	failed := 0
	for i, q := range all {
		if losses[i] = q.loss; q.err != nil {
			losses[i] = math.NaN()
			failed++
		}
	}
	if failed < len(all) || failed == 0 {
		return nil
	}
	return all[0].err
}

// check says what is wrong with a question, or nil.
func (o *Oracle) check(q zoest.Query) error {
	if len(q.Point) != o.dim {
		return fmt.Errorf("scorer: %d parameters, want %d", len(q.Point), o.dim)
	}
	if q.Sample < 0 || q.Sample >= o.samples {
		return fmt.Errorf("scorer: sample %d, want 0 to %d", q.Sample, o.samples-1)
	}
	for i, x := range q.Point {
		if math.Float32bits(x)&0x7f800000 == 0x7f800000 {
			return fmt.Errorf("scorer: parameter %d is %v, want a finite number", i, x)
		}
	}
	return nil
}

// add encodes a query of a task. From then on nobody reads its point, which is the caller's.
func (o *Oracle) add(t *task, q *query) {
	q.id, q.start = o.ids.Add(1), len(t.messages)
	t.messages = o.encode(t.messages, q.id, q.Sample, q.Point)
	q.Point, q.end = nil, len(t.messages)
	t.left = append(t.left, q)
}

// share returns how many of n queries a process should get at once, so that all have work.
func (o *Oracle) share(n int) int {
	if w := o.cfg.Workers; w > 1 {
		n = (n + 2*w - 1) / (2 * w)
	}
	return max(1, min(n, o.depth, maxGroup/o.dim))
}

// LastFailure returns why the newest query that failed has no loss, or why the newest process that failed was ended; nil
// if nothing has failed. It speaks of a sample and may quote the program: it is for the device alone.
func (o *Oracle) LastFailure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.newest
}

// Close ends the program, as the function that has opened the oracle says, and waits for that. Calls that wait for an
// answer fail. Closing again does nothing.
func (o *Oracle) Close() error { return o.close() }

// failed notes that a process has failed, for a reason.
func (o *Oracle) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures++
	o.last, o.newest, o.retry = err, err, time.Now().Add(o.pause(o.failures))
}

// answered notes that the program works, even if what it has answered is why there is no loss, err.
func (o *Oracle) answered(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures = 0; err != nil {
		o.newest = err
	}
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
	ctx      context.Context // of the caller; ends with the oracle as well
	messages []byte          // the encoded queries
	left     []*query        // those without an answer
	alone    bool            // they were in a process that failed; to find out which it was, each is asked alone
	done     chan struct{}   // closed when none is left
}

// query is one of a task.
type query struct {
	zoest.Query
	id         uint64 // its number for the program
	start, end int    // where its message stands
	loss       float64
	err        error
}

// settle takes the answer to the i-th query that is left.
func (t *task) settle(i int, loss float64, err error) {
	t.left[i].loss, t.left[i].err = loss, err
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
