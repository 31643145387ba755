package scorer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// OpenStream starts the program's processes and waits for their hellos; ctx only bounds that wait. After an error no
// process is left running. [Oracle.Close] closes the processes' standard input, sends them SIGTERM after one second,
// and kills them after another second.
func OpenStream(ctx context.Context, cfg StreamConfig) (*Oracle, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	o, err := newOracle(cfg)
	if err != nil {
		return nil, err
	}
	for i := range o.cfg.Workers {
		o.workers.Go((&worker{Oracle: o, number: i + 1}).work)
	}
	for range o.cfg.Workers {
		select {
		case err = <-o.opened:
		case <-ctx.Done():
			err = fmt.Errorf("scorer: not every worker has sent its hello: %w; %s", context.Cause(ctx), promptly)
		}
		if err != nil {
			return nil, errors.Join(err, o.Close())
		}
	}
	return o, nil
}

// worker keeps one process running. Only one goroutine uses a worker.
type worker struct {
	*Oracle
	number int
	fails  int   // number of processes that failed since the last answer
	task   *task // current task, or nil
	served bool  // the process that failed last had sent its hello
	asked  int   // number of the task's open queries, from the first, that the process has
	told   bool  // OpenStream has the result of the first start
}

// tell passes the result of the worker's first start to OpenStream.
func (w *worker) tell(err error) {
	if !w.told {
		w.told = true
		w.opened <- err // does not block: there is room for one result of each worker
	}
}

type message struct {
	hello  hello
	answer answer
	err    error // why no further message will come
}

// work runs one process after another until the oracle is closed.
func (w *worker) work() {
	for {
		err := w.live()
		if w.ctx.Err() != nil {
			break
		}
		w.tell(err)
		failed := !w.cfg.Apart || !w.served
		if failed {
			w.fails++
		}
		w.ended(err, failed)
		w.bury(err)
		w.rest()
	}
	if w.task != nil {
		w.task.fail(errClosed)
	}
}

// bury decides which open queries of a failed process fail with err. The rest are sent again, one at a time.
func (w *worker) bury(err error) {
	if w.task == nil {
		return
	}
	if w.asked == 1 {
		w.task.settle(0, 0, fmt.Errorf("%w (while computing sample %d)", err, w.task.left[0].Sample))
	}
	w.task.alone = true
	switch broken := w.broken(); {
	case broken != nil:
		w.task.fail(broken)
	case w.fails >= patience || w.task.ctx.Err() != nil: // the program works, but not here, or no caller waits
		w.task.fail(err)
	}
	if len(w.task.left) == 0 {
		w.task = nil
	}
}

// rest waits out the pause before the next process. Meanwhile, if the program is considered broken and the worker has
// no task, rest makes new tasks fail.
func (w *worker) rest() {
	over := time.After(w.pause(w.fails))
	for {
		tasks := w.tasks
		if w.task != nil || w.broken() == nil {
			tasks = nil
		}
		select {
		case <-over:
			return
		case <-w.ctx.Done():
			return
		case t := <-tasks:
			if err := w.broken(); err != nil {
				t.fail(err)
				continue
			}
			w.task = t
			return
		}
	}
}

// live runs a process until it ends, and returns the reason why it ended. When live returns, the process is gone, and so are
// its descendants unless the oracle is being closed.
func (w *worker) live() error {
	w.asked, w.served = 0, false
	p, err := start(w.cfg.Program, w.mark+strconv.Itoa(w.number))
	if err != nil {
		return fmt.Errorf("scorer: worker %d (%s): %w", w.number, w.name, err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	stop := context.AfterFunc(w.ctx, p.end) // when the oracle is closed, asks the process to end before it is killed
	heard := make(chan message, maxDepth)
	var writing sync.WaitGroup
	go p.listen(ctx, w.codec, heard)
	err = w.serve(p, heard, &writing)
	cancel()
	if stop() {
		p.kill()
	}
	rest := ""
	if p.left() && p.unfinished > 0 {
		rest = fmt.Sprintf("; it wrote %d bytes of an unfinished message", p.unfinished)
	}
	if w.ctx.Err() == nil { // else Close sweeps once for all workers
		sweep(p.mark + "\x00") // kills children in other sessions or groups
	}
	writing.Wait()
	rest += p.lastWords()
	if !w.served {
		rest += withheld(w.cfg.Environment)
	}
	return fmt.Errorf("scorer: worker %d (%s, pid %d): %w%s", w.number, w.name, p.cmd.Process.Pid, err, rest)
}

func (p *process) listen(ctx context.Context, c *codec, to chan<- message) {
	defer close(p.read)
	r := bufio.NewReaderSize(p.out, maxMessage)
	next := c.first
	for first, m := true, (message{}); m.err == nil && ctx.Err() == nil; next, first = c.next, false {
		text, unfinished, err := next(r)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed):
			p.unfinished = unfinished
			m.err = p.lost("has closed its standard output")
		case err != nil:
			m.err = err
		case first:
			m.hello, m.err = c.readHello(text)
		default:
			m.answer, m.err = c.readAnswer(text)
		}
		select {
		case to <- m:
		case <-ctx.Done():
		}
	}
	_, _ = io.Copy(io.Discard, r) // reads on, so that a process that is about to end is not blocked by a full pipe
}

