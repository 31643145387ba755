package scorer

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spade-dfl/spade-edge/zoest"
)

const (
	maxDepth = 64        // maximum number of queries that a process has at once
	maxGroup = 256 << 10 // maximum number of parameters in all queries of a process, unless a single query has more
)

// promptly ends the text of each error about a program that has said nothing.
const promptly = `a program ends each line with "\n", flushes its output (in Python: flush=True) and answers before its input ends`

var errClosed = errors.New("scorer: the oracle is closed")

// Oracle is an oracle whose losses come from a program. It is safe for concurrent use.
type Oracle struct {
	cfg    StreamConfig // the configuration with defaults filled in
	name   string       // name of the program, as configured
	codec  *codec
	mark   string        // prefix of the environment variable that marks the oracle's processes
	ids    atomic.Uint64 // id of the latest query
	opened chan error    // the result of each worker's first start

	tasks   chan *task
	ctx     context.Context // canceled by Close
	end     context.CancelFunc
	workers sync.WaitGroup
	close   func()

	mu       sync.Mutex // guards the fields below
	first    hello      // hello of the first process; the hello of every other process must equal it
	serving  int        // number of running processes that have sent their hello
	failures int        // number of processes that failed since the last answer
	last     error      // error of the latest of these failed processes
	retry    time.Time  // time to try a broken program again
	restarts int        // what Restarts returns
	restart  error
}

func newOracle(cfg StreamConfig) (_ *Oracle, err error) {
	o := &Oracle{name: cfg.Command[0], codec: codecs[cmp.Or(cfg.Format, JSON)], tasks: make(chan *task)}
	if cfg.Program, err = cfg.ready(); err != nil {
		return nil, err
	}
	cfg.Start = cmp.Or(cfg.Start, 30*time.Second)
	o.cfg, o.opened = cfg, make(chan error, cfg.Workers)
	o.mark = markName + "=" + rand.Text() + "."
	o.ctx, o.end = context.WithCancel(context.Background())
	o.close = sync.OnceFunc(func() {
		o.end()
		o.workers.Wait()
		sweep(o.mark)
	})
	return o, nil
}

// Dim returns the number of parameters of a query.
func (o *Oracle) Dim() int { return int(o.first.Dim) }

// Task returns the JSON object that says what the program computes losses of, or "" if its hello has none.
func (o *Oracle) Task() string { return string(o.first.Task) }

// Digest returns what the program's hello says of its data; see [zoest.Digester]. The hellos of all processes agree.
func (o *Oracle) Digest() string { return o.first.Data }

// Samples returns the number of samples, m.
func (o *Oracle) Samples() int { return int(o.first.Samples) }

// Loss returns the loss of one query; see [zoest.Oracle].
func (o *Oracle) Loss(ctx context.Context, x []float32, sample int) (float64, error) {
	var loss [1]float64
	if err := o.Losses(ctx, []zoest.Query{{Point: x, Sample: sample}}, loss[:]); err != nil {
		return 0, err
	}
	return loss[0], nil
}

// Losses stores the losses of several queries in losses; see [zoest.BatchOracle]. A loss that cannot be obtained is
// NaN. If every loss is NaN, Losses fails with the error of the first query.
func (o *Oracle) Losses(ctx context.Context, queries []zoest.Query, losses []float64) error {
	if len(queries) != len(losses) {
		return fmt.Errorf("scorer: found %d queries and room for %d losses, want equal numbers", len(queries), len(losses))
	}
	either, cancel := context.WithCancel(ctx) // ends with the caller's context or with Close
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
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("scorer: %s has not answered: %w; %s", o.name, ctx.Err(), promptly)
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

func (o *Oracle) check(q zoest.Query) error {
	if len(q.Point) != o.Dim() {
		return fmt.Errorf("scorer: the query point has %d parameters, want %d", len(q.Point), o.Dim())
	}
	if q.Sample < 0 || q.Sample >= o.Samples() {
		return fmt.Errorf("scorer: sample is %d, want 0..%d", q.Sample, o.Samples()-1)
	}
	for i, x := range q.Point {
		if math.Float32bits(x)&0x7f800000 == 0x7f800000 {
			return fmt.Errorf("scorer: parameter %d is %v, want a finite number", i, x)
		}
	}
	return nil
}

// add appends an encoded query to a task. After add returns, nothing reads the query's point, which belongs to the
// caller.
func (o *Oracle) add(t *task, q *query) {
	q.id, q.start = o.ids.Add(1), len(t.messages)
	t.messages = o.codec.appendQuery(t.messages, q.id, q.Sample, q.Point)
	q.Point, q.end = nil, len(t.messages)
	t.left = append(t.left, q)
}

// share returns how many of n queries one process gets at once: few enough that every process has work.
func (o *Oracle) share(n int) int {
	if w := o.cfg.Workers; w > 1 {
		n = (n + 2*w - 1) / (2 * w)
	}
	return max(1, min(n, maxDepth, maxGroup/o.Dim()))
}

// Restarts returns how often a process has been started again, and why the last one before that ended; nil if none has.
// The error may name a sample and quote the program's output, so it must stay on the device.
func (o *Oracle) Restarts() (n int, last error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.restarts, o.restart
}

// Close stops the program's processes as described at [OpenStream], and returns when they have ended. Pending calls of
// other methods fail. Further calls of Close do nothing.
func (o *Oracle) Close() error {
	o.close()
	return nil
}

// ended records why a process has ended. failed is whether the end counts as a failure of the program.
func (o *Oracle) ended(err error, failed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.restarts++
	o.restart = err
	if failed {
		o.failures++
		o.last, o.retry = err, time.Now().Add(o.pause(o.failures))
	} else {
		o.failures = 0
	}
}

// answered records that the program has answered a query and is therefore no longer considered broken.
func (o *Oracle) answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures = 0
}

// patience is the number of consecutive failures after which a program is considered broken. It is larger than the
// number of failures that a single query can cause by killing the program.
const patience = 8

// broken returns the error for new queries while the program is considered broken, and nil if it is not or if it is
// time to retry.
func (o *Oracle) broken() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures < patience || o.serving > 0 || time.Now().After(o.retry) {
		return nil
	}
	return fmt.Errorf("scorer: the program is broken: %d processes have failed since the last answer; the last "+
		"error: %w", o.failures, o.last)
}

// pause returns the length of the pause after the given number of failures in a row: none after the first failure, then
// 10 ms, doubling with each further failure up to Backoff.
func (o *Oracle) pause(failures int) time.Duration {
	if failures < 2 {
		return 0
	}
	return min(o.cfg.Backoff, 10*time.Millisecond<<min(failures-2, 20))
}

// task is a group of queries for one process. Losses creates it; then a worker owns it.
type task struct {
	ctx      context.Context // ends with the caller's context or with Close
	messages []byte          // the encoded queries
	left     []*query        // the queries without an answer
	alone    bool            // a process failed: to find the query that made it fail, queries are sent one at a time
	done     chan struct{}   // closed when left is empty
}

type query struct {
	zoest.Query
	id         uint64 // id of the query in the encoded message
	start, end int    // bounds of the encoded query in task.messages
	loss       float64
	err        error
}

func (t *task) settle(i int, loss float64, err error) {
	t.left[i].loss, t.left[i].err = loss, err
	t.left = slices.Delete(t.left, i, i+1)
	if len(t.left) == 0 {
		close(t.done)
	}
}

func (t *task) fail(err error) {
	for len(t.left) > 0 {
		t.settle(0, 0, err)
	}
}
