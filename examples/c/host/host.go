// Package host runs a node inside a program written in another language. It contains the part of the C library that
// does not need cgo.
package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin" // built-in models of node files
	"github.com/spade-dfl/spade-edge/dpmech"
	_ "github.com/spade-dfl/spade-edge/sdk/broker" // reads node files that name a broker; Open refuses these
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/transport/ws"
	"github.com/spade-dfl/spade-edge/zoest"
)

type Files struct {
	Path string // of the node file; empty if Node has its content

	Node   []byte // the content of a node file
	Fleet  []byte // the content of the fleet file; nil if Node names a fleet file
	Folder string // folder to which paths in Node are relative; empty means the working folder
}

// Node is a node in this process. Its methods are safe for concurrent use.
type Node struct {
	device *device.Device
	ctx    context.Context
	stop   context.CancelFunc
	ran    atomic.Bool
}

// Loss is an oracle provided by the host program. End, if not nil, is called at the end of a run. After End, the Loss
// may be queried again.
type Loss struct {
	zoest.OracleFunc
	End func()
}

// Losses calls OracleFunc for each query in turn and stores NaN for each call that fails. It returns an error if ctx is
// done.
func (l *Loss) Losses(ctx context.Context, queries []zoest.Query, losses []float64) error {
	for i, q := range queries {
		if err := ctx.Err(); err != nil {
			return err
		}
		loss, err := l.Loss(ctx, q.Point, q.Sample)
		if err != nil {
			loss = math.NaN()
		}
		losses[i] = loss
	}
	return nil
}

// Open reads the files of a node. It takes no lock and opens no connection, so a node that never runs need not be
// stopped. If loss is not nil, it replaces the oracle configured in the node file and has the given number of samples.
func Open(files Files, loss *Loss, samples uint64) (*Node, error) {
	var file *fleetfile.Node
	var err error
	if files.Path != "" {
		file, err = fleetfile.ReadNode(files.Path)
	} else {
		file, err = fleetfile.ParseNode(files.Node, cmp.Or(files.Folder, "."))
	}
	if err != nil {
		return nil, usage{err}
	}
	if file.Transport != nil {
		return nil, Usagef("transport is a broker, want no transport: this library supports only websockets")
	}
	if loss == nil && samples != 0 {
		return nil, Usagef("samples is %d without a loss, want both or neither", samples)
	}
	if loss != nil && (samples < 1 || samples > math.MaxInt32) {
		return nil, Usagef("samples is %d, want 1..%d", samples, math.MaxInt32)
	}
	file.FleetText = files.Fleet
	d, err := device.Load(file)
	if err != nil {
		return nil, usage{err}
	}
	if loss != nil {
		d.Source = fleetfile.External(loss, int(samples))
		d.Source.Window = zoest.Window(d.Fleet.Fleet.Dim)
		if loss.End != nil {
			d.Source.Close = func() error { loss.End(); return nil }
		}
	}
	d.Open = func(log *slog.Logger) (device.Link, error) {
		link := ws.ConfigOf(d.Fleet, file.Name, d.Key, file.Listen)
		link.Proxy, link.Logger = d.Proxy, log
		return ws.New(link)
	}
	n := &Node{device: d}
	n.ctx, n.stop = context.WithCancel(context.Background())
	return n, nil
}

var errRan = Usagef("the node is running or has run: open it again to continue")

// Ready returns an error if Run has already been called, because a node can run only once.
func (n *Node) Ready() error {
	if n.ran.Load() {
		return errRan
	}
	return nil
}

// Options configure a run.
type Options struct {
	Anyway bool              // start even if the forecast is that the node gains almost nothing
	Lines  func(line string) // receives log lines, from several goroutines; nil for Warnings
}

// Run runs the node through all remaining rounds. It can be called only once.
func (n *Node) Run(o Options) error {
	if n.ran.Swap(true) {
		return errRan
	}
	if o.Lines == nil {
		o.Lines = Warnings(os.Stderr)
	}
	n.device.Anyway, n.device.Say = o.Anyway, o.Lines
	_, err := n.device.Run(n.ctx)
	return err
}

// Warnings returns a function that discards all lines except those about neighbors that the node is waiting for. Of
// these lines, it prints the first at once and then at most one per interval. The interval is 5 seconds at first and
// doubles after each printed line, up to an hour.
func Warnings(to io.Writer) func(line string) {
	var mu sync.Mutex
	next, every := time.Time{}, 5*time.Second
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); strings.Contains(line, "waiting for ") && !now.Before(next) {
			next, every = now.Add(every), min(2*every, time.Hour)
			fmt.Fprintln(to, "spade_edge:", line)
		}
	}
}

// Stop ends the current run as soon as the current loss call returns. If no run has started, Stop prevents the run. To
// continue, open the node again.
func (n *Node) Stop() { n.stop() }

// Status returns the JSON that "spade-edge status -json" would print.
func (n *Node) Status() ([]byte, error) {
	st, err := n.device.Status(context.Background())
	if err != nil {
		return nil, err
	}
	return json.Marshal(st)
}

// Dim returns the number of parameters of the model.
func (n *Node) Dim() int { return n.device.Fleet.Dim }

// Model returns a copy of the node's last release.
func (n *Node) Model() ([]float32, error) { return n.device.Model() }

// Certificate returns a JSON certificate with an upper bound on the privacy loss of all releases so far. It fails for a
// fleet without privacy.
func (n *Node) Certificate() ([]byte, error) {
	text, err := n.device.Certificate()
	if err != nil {
		return nil, fmt.Errorf("host: no certificate in %s: %w", n.device.File.State, err)
	}
	return text, nil
}

// Guard runs the function given as call and returns its results. It turns a panic into an error, because a panic that
// escaped from Go would end the host program.
func Guard(call func() (int64, error)) (n int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("host: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return call()
}

// usage is an error in the arguments of a call or in a file.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

// Usagef is like fmt.Errorf, but returns an error for which [Code] returns [Usage].
func Usagef(format string, args ...any) error { return usage{fmt.Errorf("host: "+format, args...)} }

// Error codes. Failed, Refused and Mismatch are also exit codes of spade-edge; Usage and Stopped are not.
const (
	Done     = 0
	Failed   = 1
	Usage    = 2
	Refused  = 3
	Mismatch = 4
	Stopped  = 5
)

var codes = []struct {
	code int
	errs []error
}{
	{Usage, []error{fleetfile.ErrMismatch}},
	{Refused, []error{dpmech.ErrBudget, plan.ErrHopeless}},
	{Mismatch, []error{device.ErrMismatch, device.ErrOtherState, state.ErrRollback, trust.ErrClone}},
	{Stopped, []error{device.ErrInterrupted, device.ErrStopped, context.Canceled}},
}

// Code returns the error code for err: Done for nil, and Failed for an error without a more specific code.
func Code(err error) int {
	if err == nil {
		return Done
	}
	if errors.As(err, new(usage)) {
		return Usage
	}
	for _, c := range codes {
		for _, is := range c.errs {
			if errors.Is(err, is) {
				return c.code
			}
		}
	}
	return Failed
}
