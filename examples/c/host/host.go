// Package host puts a node into a program of another language: it is the part of the C library that needs no cgo.
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

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	_ "github.com/spade-dfl/spade-edge/sdk/broker"  // node files that name a broker are read, and refused with a reason
	_ "github.com/spade-dfl/spade-edge/sdk/builtin" // built-in models, for node files that have one
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport/ws"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Files are the files of a node.
type Files struct {
	Path string // of the node file; empty if it is Node

	Node   []byte // the content of a node file
	Fleet  []byte // the content of its fleet file; nil if the node file names one
	Folder string // from which the paths in Node start; empty for the working folder
}

// Node is a node of this process. Its methods may be called from any goroutine.
type Node struct {
	device *device.Device
	ctx    context.Context
	stop   context.CancelFunc
	ran    atomic.Bool
}

// Loss is an oracle of the program's own. It is closed when a run ends, and may be asked again after that.
type Loss interface {
	zoest.BatchOracle
	Close() error
}

// OneByOne makes a Loss of a function that is asked one query after the other. End, if not nil, is its Close.
type OneByOne struct {
	zoest.OracleFunc
	End func()
}

// Losses asks for each loss, until ctx ends.
func (o OneByOne) Losses(ctx context.Context, queries []zoest.Query, losses []float64) error {
	for i, q := range queries {
		if err := ctx.Err(); err != nil {
			return err
		}
		loss, err := o.Loss(ctx, q.Point, q.Sample)
		if err != nil {
			loss = math.NaN()
		}
		losses[i] = loss
	}
	return nil
}

// Close calls End.
func (o OneByOne) Close() error {
	if o.End != nil {
		o.End()
	}
	return nil
}

// Open reads the files of a node. It locks nothing and connects to nobody: a node that is never run needs no end. With
// a loss, which has so many samples, what the node file says of its oracle does not count.
func Open(files Files, loss Loss, samples uint64) (*Node, error) {
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
		return nil, Usagef("transport is a broker, want it left out: this library has websockets only")
	}
	if loss == nil && samples != 0 {
		return nil, Usagef("there are %d samples and no loss, want both or neither", samples)
	}
	if loss != nil && (samples < 1 || samples > math.MaxInt32) {
		return nil, Usagef("there are %d samples, want 1..%d", samples, math.MaxInt32)
	}
	file.FleetText = files.Fleet
	d, err := device.Load(file)
	if err != nil {
		return nil, usage{err}
	}
	d.Guest = true
	if loss != nil {
		d.Source = fleetfile.External(loss, int(samples))
		d.Source.Window, d.Source.Close = sdk.Window(d.Fleet.Fleet.Dim), loss.Close
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

var errRan = Usagef("the node has run, or runs; it is opened again to go on")

// Ready returns an error if the node has run, or runs.
func (n *Node) Ready() error {
	if n.ran.Load() {
		return errRan
	}
	return nil
}

// Options are how a node runs.
type Options struct {
	Anyway  bool              // begin even if the forecast is that the run will gain next to nothing
	Recover bool              // with an empty state folder, take the place of a lost device
	Lines   func(line string) // is told what happens, from several goroutines; nil for Warnings
}

// Run takes the node through all rounds that are left. It runs once.
func (n *Node) Run(o Options) error {
	if n.ran.Swap(true) {
		return errRan
	}
	if o.Lines == nil {
		o.Lines = Warnings(os.Stderr)
	}
	n.device.Anyway, n.device.Recover, n.device.Say = o.Anyway, o.Recover, o.Lines
	_, err := n.device.Run(n.ctx)
	return err
}

// Warnings prints the lines that say whom a node waits for, and why: one at once, then 5 seconds later at the earliest, and each
// time that distance doubles, up to an hour.
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

// Stop ends the run, or the one that is yet to come, as soon as the loss has returned. The node can be opened again to
// go on.
func (n *Node) Stop() { n.stop() }

// Status says in JSON where the node stands, as "spade-edge status -json" does.
func (n *Node) Status() ([]byte, error) {
	st, err := n.device.Status(context.Background())
	if err != nil {
		return nil, err
	}
	return json.Marshal(st)
}

// Dim returns how many numbers a model has.
func (n *Node) Dim() int { return n.device.Fleet.Dim }

// Model returns a copy of the node's last release.
func (n *Node) Model() ([]float32, error) { return n.device.Model() }

// Certificate returns in JSON what the releases so far have leaked at most. A fleet that is not private has none.
func (n *Node) Certificate() ([]byte, error) {
	text, err := n.device.Certificate()
	if err != nil {
		return nil, fmt.Errorf("host: no certificate in %s: %w", n.device.File.State, err)
	}
	return text, nil
}

// Guard makes an error of a panic in call: one that left Go would end the host.
func Guard[T any](call func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("host: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return call()
}

// usage is a mistake of the caller or in a file.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

// Usagef is an error with the code [Usage].
func Usagef(format string, args ...any) error { return usage{fmt.Errorf("host: "+format, args...)} }

// Codes of errors: those with which spade-edge exits, and Stopped.
const (
	Done     = 0
	Failed   = 1
	Usage    = 2
	Refused  = 3
	Mismatch = 4
	Stopped  = 5
)

// codes are the errors with a code of their own.
var codes = []struct {
	code int
	errs []error
}{
	{Usage, []error{fleetfile.ErrMismatch}},
	{Refused, []error{dpmech.ErrBudget, plan.ErrHopeless}},
	{Mismatch, []error{device.ErrMismatch, device.ErrOtherState, state.ErrRollback, sdk.ErrClone, sdk.ErrRecovery}},
	{Stopped, []error{device.ErrInterrupted, device.ErrStopped, context.Canceled}},
}

// Code returns the code of an error.
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
