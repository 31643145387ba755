// Package cli implements what all commands share: the command line, errors and exit codes, help, topics, and printing
// of text, tables, JSON and progress. It does not depend on any command; package program sets [Commands].
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

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// These are the exit codes. None of them is 2, because the Go runtime exits with 2 if it cannot get memory or a thread.
// Memory and threads may be available again after a restart, so a service manager must not treat 2 as a permanent
// error.
const (
	ExitDone     = 0
	ExitFailed   = 1
	ExitUsage    = 64 // EX_USAGE of sysexits(3)
	ExitRefused  = 3
	ExitMismatch = 4
	ExitWithout  = 5 // complete, but a neighbor is quarantined
)

// endings lists errors with an exit code other than [ExitFailed], and errors with advice on how to fix the cause.
var endings = []struct {
	err  error
	code int
	cure string
}{
	{fleetfile.ErrMismatch, ExitUsage, ""},
	{dpmech.ErrBudget, ExitRefused, ""},
	{dpmech.ErrUnit, ExitRefused, " (spade-edge privacy -new-ledger has -unit, -places, -person and -spent-epsilon for it)"},
	{sdk.ErrWithout, ExitUsage, ""},
	{plan.ErrHopeless, ExitRefused, "; run -anyway starts it regardless"},
	{device.ErrMismatch, ExitMismatch, ""},
	{device.ErrOtherState, ExitMismatch, ""},
	{state.ErrRollback, ExitMismatch, ""},
	{state.ErrLost, ExitMismatch, "; neighbors continue after -patience, or with spade-edge run -without NAME; spade-edge export writes " +
		"the model on any of their devices; spade-edge fleet next brings the member back with a new key (spade-edge help recovery)"},
	{trust.ErrClone, ExitMismatch, ""},
	{trust.ErrQuarantine, ExitMismatch, ""},
	{fleetfile.ErrNoPairKey, ExitUsage, morePairs},
	{pair.ErrMissing, ExitMismatch, otherPair},
	{pair.ErrUsed, ExitMismatch, otherPair},
	{certificate.ErrPairKey, ExitMismatch, otherPair},
	{state.ErrNoLedger, ExitFailed, newLedger},
	{diskFull, ExitFailed, "; free some space on the disk and run again"},
	{builtin.ErrZeroStart, ExitFailed, "; spade-edge init -task FILE -data ... makes one"},
}

const (
	morePairs = "; spade-edge keygen -name NAME -from node.key -pairs 8 makes more there, and its line goes into the -members file of " +
		"init, or into the fleet with fleet add DIR -line FILE"
	otherPair = "; begin another run, in which fleet next gives every member another key"
)

const newLedger = "; spade-edge privacy -new-ledger FILE -dataset NAME makes one, with the fleet's -unit, and with -never-used, -spent or -spent-epsilon"

// Cured appends advice on how to fix the cause to err. It returns err unchanged if endings has no advice for it.
func Cured(err error) error {
	for _, e := range endings {
		if e.cure != "" && errors.Is(err, e.err) {
			err = fmt.Errorf("%w%s", err, e.cure)
		}
	}
	return err
}

// Program describes one of the programs that share these commands: its name and how its nodes connect to each other.
type Program struct {
	Name string

	// Accept returns nil if this program can run the node described by the node file, otherwise an error with the
	// reason. It opens no connection.
	Accept func(node *fleetfile.Node) error

	// Open opens the transport of a node that Accept accepted. It uses the device's files, key and proxy.
	Open func(d *device.Device, log *slog.Logger) (device.Link, error)

	// Ask connects to the node's peers and returns the answers that arrive before patience elapses: one answer per peer
	// or, if every is true, one per address of each peer. Only the files, the key and the proxy of d are set. Ask must
	// not disturb a running node.
	Ask func(ctx context.Context, d *device.Device, patience time.Duration, every bool) []Answer

	// Licenses has the licenses of the modules that only this program contains, in the form of licenses.txt.
	Licenses string

	// Noise, if not nil, replaces the source of the release noise. It is only for tests; see [device.Device].
	Noise func(number int, round func() int) io.Reader

	FleetStep func() error // for tests: called before each file that the command fleet writes
}

