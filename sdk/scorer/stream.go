package scorer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/zoest"
)

// errClosed fails what is asked of an oracle that is closed.
var errClosed = errors.New("scorer: the oracle is closed")

// Stream is an oracle whose losses come from a program that goes on running. Its methods may be called from any
// goroutine.
type Stream struct {
	failure
	cfg        StreamConfig // with defaults
	name       string       // of the program, as it was given
	codec      codec
	spawn      *spawner
	workers    []*worker
	closing    chan struct{} // closed by Close
	goroutines sync.WaitGroup
	opened     chan error // one from each worker: how its first process has begun

	mu       sync.Mutex // guards what follows, and the workers
	first    hello      // what the first process said, and all others have to; it stays once the stream is open
	queue    []*job     // what nobody works on, in order
	failures int        // of processes, since the last answer
	last     error      // the last of these
	serving  int        // processes at work
	warned   bool
	closed   bool
	free     []*batch
}

// OpenStream starts the program's processes and waits for their hellos; ctx bounds that and nothing else. The error
// joins what went wrong, and then nothing is left running.
func OpenStream(ctx context.Context, cfg StreamConfig) (*Stream, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	name := cfg.Command[0]
	var err error
	if cfg.Program, err = cfg.ready(); err != nil {
		return nil, err
	}
	cfg.Start = cmp.Or(cfg.Start, 30*time.Second)
	s := &Stream{
		cfg: cfg, name: name, codec: codecs[cmp.Or(cfg.Format, JSON)], spawn: newSpawner(),
		closing: make(chan struct{}), opened: make(chan error, cfg.Workers),
	}
	for i := range cfg.Workers {
		w := &worker{s: s, number: i + 1}
		w.wake.L = &s.mu
		s.workers = append(s.workers, w)
	}
	for _, w := range s.workers { // each may wake the others
		s.goroutines.Go(w.supervise)
	}
	for range s.workers {
		select {
		case err = <-s.opened:
		case <-ctx.Done():
			err = fmt.Errorf("scorer: %w before every worker has said its hello", context.Cause(ctx))
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Dim returns the number of parameters, d, as the program says it.
func (s *Stream) Dim() int { return int(s.first.dim) }

// Samples returns the number of samples, m, as the program says it.
func (s *Stream) Samples() int { return int(s.first.samples) }

// Loss asks for one loss; see [zoest.Oracle].
func (s *Stream) Loss(ctx context.Context, x []float32, sample int) (float64, error) {
	b, err := s.ask(ctx, []zoest.Query{{Point: x, Sample: sample}})
	if err != nil {
		return 0, err
	}
	defer s.recycle(b)
	s.note(b.jobs[0].err)
	return b.jobs[0].loss, b.jobs[0].err
}

// Losses asks for several losses; see [zoest.BatchOracle]. A loss that cannot be had is NaN; if that is none of them,
// the error is that of the first.
func (s *Stream) Losses(ctx context.Context, queries []zoest.Query, losses []float64) error {
	if len(queries) != len(losses) {
		return fmt.Errorf("scorer: %d queries and room for %d losses", len(queries), len(losses))
	}
	b, err := s.ask(ctx, queries)
	if err != nil {
		return err
	}
	defer s.recycle(b)
	for i := range b.jobs {
		s.note(b.jobs[i].err)
	}
	return b.losses(losses)
}

// Close ends the processes: it closes their standard input, after a second it sends them SIGTERM, where there is such a
// thing, and after another it kills them. Calls that wait for an answer fail. Closing again does nothing.
func (s *Stream) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.goroutines.Wait()
		return nil
	}
	s.closed = true
	close(s.closing)
	s.failAll(errClosed)
	for _, w := range s.workers {
		w.over = true
		w.wake.Signal()
		if p := w.proc; p != nil {
			s.goroutines.Go(p.end)
		}
	}
	s.mu.Unlock()
	s.goroutines.Wait()
	s.spawn.stop()
	return nil
}

// batch is what one call asks for.
type batch struct {
	jobs     []job
	left     int           // jobs without an answer
	encoding int           // workers that read a point at this moment
	gone     bool          // nobody waits for it any more
	done     chan struct{} // gets a value when encoding is 0, and left is or gone is set
}

// job is one query of a batch.
type job struct {
	b     *batch
	query zoest.Query
	loss  float64
	err   error
	alone bool // it was in a process that failed, with others; to find out which it was, each is asked alone
}

func (j *job) finish(loss float64, err error) {
	j.loss, j.err = loss, err
	j.b.left--
	j.b.settled()
}

// settled lets the caller go on if nobody has business with its queries any more.
func (b *batch) settled() {
	if b.encoding == 0 && (b.left == 0 || b.gone) {
		b.done <- struct{}{}
	}
}

// losses collects the answers.
func (b *batch) losses(losses []float64) error {
	failed := 0
	for i := range b.jobs {
		if losses[i] = b.jobs[i].loss; b.jobs[i].err != nil {
			losses[i] = math.NaN()
			failed++
		}
	}
	if failed == 0 || failed < len(losses) {
		return nil
	}
	return b.jobs[0].err
}

// ask puts queries to the workers and waits until each has an answer or an error.
func (s *Stream) ask(ctx context.Context, queries []zoest.Query) (*batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := s.submit(queries)
	if len(queries) == 0 {
		return b, nil
	}
	select {
	case <-b.done:
		return b, nil
	case <-ctx.Done():
		s.abandon(b)
		s.recycle(b)
		return nil, ctx.Err()
	}
}

// submit queues queries.
func (s *Stream) submit(queries []zoest.Query) *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b *batch
	if last := len(s.free) - 1; last >= 0 {
		b, s.free = s.free[last], s.free[:last]
	} else {
		b = &batch{done: make(chan struct{}, 1)}
	}
	b.left, b.gone = len(queries), false
	b.jobs = slices.Grow(b.jobs[:0], len(queries))[:len(queries)]
	for i, q := range queries {
		j := &b.jobs[i]
		*j = job{b: b, query: q}
		if err := checkQuery(q, int(s.first.dim), int(s.first.samples)); err != nil {
			j.finish(0, err)
			continue
		}
		s.queue = append(s.queue, j)
	}
	if s.closed {
		s.failAll(errClosed)
	}
	s.giveUp()
	s.wakeAll()
	return b
}

