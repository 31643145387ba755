// Package cli is what all commands of the program share: the command line, its errors and exit codes, help, topics, and how
// text, tables, JSON and progress are printed. It knows no command: package program lists them in [Commands].
package cli

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Exit codes. None is 2, with which the Go runtime ends a process that gets no memory or no thread: a service that is started
// again may get them.
const (
	ExitDone     = 0
	ExitFailed   = 1
	ExitUsage    = 64 // EX_USAGE of sysexits(3)
	ExitRefused  = 3
	ExitMismatch = 4
	ExitWithout  = 5 // done, and a neighbor is in quarantine
)

// endings are the errors with an exit code of their own, and the commands that help against them.
var endings = []struct {
	err  error
	code int
	cure string
}{
	{fleetfile.ErrMismatch, ExitUsage, ""},
	{dpmech.ErrBudget, ExitRefused, ""},
	{sdk.ErrWithout, ExitUsage, ""},
	{plan.ErrHopeless, ExitRefused, "; run -anyway begins it all the same"},
	{device.ErrMismatch, ExitMismatch, ""},
	{device.ErrOtherState, ExitMismatch, ""},
	{state.ErrRollback, ExitMismatch, ""},
	{state.ErrLost, ExitMismatch, "; with an empty state folder, spade-edge run -recover takes the place of the lost device (spade-edge " +
		"help recovery)"},
	{sdk.ErrClone, ExitMismatch, ""},
	{sdk.ErrQuarantine, ExitMismatch, ""},
	{sdk.ErrRecovery, ExitMismatch, ""},
	{fleetfile.ErrNoLedger, ExitFailed, newLedger},
	{state.ErrNoLedger, ExitFailed, newLedger},
	{builtin.ErrZeroStart, ExitFailed, "; spade-edge init -task FILE -data ... makes one"},
}

const newLedger = "; for data that was never used, spade-edge privacy -new-ledger FILE -dataset NAME makes one"

// Cured adds to an error what helps against it.
func Cured(err error) error {
	for _, e := range endings {
		if e.cure != "" && errors.Is(err, e.err) {
			err = fmt.Errorf("%w%s", err, e.cure)
		}
	}
	return err
}

// Program is what sets one program apart from another: its name, and over what its nodes meet.
type Program struct {
	Name string

	// Accept returns why this program cannot run the node of a file, nil if it can. Nothing is connected.
	Accept func(node *fleetfile.Node) error

	// Open opens the transport of a node that was accepted. It uses the device's files, key and proxy.
	Open func(d *device.Device, log *slog.Logger) (device.Link, error)

	// Ask returns the answers, within patience, of those that the node will talk to: at one address, or with every at each.
	// Only files, key and proxy of the device are set. A running node must not be disturbed.
	Ask func(ctx context.Context, d *device.Device, patience time.Duration, every bool) []Answer

	// Noise, if not nil, is another source of release noise, for tests only, see [device.Device].
	Noise func(number int, round func() int) io.Reader

	FleetStep func() error // called before each file that the command fleet writes; nil but in tests
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
	debug.SetTraceback("crash") // from here on
	noCoreDump()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	code := p.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Command is one word of the program.
type Command struct {
	Name  string
	Short string // what it does, in one line
	Run   func(ctx context.Context, c *Cmdline) error
}

// Commands are in the order in which a user comes to need them.
var Commands []*Command

// Run runs a command, prints its result to out and all else to log, and returns the exit code.
func (p *Program) Run(ctx context.Context, args []string, out, log io.Writer) int {
	if len(args) == 0 {
		p.help(log)
		return ExitUsage
	}
	name, result := args[0], bufio.NewWriter(out)
	if slices.Contains([]string{"-version", "--version"}, name) {
		name = "version"
	}
	i := slices.Index(names(), name)
	var err error
	switch {
	case slices.Contains([]string{"help", "-h", "-help", "--help"}, name):
		name = "help"
		if len(args) > 1 {
			err = p.helpTopic(args[1], result)
		} else {
			p.help(result)
		}
	case i >= 0:
		c := NewCmdline(p, name, args[1:], result, log)
		err = Commands[i].Run(ctx, c)
		log = c.Log
	default:
		fmt.Fprintf(log, "%s: no command %q; there are %s\n", p.Name, name, strings.Join(names(), ", "))
		return ExitUsage
	}
	if failed := result.Flush(); err == nil || errors.Is(err, flag.ErrHelp) {
		err = failed
	}
	return ExitCode(err, p.Name+" "+name, log)
}

// usageError is a mistake in how the program was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// AsUsageError returns an error as a mistake in how the program was called; nil stays nil.
func AsUsageError(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// Usage returns a mistake in how the program was called, as [fmt.Errorf] makes it.
func Usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitError is the exit code of a command that has printed its result, and found something wrong.
type exitError struct {
	error
	code int
}

func (e exitError) Unwrap() error { return e.error }

// AsExit returns an error with the exit code of a command that has done its work.
func AsExit(err error, code int) error { return exitError{err, code} }

// ExitCode reports an error and says what the process should end with.
func ExitCode(err error, call string, log io.Writer) int {
	var wrong usageError
	var told exitError
	if err == nil {
		return ExitDone
	}
	err = Cured(err)
	code, hint := ExitFailed, ""
	switch {
	case errors.As(err, &told):
		code = told.code
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	case errors.As(err, &wrong):
		code = ExitUsage
	default:
		for _, e := range slices.Backward(endings) { // the first one counts
			if errors.Is(err, e.err) {
				code = e.code
			}
		}
	}
	if code == ExitUsage && told.error == nil {
		hint = fmt.Sprintf("\n(%s -h explains)", call)
	}
	text := err.Error()
	if said := (scorer.Said{}); errors.As(err, &said) { // what the program said comes first, line by line
		whole := strings.TrimSpace(said.Text)
		text = strings.ReplaceAll(text, strconv.Quote(said.Text), strconv.Quote(whole[strings.LastIndexByte(whole, '\n')+1:]))
		fmt.Fprintf(log, "%s\n", printable(whole))
	}
	fmt.Fprintf(log, "%s: %s%s\n", call, printable(text), hint)
	return code
}

func names() (all []string) {
	for _, cmd := range Commands {
		all = append(all, cmd.Name)
	}
	return all
}

func (p *Program) help(w io.Writer) {
	fmt.Fprintf(w, "%s trains one shared model on many devices,\n"+
		"without a server, gradients, or data leaving a device.\n\n", p.Name)
	for _, cmd := range Commands {
		fmt.Fprintf(w, "  %s %-10s %s\n", p.Name, cmd.Name, cmd.Short)
	}
	fmt.Fprintf(w, "\nStart with \"%s demo\". \"%[1]s COMMAND -h\" explains a command,\n"+
		"and \"%[1]s help TOPIC\" one of these:\n\n", p.Name)
	for _, name := range TopicNames() {
		first, _, _ := strings.Cut(text("topics/"+name), "\n")
		fmt.Fprintf(w, "  %-16s %s\n", name, first)
	}
}