// Answer is the response of one peer to a connection attempt.
type Answer struct {
	Who  string // begins the line that the command check prints
	Text string // the finding if Err is nil
	Err  error
	Code int // exit code of a node whose connection fails with Err; 0 if the node retries
}

// Main runs the command and exits. On Unix, a panic in any goroutine ends the process with a signal rather than the
// runtime's exit code 2.
func (p *Program) Main() {
	debug.SetTraceback("crash")
	noCoreDump()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	code := p.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Command describes one command of the program.
type Command struct {
	Name  string
	Short string // one line of help
	Run   func(ctx context.Context, c *Cmdline) error
}

// Commands lists all commands, in the order in which a user needs them.
var Commands []*Command

// Run runs a command and returns its exit code. It prints the result to out and everything else to log.
func (p *Program) Run(ctx context.Context, args []string, out, log io.Writer) int {
	if len(args) == 0 {
		p.help(log)
		return ExitUsage
	}
	name, result := args[0], bufio.NewWriter(out)
	switch name {
	case "-version", "--version":
		name = "version"
	case "-h", "-help", "--help":
		name = "help"
	}
	i := slices.Index(names(), name)
	var err error
	switch {
	case name == "help" && len(args) > 1:
		err = p.helpTopic(args[1], result)
	case name == "help":
		p.help(result)
	case i >= 0:
		c := NewCmdline(p, name, args[1:], result, log)
		err = Commands[i].Run(ctx, c)
		log = c.Log
	default:
		fmt.Fprintf(log, "%s: no command %q; the commands are %s\n", p.Name, name, strings.Join(names(), ", "))
		return ExitUsage
	}
	if failed := result.Flush(); err == nil || errors.Is(err, flag.ErrHelp) {
		err = failed
	}
	return ExitCode(err, p.Name+" "+name, log)
}

// exitError is an error with an exit code. If hint is true, the message ends with how to get the help of the command.
type exitError struct {
	error
	code int
	hint bool
}

func (e exitError) Unwrap() error { return e.error }

// AsUsageError marks err, if not nil, as a usage error: an error caused by how the program was called.
func AsUsageError(err error) error {
	if err == nil {
		return nil
	}
	return exitError{err, ExitUsage, true}
}

// Usage returns a usage error, see [AsUsageError]. The arguments are as in [fmt.Errorf].
func Usage(format string, args ...any) error { return AsUsageError(fmt.Errorf(format, args...)) }

// AsExit gives err an exit code. It is for a command that completed its work but found a problem.
func AsExit(err error, code int) error { return exitError{err, code, false} }

// ExitCode prints err to log and returns the exit code for it.
func ExitCode(err error, call string, log io.Writer) int {
	if err == nil {
		return ExitDone
	}
	err = Cured(err)
	as := exitError{code: ExitFailed}
	switch {
	case errors.As(err, &as):
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	default:
		for _, e := range slices.Backward(endings) { // the first match wins
			if errors.Is(err, e.err) {
				as.code, as.hint = e.code, e.code == ExitUsage
			}
		}
	}
	hint := ""
	if as.hint {
		hint = fmt.Sprintf("\n(%s -h explains)", call)
	}
	text := err.Error()
	if said := (scorer.Said{}); errors.As(err, &said) { // the scorer's own output comes first, line by line
		whole := strings.TrimSpace(said.Text)
		text = strings.ReplaceAll(text, strconv.Quote(said.Text), strconv.Quote(whole[strings.LastIndexByte(whole, '\n')+1:]))
		fmt.Fprintf(log, "%s\n", printable(whole))
	}
	fmt.Fprintf(log, "%s: %s%s\n", call, printable(text), hint)
	return as.code
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