// serve waits for the hello of the process and then gives it one task after another. It returns the first error.
func (w *worker) serve(p *process, heard <-chan message, writing *sync.WaitGroup) error {
	late := time.NewTimer(w.cfg.Start)
	defer late.Stop()
	select {
	case m := <-heard:
		if m.err != nil {
			return m.err
		}
		if err := w.greet(m.hello); err != nil {
			return err
		}
	case <-late.C:
		return fmt.Errorf("has not sent its hello within %v; %s", w.cfg.Start, promptly)
	case <-w.ctx.Done():
		return errClosed
	}
	defer w.leave()
	w.served = true
	w.tell(nil)
	for {
		if w.task == nil {
			select {
			case w.task = <-w.tasks:
			case m := <-heard:
				if m.err != nil {
					return m.err
				}
				return stray(*m.answer.ID)
			case <-w.ctx.Done():
				return errClosed
			}
		}
		late.Reset(w.cfg.Timeout)
		if err := w.ask(p, heard, late, writing); err != nil {
			return err
		}
	}
}

// greet checks the hello of a process, which must equal the hellos of all other processes.
func (w *worker) greet(h hello) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == (hello{}) {
		w.first = h
	}
	f := w.first
	if f.Data != h.Data && f.Data != "" && h.Data != "" { // the digests may reveal data
		return errors.New("has other data than the first process, by the digests in their hellos: the data changed after the node started, " +
			"so this process is not used; restart the node")
	}
	if h != f {
		return fmt.Errorf("has sent a hello with dim %d, samples %d and task %.200q, want dim %d, samples %d and task %.200q as in "+
			"the first hello, and data if and only if the first hello has it", h.Dim, h.Samples, h.Task, f.Dim, f.Samples, f.Task)
	}
	w.serving++
	return nil
}

func (w *worker) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serving--
}

// ask sends the process the open queries of the task, or only the first open query if task.alone is set, and waits for
// the answers.
func (w *worker) ask(p *process, heard <-chan message, late *time.Timer, writing *sync.WaitGroup) error {
	t := w.task
	if w.asked = len(t.left); t.alone {
		w.asked = 1
	}
	b := t.messages[t.left[0].start:t.left[w.asked-1].end]
	written := make(chan error, 1)
	writing.Go(func() {
		_, err := p.in.Write(b)
		written <- err
	})
	for sent := false; w.asked > 0 || !sent; {
		select {
		case err := <-written:
			if err != nil {
				return p.lost("has closed its standard input")
			}
			sent = true
		case m := <-heard:
			if m.err != nil {
				return m.err
			}
			if err := w.settle(p, &m.answer); err != nil {
				return err
			}
			late.Reset(w.cfg.Timeout)
		case <-late.C:
			if w.asked == 0 {
				return errors.New("has answered all queries without reading all of them")
			}
			return fmt.Errorf("has not answered query %d within %v; %s", t.left[0].id, w.cfg.Timeout, promptly)
		case <-w.ctx.Done():
			return errClosed
		}
	}
	if len(t.left) == 0 {
		w.task = nil
	}
	return nil
}

func (w *worker) settle(p *process, a *answer) error {
	held := w.task.left[:w.asked]
	i := slices.IndexFunc(held, func(q *query) bool { return q.id == *a.ID })
	if i < 0 {
		return stray(*a.ID)
	}
	err := a.why()
	if err != nil {
		err = fmt.Errorf("scorer: worker %d (%s, pid %d): query %d (sample %d) %w", w.number, w.name, p.cmd.Process.Pid,
			*a.ID, held[i].Sample, err)
	}
	w.fails = 0
	w.answered()
	w.asked--
	w.task.settle(i, a.Loss.value, err)
	return nil
}

func stray(id uint64) error {
	return fmt.Errorf("answered query %d, which is not open: it was never sent to this process, or was answered before", id)
}
