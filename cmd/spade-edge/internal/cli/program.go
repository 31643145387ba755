package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// Program is what sets one program apart from another: its name, and over what its nodes meet.
type Program struct {
	Name string

	// Accept returns why this program cannot run the node of a file, nil if it can. Nothing is connected.
	Accept func(node *fleetfile.Node) error

	// Open opens the transport of a node that was accepted. It uses the device's files, key and proxy.
	Open func(d *device.Device, log *slog.Logger) (device.Link, error)

	// Ask tells how everybody that the node will talk to answers within patience: at one address, or with every at each
	// one. Of the device there are files, key and proxy alone. A node at work must not be disturbed.
	Ask func(ctx context.Context, d *device.Device, patience time.Duration, every bool) []Answer

	// Noise, if not nil, is another source of release noise, for tests only, see [device.Device].
	Noise func(number int, round func() int) io.Reader

	FleetStep func() error // see change
}

// Answer is what somebody said who was asked.
type Answer struct {
	Who  string // what the line of the command check begins with
	Text string // what was found out, if Err is nil
	Err  error
	Code int // the exit code with which the node would end because of Err; 0 if it waits until it is otherwise
}

// Main runs the command of the process, and ends it. A panic, of whatever goroutine, ends it by a signal on Unix: the
// runtime's own exit code is that of a wrong file, with which a service must not be started again.
func (p *Program) Main() {
	debug.SetTraceback("crash")
	noCoreDump()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	code := p.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
