package scorer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/wire/cbor"
	"github.com/spade-dfl/spade-edge/zoest"
)

// OneShot is an oracle whose losses come from a program that is started for each of them. Its methods may be called
// from any goroutine.
type OneShot struct {
	failure
	cfg   OneShotConfig // with defaults
	dim   int
	name  string // of the program, as it was given
	spawn *spawner
	dir   string             // of the files with parameters; empty if they come on standard input
	desks chan *desk         // those that are free
	ctx   context.Context    // ends with Close
	close context.CancelFunc // of ctx
	calls sync.WaitGroup

	mu     sync.Mutex // guards what follows
	closed bool
	late   int       // processes in a row that were out of time
	until  time.Time // if the program is broken: when it is tried again
	last   error     // why it was out of time
	warned bool
}

// desk is what one process at a time uses.
type desk struct {
	number int
	path   string // of the file with the parameters
	params []byte
}

// OpenOneShot makes an oracle of a program that is started for each query; dim is d, the number of parameters. It looks
// for the program, but does not start it. Files with parameters are in a folder of [os.TempDir] that only this user can
// read, which Close removes; a process that is killed leaves it there.
func OpenOneShot(cfg OneShotConfig, dim int) (*OneShot, error) {
	err := cfg.Validate()
	if dim < 1 || dim > maxDim {
		err = errors.Join(err, fmt.Errorf("scorer: dim is %d, want 1..%d", dim, maxDim))
	}
	if err != nil {
		return nil, err
	}
	o := &OneShot{dim: dim, name: cfg.Command[0]}
	if cfg.Program, err = cfg.ready(); err != nil {
		return nil, err
	}
	o.cfg = cfg
	if cfg.mentions(paramsHere) {
		if o.dir, err = os.MkdirTemp("", "spade-edge-scorer-"); err == nil {
			o.dir, err = filepath.Abs(o.dir)
		}
		if err != nil {
			return nil, fmt.Errorf("scorer: %w", err)
		}
	}
	o.spawn = newSpawner()
	o.ctx, o.close = context.WithCancel(context.Background())
	o.desks = make(chan *desk, cfg.Workers)
	for i := range cfg.Workers {
		o.desks <- &desk{number: i + 1, path: filepath.Join(o.dir, fmt.Sprintf("params-%d.f32", i+1))}
	}
	return o, nil
}

// Dim returns the number of parameters, d.
func (o *OneShot) Dim() int { return o.dim }

// Samples returns the number of samples, m, as the configuration has it.
func (o *OneShot) Samples() int { return o.cfg.Samples }

// Loss asks for one loss; see [zoest.Oracle].
func (o *OneShot) Loss(ctx context.Context, x []float32, sample int) (loss float64, err error) {
	q := zoest.Query{Point: x, Sample: sample}
	if err := checkQuery(q, o.dim, o.cfg.Samples); err != nil {
		return 0, err
	}
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return 0, errClosed
	}
	o.calls.Add(1)
	o.mu.Unlock()
	defer o.calls.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.ctx, cancel)()
	select {
	case d := <-o.desks:
		defer func() { o.desks <- d }()
		loss, err = o.run(ctx, d, q)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if o.ctx.Err() != nil {
		err = errClosed
	}
	o.note(err)
	return loss, err
}

