package scorer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// oneshot is an oracle whose program is started for each query.
type oneshot struct{ *Oracle }

// OpenOneShot makes an oracle of a program that is started for each query; dim is d, the number of parameters. It looks
// for the program, but does not start it. Files with parameters are in a folder of [os.TempDir] that only this user can
// read, which Close removes; a process that is killed leaves it there. Close kills what is running.
func OpenOneShot(cfg OneShotConfig, dim int) (*Oracle, error) {
	err := cfg.Validate()
	if dim < 1 || dim > maxDim {
		err = errors.Join(err, fmt.Errorf("scorer: dim is %d, want 1..%d", dim, maxDim))
	}
	if err != nil {
		return nil, err
	}
	o, err := newOracle(cfg.Program, 1, func(dst []byte, _ uint64, _ int, x []float32) []byte {
		return appendFloats(dst, x)
	})
	if err != nil {
		return nil, err
	}
	o.dim, o.samples = dim, cfg.Samples
	if cfg.mentions(paramsHere) {
		if o.dir, err = os.MkdirTemp("", "spade-edge-scorer-"); err == nil {
			o.dir, err = filepath.Abs(o.dir)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("scorer: %w", err), o.Close())
		}
	}
	for i := range o.cfg.Workers {
		o.workers.Go(func() { oneshot{o}.work(i + 1) })
	}
	return o, nil
}

// work answers query after query until the oracle is closed. Only processes that are out of time make the program count
// as broken: one that fails in time holds nobody up, however often it does.
func (o oneshot) work(number int) {
	for {
		var t *task
		select {
		case t = <-o.tasks:
		case <-o.ctx.Done():
			return
		}
		if err := o.broken(); err != nil {
			t.fail(err)
			continue
		}
		loss, err := o.run(t.ctx, number, t.left[0].Sample, t.messages)
		switch {
		case errors.Is(err, errLate):
			o.failed(err)
		case t.ctx.Err() == nil:
			o.answered(err)
		}
		t.settle(0, loss, err)
	}
}

// errLate says that a process was killed because it was out of time.
var errLate = errors.New("has not ended within")

// run asks the program. number is that of a worker.
func (o oneshot) run(ctx context.Context, number, sample int, params []byte) (float64, error) {
	path := filepath.Join(o.dir, strconv.Itoa(number))
	if o.dir != "" {
		if err := os.WriteFile(path, params, 0o600); err != nil {
			return 0, fmt.Errorf("scorer: %w", err)
		}
	}
	fill := strings.NewReplacer(sampleHere, strconv.Itoa(sample), paramsHere, path)
	var args []string
	for _, arg := range o.cfg.Command[1:] {
		args = append(args, fill.Replace(arg))
	}
	p, err := o.spawn.start(o.cfg, args)
	if err != nil {
		return 0, fmt.Errorf("scorer: worker %d (%s): %w", number, o.name, err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, o.cfg.Timeout, errLate)
	defer cancel()
	stop := context.AfterFunc(limited, p.kill)
	if o.dir != "" {
		params = nil
	}
	loss, err := p.answer(params)
	if !stop() {
		p.sweep() // of those that end by themselves Close does it
		if context.Cause(limited) == errLate {
			err = fmt.Errorf("%w %v", errLate, o.cfg.Timeout)
		}
	}
	if err != nil {
		err = fmt.Errorf("scorer: worker %d (%s, pid %d): sample %d: %w%s", number, o.name, p.cmd.Process.Pid, sample, err,
			p.lastWords())
	}
	return loss, err
}

// answer gives a process its input, sees it to its end, and reads the loss that it has printed.
func (p *process) answer(input []byte) (float64, error) {
	var writer sync.WaitGroup
	writer.Go(func() {
		_, _ = p.in.Write(input) // a program that has no use for it need not read it
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
	var l loss
	switch number := string(bytes.TrimSpace(text)); {
	case number == "":
		return 0, errors.New("has written nothing, want a number")
	case l.parse(number) != nil:
		return 0, fmt.Errorf("has written %s, want one number and nothing else", shown([]byte(number)))
	}
	return l.value, l.why()
}
