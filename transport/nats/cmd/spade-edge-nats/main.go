package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Exit codes, those of spade-edge.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitRefused  = 3 // a privacy budget is spent
	exitMismatch = 4 // the neighbors mean another fleet, or the node must not go on: it was set back, has a double or was replaced
)

const about = `usage: spade-edge-nats run NODEFILE [-json]

Runs the node that a node file describes, whose transport is a NATS broker with JetStream: it takes part in all rounds, and ends
when the model is final and its neighbors have what they need. A neighbor that is missing is waited for as long as it takes. An interrupt or
SIGTERM ends the process between two steps, and SIGHUP reads the keys in the fleet file again. Messages are sealed and signed from
member to member; the broker can delay them, and no more.

Exit codes: 0 the run is done; 1 failed or interrupted; 2 a file is wrong; 3 a privacy budget is spent; 4 the node must not go on:
every neighbor means another fleet, its state or ledger was set back, or it has a double or was replaced.

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
	switch wrong := (usageError{}); {
	case errors.As(err, &wrong):
		fmt.Fprintln(log, "(spade-edge-nats run -h explains)")
		return exitUsage
	case errors.Is(err, dpmech.ErrBudget):
		return exitRefused
	case errors.Is(err, errMismatch), errors.Is(err, state.ErrRollback), errors.Is(err, sdk.ErrClone):
		return exitMismatch
	}
	return exitFailed
}

func command(ctx context.Context, args []string, out, log io.Writer) error {
	if len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help") {
		_, err := io.WriteString(out, about)
		return err
	}
	if len(args) == 0 || args[0] != "run" {
		return usageError{errors.New("want spade-edge-nats run NODEFILE")}
	}
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	asJSON := fs.Bool("json", false, "")
	var path string
	for rest := args[1:]; ; rest = fs.Args()[1:] { // the file may stand before or behind the flags
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
	p, err := load(path, log)
	if err != nil {
		return usageError{err}
	}
	r, err := p.run(ctx)
	if err != nil {
		return err
	}
	if *asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	fmt.Fprintf(out, "model          sha256 %s after %d rounds of run %q\n", r.Model, r.Rounds, r.Run)
	fmt.Fprintf(out, "cost           %d losses, %d bytes of frames sent, %.1f s\n", r.Queries, r.BytesSent, r.Seconds)
	if r.NonPrivate {
		fmt.Fprintln(out, "privacy        NOT PRIVATE")
	} else {
		fmt.Fprintf(out, "certificate    %s (spade-edge privacy -verify %s checks it)\n", r.Certificate, r.Certificate)
	}
	return nil
}