// abandon takes back what has not been answered. When it returns nobody reads the points any more.
func (s *Stream) abandon(b *batch) {
	s.mu.Lock()
	b.gone = true
	s.queue = slices.DeleteFunc(s.queue, func(j *job) bool { return j.b == b })
	for _, w := range s.workers {
		for i := range w.slots {
			if j := w.slots[i].job; j != nil && j.b == b {
				w.slots[i].job = nil
			}
		}
	}
	select {
	case <-b.done: // the last answer came together with the end of ctx
	default:
	}
	reading := b.encoding > 0
	s.mu.Unlock()
	if reading {
		<-b.done
	}
}

func (s *Stream) recycle(b *batch) {
	for i := range b.jobs {
		b.jobs[i].query.Point = nil // the caller's
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, b)
}

// failQueue fails everything that is queued.
func (s *Stream) failQueue(err error) {
	for _, j := range s.queue {
		j.finish(0, err)
	}
	s.queue = s.queue[:0]
}

// failAll fails everything that is queued or at work.
func (s *Stream) failAll(err error) {
	s.failQueue(err)
	for _, w := range s.workers {
		for i := range w.slots {
			if j := w.slots[i].job; j != nil {
				w.slots[i].job = nil
				j.finish(0, err)
			}
		}
	}
}

// broken reports whether the program has failed too often to be waited for.
func (s *Stream) broken() bool { return s.failures >= patience }

// giveUp fails what is queued if the program is broken and no process is there to be tried.
func (s *Stream) giveUp() {
	if s.broken() && s.serving == 0 {
		s.failQueue(fmt.Errorf("scorer: broken, %d failures and no answer since; the last: %w", s.failures, s.last))
	}
}

func (s *Stream) wakeAll() {
	for _, w := range s.workers {
		if w.canTake() {
			w.wake.Signal()
		}
	}
}

// depth returns how many queries a process may hold so that all have work and none has much more than its share.
func (s *Stream) depth(j *job) int {
	if s.broken() || j.alone {
		return 1
	}
	share := len(j.b.jobs)
	if n := len(s.workers); n > 1 {
		share = (share + 2*n - 1) / (2 * n)
	}
	return min(max(share, 2), maxDepth)
}
