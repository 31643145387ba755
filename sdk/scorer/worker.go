package scorer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxDepth = 64       // queries that a process may hold
	chunk    = 64 << 10 // bytes after which queries are sent, whether more are waiting or not
)

// worker keeps one process running. All but its supervising goroutine's own is guarded by the stream's mutex.
type worker struct {
	s      *Stream
	number int
	wake   sync.Cond // there may be something to take, or it is over

	fails    int      // processes that have failed since the last answer of one
	proc     *process // nil before the first
	serving  bool     // the process has said its hello, and nothing has failed
	over     bool     // the process is to take no more
	cause    error    // why; the first reason there was
	slots    []slot   // the queries that it holds
	next     uint64   // the number of its next query, from 1
	progress time.Time
	watch    *time.Timer

	heard, taken atomic.Int64 // bytes that the process has written, and those of them in complete messages
}

// slot is a query that a process holds.
type slot struct {
	id  uint64
	job *job      // nil if nobody waits for it any more
	due time.Time // when even a slow process should have come to it
}

// supervise runs process after process until the stream is closed.
func (w *worker) supervise() {
	for {
		pause, more := w.bury(w.live())
		if !more {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-w.s.closing:
			timer.Stop()
			return
		}
	}
}

// live starts a process and sees it to its end, whose reason it returns; all that the process was made of is gone then.
func (w *worker) live() error {
	s := w.s
	p, err := s.spawn.start(s.cfg.Program, s.cfg.Command[1:])
	if err != nil {
		return fmt.Errorf("scorer: worker %d (%s): %w", w.number, s.name, err)
	}
	s.mu.Lock()
	w.proc, w.over, w.cause = p, s.closed, nil
	w.slots, w.next, w.progress = w.slots[:0], 1, time.Now()
	w.heard.Store(0)
	w.taken.Store(0)
	w.watch = time.AfterFunc(s.cfg.Start, w.check)
	if s.closed {
		p.kill()
	}
	s.mu.Unlock()
	var writer sync.WaitGroup
	writer.Go(func() { w.feed(p) })
	w.fail(w.read(p))
	close(p.read)
	p.kill()
	p.left()
	p.sweep()
	w.watch.Stop()
	writer.Wait()
	return fmt.Errorf("scorer: worker %d (%s, pid %d): %w%s", w.number, s.name, p.cmd.Process.Pid, w.cause, p.lastWords())
}

// fail ends the process, for a reason. Only the first counts.
func (w *worker) fail(err error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.failLocked(err)
}

func (w *worker) failLocked(err error) {
	if w.cause == nil {
		w.cause = err
	}
	if w.serving {
		w.serving = false
		w.s.serving--
	}
	w.over = true
	w.wake.Signal()
	if !w.s.closed { // then it has time to end by itself
		w.proc.kill()
	}
}

// bury draws the consequences of the end of a process, and returns how long to wait before the next one, if there is to
// be one.
func (w *worker) bury(err error) (pause time.Duration, more bool) {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		w.slots = w.slots[:0]
		return 0, false
	}
	w.fails++
	s.failures++
	s.last = err
	again := make([]*job, 0, len(w.slots))
	for _, held := range w.slots {
		switch j := held.job; {
		case j == nil:
		case len(w.slots) == 1:
			j.finish(0, fmt.Errorf("%w (at work on sample %d)", err, j.query.Sample))
		default:
			j.alone = true
			again = append(again, j)
		}
	}
	w.slots = w.slots[:0]
	s.queue = slices.Insert(s.queue, 0, again...)
	select {
	case s.opened <- err: // the first word of this worker, or there is no room and nobody listens
	default:
	}
	s.cfg.warn(&s.warned, err, s.failures)
	s.giveUp()
	s.wakeAll()
	return s.cfg.pause(w.fails), true
}

// canTake reports whether the process should be given the first job of the queue.
func (w *worker) canTake() bool {
	if !w.serving || w.over || len(w.s.queue) == 0 {
		return false
	}
	if len(w.slots) > 0 && w.slots[0].job != nil && w.slots[0].job.alone {
		return false
	}
	return len(w.slots) < w.s.depth(w.s.queue[0])
}

// feed gives the process queries until it is over.
func (w *worker) feed(p *process) {
	s := w.s
	var buf []byte
	for {
		buf = buf[:0]
		s.mu.Lock()
		for !w.over && !w.canTake() {
			w.wake.Wait()
		}
		for !w.over && len(buf) < chunk && w.canTake() {
			j := s.queue[0]
			s.queue = slices.Delete(s.queue, 0, 1)
			b, id, q := j.b, w.hold(j), j.query
			b.encoding++
			s.mu.Unlock()
			buf = s.codec.appendQuery(buf, id, q.Sample, q.Point)
			s.mu.Lock()
			b.encoding--
			b.settled()
		}
		over := w.over
		s.mu.Unlock()
		if over {
			return
		}
		if _, err := p.in.Write(buf); err != nil {
			w.fail(p.lost("has closed its standard input"))
			return
		}
	}
}