// Losses asks for several losses; see [zoest.BatchOracle]. A loss that cannot be had is NaN; if that is all of them,
// the error is that of the first.
func (o *OneShot) Losses(ctx context.Context, queries []zoest.Query, losses []float64) error {
	if len(queries) != len(losses) {
		return fmt.Errorf("scorer: %d queries and room for %d losses", len(queries), len(losses))
	}
	var next atomic.Int64
	errs := make([]error, len(queries))
	var all sync.WaitGroup
	for range min(o.cfg.Workers, len(queries)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(queries); i = int(next.Add(1)) - 1 {
				losses[i], errs[i] = o.Loss(ctx, queries[i].Point, queries[i].Sample)
				if errs[i] != nil {
					losses[i] = math.NaN()
				}
			}
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	if slices.Contains(errs, nil) || len(errs) == 0 {
		return nil
	}
	return errs[0]
}

// Close kills what is running, waits for it, and removes the files with parameters. Closing again does nothing.
func (o *OneShot) Close() error {
	o.mu.Lock()
	again := o.closed
	o.closed = true
	o.mu.Unlock()
	o.close()
	o.calls.Wait()
	if again {
		return nil
	}
	o.spawn.stop()
	if err := os.RemoveAll(o.dir); err != nil { // of no name it removes nothing
		return fmt.Errorf("scorer: %w", err)
	}
	return nil
}

// run asks the program.
func (o *OneShot) run(ctx context.Context, d *desk, q zoest.Query) (float64, error) {
	if err := o.allowed(); err != nil {
		return 0, err
	}
	d.params, _ = cbor.AppendFloats(d.params[:0], q.Point) // checked to be finite
	if o.dir != "" {
		if err := os.WriteFile(d.path, d.params, 0o600); err != nil {
			return 0, fmt.Errorf("scorer: %w", err)
		}
	}
	fill := strings.NewReplacer(sampleHere, strconv.Itoa(q.Sample), paramsHere, d.path)
	var args []string
	for _, arg := range o.cfg.Command[1:] {
		args = append(args, fill.Replace(arg))
	}
	p, err := o.spawn.start(o.cfg.Program, args)
	if err != nil {
		return 0, fmt.Errorf("scorer: worker %d (%s): %w", d.number, o.name, err)
	}
	var late atomic.Bool
	timer := time.AfterFunc(o.cfg.Timeout, func() {
		late.Store(true)
		p.kill()
	})
	stop := context.AfterFunc(ctx, p.kill)
	loss, err := o.answer(p, d)
	timer.Stop()
	stop()
	if ctx.Err() != nil || late.Load() {
		p.sweep() // of those that end by themselves Close does it
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if late.Load() {
		err = fmt.Errorf("has not ended within %v", o.cfg.Timeout)
	}
	if err != nil {
		err = fmt.Errorf("scorer: worker %d (%s, pid %d): sample %d: %w%s", d.number, o.name, p.cmd.Process.Pid, q.Sample,
			err, p.lastWords())
	}
	o.judge(err, late.Load())
	return loss, err
}

// answer gives a process its input, sees it to its end, and reads the loss that it has printed.
func (o *OneShot) answer(p *process, d *desk) (float64, error) {
	var writer sync.WaitGroup
	writer.Go(func() {
		if o.dir == "" {
			_, _ = p.in.Write(d.params) // a program that has no use for them need not read them
		}
		p.in.Close()
	})
	text, err := io.ReadAll(io.LimitReader(p.out, maxMessage+1))
	flood := len(text) > maxMessage
	if flood || err != nil && !errors.Is(err, os.ErrClosed) {
		p.kill()
	}
	close(p.read)
	ended := p.left()
	p.in.Close()
	writer.Wait()
	switch {
	case !ended:
		return 0, errors.New("was killed, and does not end")
	case flood:
		return 0, fmt.Errorf("has written more than %d bytes, want one number; they begin with %s", maxMessage, shown(text))
	case !p.cmd.ProcessState.Success():
		return 0, fmt.Errorf("has ended: %v", p.cmd.ProcessState)
	}
	return readLoss(text)
}

// readLoss reads all that a one-shot program has printed.
func readLoss(text []byte) (float64, error) {
	var a answer
	switch number := bytes.TrimSpace(text); {
	case len(number) == 0:
		return 0, errors.New("has written nothing, want a number")
	case a.read(number) != nil:
		return 0, fmt.Errorf("has written %s, want one number and nothing else", shown(number))
	}
	a.usable()
	return a.loss, a.why
}

// allowed says whether the program may be tried, or is broken.
func (o *OneShot) allowed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.late >= patience && time.Now().Before(o.until) {
		return fmt.Errorf("scorer: broken, %d processes in a row were out of time; the last: %w", o.late, o.last)
	}
	return nil
}

// judge draws the consequences of a process that has ended. One that fails in time holds nobody up, however often it
// does.
func (o *OneShot) judge(err error, late bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if late {
		o.late++
		o.last = err
		o.until = time.Now().Add(o.cfg.pause(o.late))
	} else {
		o.late = 0
	}
	if err != nil {
		o.cfg.warn(&o.warned, err, o.late)
	}
}
