package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/transport/ws"
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

	fleetStep func() error // see change
}

// Answer is what somebody said who was asked.
type Answer struct {
	Who  string // what the line of the command check begins with
	Text string // what was found out, if Err is nil
	Err  error
	Code int // the exit code with which the node would end because of Err; 0 if it waits until it is otherwise
}

// Websockets is spade-edge, whose nodes connect to each other.
var Websockets = &Program{
	Name: "spade-edge",
	Accept: func(node *fleetfile.Node) error {
		if node.Transport != nil {
			return errNATS
		}
		return nil
	},
	Open: func(d *device.Device, log *slog.Logger) (device.Link, error) {
		link := linkConfig(d.File, d.Fleet, d.Key)
		link.Proxy, link.Logger = d.Proxy, log
		return ws.New(link)
	},
	Ask: askNeighbors,
}

// askNeighbors connects to every neighbor that has an address; with every, to the first addresses of all side by side,
// then to the second ones.
func askNeighbors(ctx context.Context, d *device.Device, patience time.Duration, every bool) (all []Answer) {
	link := linkConfig(d.File, d.Fleet, d.Key)
	link.Proxy = d.Proxy
	if !every {
		return probe(ctx, link, patience)
	}
	peers := link.Peers
	for i, more := 0, true; more; i++ {
		link.Peers, more = nil, false
		for _, p := range peers {
			if i > 0 && i >= len(p.Addresses) {
				continue
			}
			more = more || i+1 < len(p.Addresses)
			p.Addresses = p.Addresses[min(i, len(p.Addresses)):min(i+1, len(p.Addresses))]
			link.Peers = append(link.Peers, p)
		}
		all = append(all, probe(ctx, link, patience)...)
	}
	return all
}

// probe asks every peer once.
func probe(ctx context.Context, link ws.Config, patience time.Duration) (all []Answer) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answers, err := ws.Probe(ctx, link)
	if err != nil {
		return []Answer{{Who: "neighbors", Err: err, Code: exitUsage}}
	}
	for _, a := range answers {
		to := Answer{Who: fmt.Sprintf("neighbor %q", a.Name)}
		switch {
		case a.Err == nil:
			to.Text = fmt.Sprintf("has the same fleet, at %s%s, in %v", a.Where, through(a.Proxy),
				a.Took.Round(100*time.Microsecond))
		case a.Refused:
			to.Err, to.Code = fmt.Errorf("%s: %w", a.Where, a.Err), exitMismatch
		case a.Where == "":
			to.Err = errors.New("cannot be asked: it has no address, and dials this node by itself")
		default:
			to.Err = fmt.Errorf("not reachable (yet): %s: %w", a.Where, a.Err)
		}
		all = append(all, to)
	}
	return all
}

func through(proxy string) string {
	if proxy == "" {
		return ""
	}
	return " through " + proxy
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