// hold notes that the process has a job, and returns the job's number there.
func (w *worker) hold(j *job) uint64 {
	now := time.Now()
	if len(w.slots) == 0 {
		w.progress = now
	}
	id := w.next
	w.next++
	w.slots = append(w.slots, slot{id: id, job: j, due: now.Add(time.Duration(len(w.slots)+1) * w.s.cfg.Timeout)})
	return id
}

// counter counts the bytes that a process writes.
type counter struct {
	r io.Reader
	n *atomic.Int64
}

func (c counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// read reads what the process writes, and returns why it reads no more.
func (w *worker) read(p *process) error {
	r := bufio.NewReaderSize(counter{p.out, &w.heard}, maxMessage)
	take := func() ([]byte, error) {
		msg, size, err := w.s.codec.next(r)
		w.taken.Add(int64(size))
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed):
			err = p.lost("has closed its standard output")
		case errors.Is(err, io.ErrUnexpectedEOF):
			err = fmt.Errorf("%w, after %d bytes of an unfinished message", p.lost("has closed its standard output"),
				w.heard.Load()-w.taken.Load())
		}
		return msg, err
	}
	msg, err := take()
	if err != nil {
		return err
	}
	h, err := w.s.codec.hello(msg)
	if err == nil {
		err = h.check()
	}
	if err != nil {
		return fmt.Errorf("begins with %w", err)
	}
	if err := w.greet(h); err != nil {
		return err
	}
	for {
		msg, err := take()
		if err != nil {
			return err
		}
		a, err := w.s.codec.answer(msg)
		if err != nil {
			return fmt.Errorf("says %w", err)
		}
		if err := w.settle(a); err != nil {
			return err
		}
	}
}

// greet takes a hello, which must be that of all.
func (w *worker) greet(h hello) error {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == (hello{}) {
		s.first = h
	}
	if h != s.first {
		return fmt.Errorf("says that it has dim %d and samples %d; the first process had dim %d and samples %d", h.dim,
			h.samples, s.first.dim, s.first.samples)
	}
	if w.over {
		return nil
	}
	w.serving, w.progress = true, time.Now()
	s.serving++
	w.watch.Reset(s.cfg.Timeout)
	select {
	case s.opened <- nil:
	default:
	}
	w.wake.Signal()
	return nil
}

// settle gives an answer to whoever waits for it.
func (w *worker) settle(a answer) error {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(w.slots, func(held slot) bool { return held.id == a.id })
	if i < 0 {
		if a.id == 0 || a.id >= w.next {
			return fmt.Errorf("answered query %d, which was never asked", a.id)
		}
		return fmt.Errorf("answered query %d twice", a.id)
	}
	j := w.slots[i].job
	w.slots = slices.Delete(w.slots, i, i+1)
	w.progress = time.Now()
	w.fails, s.failures = 0, 0
	if j != nil {
		if a.why != nil {
			a.why = fmt.Errorf("scorer: worker %d (%s, pid %d): query %d, sample %d, %w", w.number, s.name,
				w.proc.cmd.Process.Pid, a.id, j.query.Sample, a.why)
		}
		j.finish(a.loss, a.why)
	}
	if w.canTake() {
		w.wake.Signal()
	}
	return nil
}

// check ends a process that has been waited for long enough.
func (w *worker) check() {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.over {
		return
	}
	now, limit := time.Now(), w.s.cfg.Timeout
	due := w.progress.Add(limit)
	late := fmt.Sprintf("has not answered within %v", limit)
	switch {
	case !w.serving:
		limit = w.s.cfg.Start
		due = w.progress.Add(limit)
		late = fmt.Sprintf("has not said its hello within %v", limit)
	case len(w.slots) == 0:
		due = now.Add(limit)
	default:
		late += fmt.Sprintf(", and holds query %d", w.slots[0].id)
		if w.slots[0].due.Before(due) { // it answers others
			due = w.slots[0].due
		}
	}
	if now.Before(due) {
		w.watch.Reset(due.Sub(now))
		return
	}
	if n := w.heard.Load() - w.taken.Load(); n > 0 {
		late += fmt.Sprintf("; %d bytes of an unfinished message have come", n)
	}
	w.failLocked(errors.New(late))
}
