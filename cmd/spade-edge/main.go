// Command spade-edge trains one shared model on many devices: no server, no gradients, no raw data leaving a device,
// and an account of what leaked.
//
//	spade-edge demo        eight nodes with real websockets on this machine
//	spade-edge simulate    a network of any size in one process, on your data
//	spade-edge plan        what a run will take: stability, rounds, queries, bytes, memory, epsilon
//	spade-edge fit         how members prepare their data, fitted on public data
//	spade-edge keygen      the key of a node
//	spade-edge init        the files of a fleet
//	spade-edge privacy     plan noise and rounds, verify a certificate, look after a ledger
//	spade-edge check       whether a node is fit to run
//	spade-edge run         one node of a fleet, on a device
//	spade-edge status      where a node stands, running or not
//	spade-edge stop        end a running node, to go on later
//	spade-edge export      a node's model in a file, with checksum and certificate
//	spade-edge inspect     what is in a file or folder of a fleet
//	spade-edge completion  completion of commands, flags and files for a shell
//	spade-edge version     what this program was built from
//
// Each command explains itself with -h, and "spade-edge help TOPIC" what takes longer. With -json, one JSON object goes
// to standard output and everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused
// because a privacy budget is spent, 4 another fleet or state than the neighbors have.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Exit codes.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitRefused  = 3
	exitMismatch = 4
)

// endings are the errors with an exit code of their own.
var endings = []struct {
	err  error
	code int
}{
	{dpmech.ErrBudget, exitRefused},
	{device.ErrMismatch, exitMismatch},
	{errOtherState, exitMismatch},
	{state.ErrRollback, exitMismatch},
	{sdk.ErrClone, exitMismatch},
	{sdk.ErrRecovery, exitMismatch},
}

// cures say what helps against errors of libraries, which know no commands.
var cures = []struct {
	err  error
	text string
}{
	{fleetfile.ErrNoLedger, newLedger},
	{state.ErrNoLedger, newLedger},
	{fleetfile.ErrZeroStart, "spade-edge fit -x0 FILE writes one"},
}

const newLedger = "create one with: spade-edge privacy -new-ledger FILE -dataset NAME"

// cured adds to an error what helps against it.
func cured(err error) error {
	for _, c := range cures {
		if errors.Is(err, c.err) {
			err = fmt.Errorf("%w; %s", err, c.text)
		}
	}
	return err
}

// command is one word of the program.
type command struct {
	name  string
	short string // what it does, in one line
	run   func(ctx context.Context, cmd *command, args []string, out, log io.Writer) error

	show func(fs *flag.FlagSet) // if it is set, it is given the flags in place of the help
}

// commands are in the order in which a user comes to need them.
var commands = []*command{
	demoCommand, simulateCommand, planCommand, fitCommand, keygenCommand, initCommand, privacyCommand, checkCommand,
	runCommand, statusCommand, stopCommand, exportCommand, inspectCommand, completionCommand, versionCommand,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without the process around it. The result of a command is printed once, when it has succeeded.
func run(ctx context.Context, args []string, out, log io.Writer) int {
	if len(args) == 0 {
		help(log)
		return exitUsage
	}
	result := held{to: out}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		var err error
		if len(args) > 1 {
			err = helpTopic(args[1], &result)
		} else {
			help(&result)
		}
		if err == nil {
			err = result.Flush()
		}
		return exitCode(err, "help", log)
	}
	for _, cmd := range commands {
		if cmd.name != args[0] {
			continue
		}
		err := cmd.run(ctx, cmd, args[1:], &result, log)
		told := exitError{}
		if err == nil || errors.Is(err, flag.ErrHelp) || errors.As(err, &told) {
			if failed := result.Flush(); failed != nil || told.error == nil {
				err = failed
			}
		}
		return exitCode(err, cmd.name, log)
	}
	fmt.Fprintf(log, "spade-edge: no command %q; there are %s\n", args[0], names())
	return exitUsage
}

// held buffers what a command prints until it has succeeded, or until it knows that it will.
type held struct {
	bytes.Buffer
	to io.Writer
}

// Flush prints what is held.
func (h *held) Flush() error {
	_, err := h.WriteTo(h.to)
	return err
}

// usageError is a mistake in how the program was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitError is the exit code of a command that has done its work, and found something wrong: its result is printed all
// the same.
type exitError struct {
	error
	code int
}

func (e exitError) Unwrap() error { return e.error }

// exitCode reports an error and says what the process should end with.
func exitCode(err error, name string, log io.Writer) int {
	var wrong usageError
	var told exitError
	err = cured(err)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &told):
		fmt.Fprintf(log, "spade-edge %s: %v\n", name, err)
		return told.code
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(log, "spade-edge %s: interrupted\n", name)
		return exitFailed
	case errors.As(err, &wrong):
		fmt.Fprintf(log, "spade-edge %s: %v\n(spade-edge %s -h explains)\n", name, err, name)
		return exitUsage
	}
	fmt.Fprintf(log, "spade-edge %s: %v\n", name, err)
	for _, e := range endings {
		if errors.Is(err, e.err) {
			return e.code
		}
	}
	return exitFailed
}

func names() string {
	var all []string
	for _, cmd := range commands {
		all = append(all, cmd.name)
	}
	return strings.Join(all, ", ")
}

func help(w io.Writer) {
	fmt.Fprint(w, "spade-edge trains one shared model on many devices, "+
		"without a server, gradients, or data leaving a device.\n\n")
	for _, cmd := range commands {
		fmt.Fprintf(w, "  spade-edge %-10s %s\n", cmd.name, cmd.short)
	}
	fmt.Fprint(w, "\nStart with \"spade-edge demo\". "+
		"\"spade-edge COMMAND -h\" explains a command, \"spade-edge help TOPIC\" one of these:\n\n")
	known, about := topicNames()
	for i, name := range known {
		fmt.Fprintf(w, "  %-16s %s\n", name, about[i])
	}
}

var versionCommand = &command{
	name:  "version",
	short: "what this program was built from",
	run: func(_ context.Context, cmd *command, args []string, out, _ io.Writer) error {
		if err := cmd.parse(cmd.flags(), args, out); err != nil {
			return err
		}
		version, revision := "(devel)", "unknown revision"
		if info, ok := debug.ReadBuildInfo(); ok {
			version = info.Main.Version
			for _, s := range info.Settings {
				if s.Key == "vcs.revision" {
					revision = s.Value
				}
			}
		}
		_, err := fmt.Fprintf(out, "spade-edge %s, %s, %s %s/%s\n", version, revision, runtime.Version(), runtime.GOOS,
			runtime.GOARCH)
		return err
	},
}
