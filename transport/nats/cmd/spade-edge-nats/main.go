package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	client "github.com/nats-io/nats.go"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport/nats"
)

// Exit codes, those of spade-edge.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitRefused  = 3 // a privacy budget is spent
	exitMismatch = 4 // another fleet, or the node must not go on: it was set back, has a double or was replaced
)

const about = `usage: spade-edge-nats run NODEFILE [-anyway] [-json]

Runs the node that a node file describes, whose transport is a NATS broker with JetStream. The node takes part in all
rounds, and ends when the model is final and its neighbors have what they need. It waits for missing neighbors as long
as it takes. An interrupt or SIGTERM ends the process between two steps, and SIGHUP makes it read the keys in the fleet
file again. A run that the forecast calls little better than guessing is begun with -anyway only. Messages are sealed and signed from member to member; the broker can delay them, and no more.

Exit codes: 0 the run is done; 1 failed or interrupted; 2 a file is wrong; 3 a privacy budget is spent, or would be
for nothing; 4 the node must not go on: every neighbor means another fleet, its state or ledger was set back, or it has a double or was replaced.

  spade-edge-nats run node.json
  spade-edge-nats run node.json -json >outcome.json

with, in node.json: "transport": {"nats": "tls://broker.example:4222", "credentials": "node.creds"}
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// usageError is a mistake in how the program was called, or in a file.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run is main without the process around it.
func run(ctx context.Context, args []string, out, log io.Writer) int {
	err := command(ctx, args, out, log)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	fmt.Fprintf(log, "spade-edge-nats: %v\n", err)
	if errors.Is(err, fleetfile.ErrNoLedger) || errors.Is(err, state.ErrNoLedger) {
		fmt.Fprintln(log, "(create one with: spade-edge privacy -new-ledger FILE -dataset NAME)")
	}
	switch wrong := (usageError{}); {
	case errors.As(err, &wrong):
		fmt.Fprintln(log, "(spade-edge-nats run -h explains)")
		return exitUsage
	case errors.Is(err, dpmech.ErrBudget), errors.Is(err, sdk.ErrHopeless):
		return exitRefused
	case errors.Is(err, device.ErrMismatch), errors.Is(err, state.ErrRollback), errors.Is(err, sdk.ErrClone):
		return exitMismatch
	}
	return exitFailed
}

func command(ctx context.Context, args []string, out, log io.Writer) error {
	if len(args) > 0 && slices.Contains([]string{"-h", "-help", "--help", "help"}, args[0]) {
		_, err := io.WriteString(out, about)
		return err
	}
	if len(args) == 0 || args[0] != "run" {
		return usageError{errors.New("want spade-edge-nats run NODEFILE")}
	}
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	asJSON := fs.Bool("json", false, "")
	anyway := fs.Bool("anyway", false, "")
	var path string
	for rest := args[1:]; ; rest = fs.Args()[1:] { // the file may stand before or after the flags
		if err := fs.Parse(rest); errors.Is(err, flag.ErrHelp) {
			_, _ = io.WriteString(out, about)
			return err
		} else if err != nil {
			return usageError{err}
		}
		if fs.NArg() == 0 {
			break
		}
		if path != "" {
			return usageError{fmt.Errorf("unexpected argument %q", fs.Arg(0))}
		}
		path = fs.Arg(0)
	}
	if path == "" {
		return usageError{errors.New("no file given, want spade-edge-nats run NODEFILE")}
	}
	d, err := load(path, log)
	if err != nil {
		return usageError{err}
	}
	d.Anyway = *anyway
	o, err := d.Run(ctx)
	if errors.Is(err, fleetfile.ErrMismatch) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if *asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(o)
	}
	fmt.Fprintf(out, "model          sha256 %s after %d rounds of run %q\n", o.Model, o.Rounds, o.Run)
	fmt.Fprintf(out, "cost           %d losses, %d bytes of frames sent, %.1f s\n", o.Queries, o.BytesSent, o.Seconds)
	if o.NonPrivate {
		fmt.Fprintln(out, "privacy        NOT PRIVATE")
	} else {
		fmt.Fprintf(out, "certificate    %s (spade-edge privacy -verify %s checks it)\n", o.Certificate, o.Certificate)
	}
	return nil
}

// testNoise, which only tests set, gives a private node another source of release noise, see [device.Device].
var testNoise func(number int, round func() int) io.Reader

// load reads all files of a node.
func load(path string, log io.Writer) (*device.Device, error) {
	file, err := fleetfile.ReadNode(path)
	if err != nil {
		return nil, err
	}
	broker := file.NATS
	if broker == nil {
		return nil, errors.New(`transport is missing, want {"nats": "tls://host:port"}; ` +
			"spade-edge runs a node over websockets")
	}
	d, err := device.Load(file)
	if err != nil {
		return nil, err
	}
	var options []client.Option
	if broker.Credentials != "" {
		if _, err := os.Stat(broker.Credentials); err != nil {
			return nil, fmt.Errorf("transport.credentials: %w", err)
		}
		options = append(options, client.UserCredentials(broker.Credentials))
	}
	f := d.Fleet.Fleet
	var mu sync.Mutex // guards log
	d.Noise = testNoise
	d.Say = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(log, line)
	}
	progress := monitor.NewStatus(f, file.Name)
	d.Released = func(round int, _ dpmech.Total) {
		progress.Round = round
		d.Say(progress.Progress())
	}
	d.Open = func(logger *slog.Logger) (device.Link, error) {
		logger.Info("meeting", "broker", broker.URL, "stream", nats.Stream(f.Run),
			"publishing on", nats.Subjects(f.Run, file.Name))
		return nats.New(nats.Config{
			Name: file.Name, Key: d.Key, Peers: d.Fleet.Peers(file.Name), Run: f.Run, Fleet: f.Hash(),
			URLs: []string{broker.URL}, Options: options, MaxFrame: wire.MaxFrame(f.Dim),
			Hello: f.Hello(file.Name), CheckHello: f.CheckHello(file.Name), Logger: logger,
		})
	}
	return d, nil
}
