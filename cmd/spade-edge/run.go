package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

var runCommand = &command{
	name:  "run",
	short: "one node of a fleet, on a device",
	run:   runNode,
}

// errNATS says that a node needs the program that has its transport.
var errNATS = errors.New("transport is nats, which this build does not have; " +
	"take spade-edge-nats: go build ./cmd/spade-edge-nats in transport/nats")

// profiles, which the build tag pprof sets, serves profiles of the process under /debug/pprof/.
var profiles http.Handler

// testNoise, which only tests set, gives a private node another source of release noise, see [device.Device].
var testNoise func(number int, round func() int) io.Reader

func runNode(ctx context.Context, cmd *command, args []string, out, log io.Writer) error {
	fs := cmd.flags()
	addr := fs.String("http", "",
		"serve a page, status and metrics at this loopback `address`, whatever the node file says; empty for none")
	restore := fs.Bool("recover", false,
		"with an empty state folder: take the place of a lost device, with what its neighbors know of it")
	asJSON := fs.Bool("json", false, "print one JSON object to standard output")
	path, err := cmd.parseFile(fs, args, out)
	if err != nil {
		return err
	}
	if *addr != "" {
		if err := monitor.CheckAddress(*addr); err != nil {
			return usageError{fmt.Errorf("-http: %w", err)}
		}
	}
	file, err := fleetfile.ReadNode(path)
	if err == nil && file.NATS != nil {
		err = errNATS
	}
	if err != nil {
		return usageError{err}
	}
	d, err := device.Load(file)
	if err != nil {
		return usageError{err}
	}
	if given(fs)["http"] {
		d.HTTP = *addr
	}
	f := d.Fleet.Fleet
	show := newProgress(log, f.Method.Rounds, f.Method.Cooldown)
	defer show.end()
	d.Recover, d.Profiles, d.Noise = *restore, profiles, testNoise
	d.Say = func(line string) { show.say("%s", line) }
	d.Released = func(round int, rho float64) { show.round(round, spendNote(f.Privacy, rho)) }
	d.Open = func(log *slog.Logger) (device.Link, error) {
		link := linkConfig(d.File, d.Fleet, d.Key)
		link.Logger = log
		return ws.New(link)
	}
	o, err := d.Run(ctx)
	if errors.Is(err, fleetfile.ErrMismatch) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	r := &runResult{Outcome: *o}
	if !r.NonPrivate {
		r.Privacy = newPrivacy(o.Rho, f.Privacy, o.ConditionalOn)
	}
	if *asJSON {
		return writeObject(out, r)
	}
	r.write(out, min(r.Rounds, f.Method.Rounds))
	return nil
}

// linkConfig returns the configuration of a node's transport.
func linkConfig(node *fleetfile.Node, fleet *fleetfile.File, key []byte) ws.Config {
	f := fleet.Fleet
	return ws.Config{
		Name: node.Name, Key: key, Listen: node.Listen, Peers: fleet.Peers(node.Name), MaxFrame: wire.MaxFrame(f.Dim),
		Hello: f.Hello(node.Name), CheckHello: f.CheckHello(node.Name),
	}
}

// spendNote says what all releases so far have cost.
func spendNote(p sdk.Privacy, rho float64) string {
	if p.NonPrivate {
		return "NOT PRIVATE"
	}
	return fmt.Sprintf("epsilon %s at delta %v", epsilonText(p.Accounting.Epsilon(rho, p.Delta)), p.Delta)
}

// parseFile is parse for a command that takes one file, before or after its flags.
func (cmd *command) parseFile(fs *flag.FlagSet, args []string, w io.Writer) (string, error) {
	var file string
	if err := fs.Parse(args); err == nil && fs.NArg() > 0 {
		file, args = fs.Arg(0), fs.Args()[1:]
	}
	// The rest; or, if something was wrong, all of it once more for the message.
	if err := cmd.parse(fs, args, w); err != nil {
		return "", err
	}
	if file == "" {
		usage := strings.TrimPrefix(strings.SplitN(cmd.about(), "\n", 2)[0], "usage: ")
		return "", usageError{fmt.Errorf("no file given, want %s", usage)}
	}
	return file, nil
}

// given returns the names of the flags that were on the command line.
func given(fs *flag.FlagSet) map[string]bool {
	names := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { names[f.Name] = true })
	return names
}

// runResult is the outcome of a node's run, and its JSON.
type runResult struct {
	device.Outcome
	Privacy *privacy `json:"privacy"`
}

// write prints the outcome for people. learning is how many of the releases cost something.
func (r *runResult) write(w io.Writer, learning int) {
	fmt.Fprintf(w, "model          sha256 %s after %d rounds of run %q\n", r.Model, r.Rounds, r.Run)
	if r.Recovered > 0 {
		fmt.Fprintf(w, "recovered      after release %d, from what the neighbors knew\n", r.Recovered)
	}
	fmt.Fprintf(w, "cost           %d losses, %s sent, %.1f s\n", r.Queries, bytesText(r.BytesSent), r.Seconds)
	u := r.Usage
	fmt.Fprintf(w, "usage          %s written to disk, %s a round; %s sent a round; "+
		"%.3g s of processor time, %.3g ms a round\n",
		bytesText(u.DiskBytes), bytesText(u.DiskRound), bytesText(u.SentRound), u.CPUSeconds, 1000*u.CPURound)
	if r.Local != nil {
		fmt.Fprintf(w, "accuracy       %.2f %% of %d test samples; for this device only: "+
			"the privacy guarantee does not cover it\n", r.Local.Accuracy, r.Local.Samples)
	}
	(&result{Rounds: learning, Privacy: r.Privacy}).writePrivacy(w)
	if r.Certificate != "" {
		fmt.Fprintf(w, "certificate    %s (spade-edge privacy -verify %s checks it)\n", r.Certificate, r.Certificate)
	}
}
