package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"flag"
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

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

var runCommand = &command{
	name:  "run",
	short: "one node of a fleet, on a device",
	run:   runNode,
}

// errMismatch says that this node and its neighbors do not belong together.
var errMismatch = errors.New("every neighbor means another fleet")

// errNATS says that a node is one for the program that can do that.
var errNATS = errors.New("transport is nats, which this build does not have; take spade-edge-nats: go build ./cmd/spade-edge-nats in transport/nats")

// errInterrupted says that a run can be taken up again.
var errInterrupted = errors.New("interrupted; run again to go on")

func runNode(ctx context.Context, cmd *command, args []string, out, log io.Writer) (err error) {
	fs := cmd.flags()
	addr := fs.String("http", "", "serve a page, status and metrics at this loopback `address`, whatever the node file says; empty for none")
	restore := fs.Bool("recover", false, "with an empty state folder: take the place of a lost device, with what its neighbors know of it")
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
	hangup, deaf := hearHangup()
	defer deaf()
	file, err := fleetfile.ReadNode(path)
	if err != nil {
		return usageError{err}
	}
	if file.NATS != nil {
		return usageError{errNATS}
	}
	fleet, link, err := file.Load()
	if err != nil {
		return usageError{err}
	}
	if !given(fs)["http"] {
		*addr = file.HTTP
	}
	p := &participant{file: file, fleet: fleet.Fleet, key: link.Key, http: *addr, restore: *restore, tell: newNotifier(), hangup: hangup}
	p.members.Store(fleet)
	defer func() { p.ctl.close() }() // last: whoever has asked for the end hears of it when all is over
	p.own, err = loadOracle(ctx, file.Oracle, fleet)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.own.Close()) }()
	debug.FreeOSMemory() // what reading files took: a node lives for days on what it keeps
	m := fleet.Fleet.Method
	p.show = newProgress(log, m.Rounds, m.Cooldown)
	defer p.show.end()
	start := time.Now()
	if err := p.run(ctx, link); err != nil {
		return err
	}
	r := p.result()
	r.Seconds = time.Since(start).Seconds()
	if *asJSON {
		return writeObject(out, r)
	}
	r.write(out)
	return nil
}

// parseFile is parse for a command that takes one file, before or behind its flags.
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
		return "", usageError{fmt.Errorf("no file given, want %s", strings.TrimPrefix(strings.SplitN(cmd.about(), "\n", 2)[0], "usage: "))}
	}
	return file, nil
}

// given returns the names of the flags that were on the command line.
func given(fs *flag.FlagSet) map[string]bool {
	names := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { names[f.Name] = true })
	return names
}

// testNoise, which only tests set, gives a private node another source of release noise than the operating system's.
var testNoise func(p *participant) io.Reader

// participant is a node at work.
type participant struct {
	file    *fleetfile.Node
	fleet   *sdk.Fleet
	members atomic.Pointer[fleetfile.File] // as the fleet file was last read: keys may change during a run
	key     ed25519.PrivateKey
	own     *fleetfile.Source
	hangup  <-chan os.Signal
	show    *progress
	http    string // where the page is served; empty for nowhere
	restore bool   // from what the neighbors know, if there is no state
	tell    *notifier

	tr     *ws.Transport
	node   *sdk.Node
	ledger *state.Ledger // nil if there is none
	mon    *monitor.Monitor
	ctl    *control // nil if there is none

	certificate string   // path of the last one written
	files       []writer // what is kept on disk
	begun       int      // releases that an earlier process has made
}

// run takes the node through its rounds.
func (p *participant) run(ctx context.Context, link ws.Config) (err error) {
	logger := slog.New(slog.NewTextHandler(lines{p.show}, nil))
	if p.fleet.Privacy.NonPrivate {
		logger = logger.With("privacy", "NOT PRIVATE")
	}
	cfg := sdk.Config{
		Fleet: p.fleet, Name: p.file.Name, Samples: p.own.Samples, Oracle: p.own.Oracle, Window: p.own.Window,
		SeededTable: p.file.SeededTable, Average: p.file.Average, ConditionalOn: p.own.ConditionalOn, Linger: p.file.Linger, ResendAfter: p.file.ResendAfter, Logger: logger,
		Recover: p.restore, Key: p.key, Keys: func(member string) []ed25519.PublicKey { return p.members.Load().SigningKeys(member) },
	}
	if testNoise != nil && !p.fleet.Privacy.NonPrivate {
		cfg.Noise = testNoise(p)
	}
	release, err := p.keep(&cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	link.Logger = logger
	if p.tr, err = ws.New(link); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.tr.Close()) }()
	cfg.Transport = p.tr
	defer p.reloadOnHangup(link)()
	if p.mon, err = p.newMonitor(); err != nil {
		return err
	}
	cfg.Observer = p.mon.Observer(sdk.Observer{Released: p.released, Waiting: p.waiting})
	if p.node, err = sdk.New(cfg); err != nil {
		return err
	}
	p.begun = p.node.Status().Round
	p.say("node %q of run %q: %d samples, %d parameters, neighbors %s", p.file.Name, p.fleet.Run, cfg.Samples, p.fleet.Dim, p.neighbors())
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	leave, err := p.attend(cancel)
	if err != nil {
		return err
	}
	defer leave()
	go p.watch(inner, cancel)
	p.mon.Begin(p.node)
	p.tell.tell("READY=1")
	stopping := sync.OnceFunc(func() { p.tell.tell("STOPPING=1") })
	defer stopping()
	defer context.AfterFunc(inner, stopping)()
	err = p.node.Run(inner)
	if errors.Is(err, errStopped) {
		p.mon.End(nil)
	} else {
		p.mon.End(err)
	}
	if certified := p.certify(); certified != nil && err == nil {
		err = certified
	}
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		return errInterrupted
	}
	return err
}

// keep opens what outlives the process, and puts it into the configuration. The function that it returns lets go of all that again.
func (p *participant) keep(cfg *sdk.Config) (release func() error, err error) {
	store, err := state.Open(p.file.State, p.fleet.StateSize(p.file.Name, cfg.Samples))
	if err != nil {
		return nil, err
	}
	for _, remark := range store.Remarks() {
		p.say("state: %s", remark)
	}
	cfg.Store, p.files = store, []writer{store}
	if p.file.Ledger == "" {
		return store.Close, nil
	}
	if cfg.Ledger, err = state.OpenLedger(p.file.Ledger); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if cfg.Heads, err = state.OpenHeads(p.file.Heads()); err != nil {
		return nil, errors.Join(err, cfg.Ledger.Close(), store.Close())
	}
	p.files = append(p.files, cfg.Ledger)
	p.ledger = cfg.Ledger
	return func() error { return errors.Join(cfg.Ledger.Close(), store.Close()) }, nil
}

// certify writes what has leaked so far into the node's folder.
func (p *participant) certify() error {
	if p.fleet.Privacy.NonPrivate || p.node.Spend() == 0 {
		return nil
	}
	cert, err := p.node.Certificate()
	if err != nil {
		return err
	}
	p.certificate = certificatePath(p.file.State)
	return state.WriteCertificate(p.certificate, cert)
}

// watch ends the run when every neighbor means another fleet: nothing can go on then, and most likely it is this node's file that
// is wrong. If only some do it is theirs to end.
func (p *participant) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	// Refusals come early, and a processor that sleeps saves the battery.
	for wait := time.Second / 2; ; wait = min(2*wait, 16*time.Second) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		var refusals []string
		peers := p.tr.Peers()
		for _, peer := range peers {
			if peer.Refused != nil {
				refusals = append(refusals, fmt.Sprintf("%q: %v", peer.Name, peer.Refused))
			}
		}
		if len(peers) > 0 && len(refusals) == len(peers) {
			cancel(fmt.Errorf("%w: %s", errMismatch, strings.Join(refusals, "; ")))
			return
		}
	}
}

// say prints a status line.
func (p *participant) say(format string, args ...any) {
	p.show.say("%s"+format, append([]any{p.mark()}, args...)...)
}

// mark stands in front of everything that is said about a run without privacy.
func (p *participant) mark() string {
	if p.fleet.Privacy.NonPrivate {
		return "NOT PRIVATE  "
	}
	return ""
}

// released shows a round. What is said here may end up in a log that leaves the device, so there is nothing in it of this
// node's data.
func (p *participant) released(round int, _ []float32) {
	note := "NOT PRIVATE"
	if pr := p.fleet.Privacy; !pr.NonPrivate {
		note = fmt.Sprintf("epsilon %s at delta %v", epsilonText(pr.Accounting.Epsilon(p.node.Spend(), pr.Delta)), pr.Delta)
	}
	p.show.round(round, note)
}

// waiting says who holds the round up, and what is known of the way to them.
func (p *participant) waiting(round int, neighbors []string) {
	leaveCode()
	missing := make(map[string]bool)
	for _, name := range neighbors {
		missing[name] = true
	}
	var each []string
	for _, peer := range p.tr.Peers() {
		switch {
		case !missing[peer.Name]:
		case peer.Connected:
			each = append(each, fmt.Sprintf("%q (connected)", peer.Name))
		case peer.Err != nil:
			each = append(each, fmt.Sprintf("%q (not connected: %v)", peer.Name, peer.Err))
		default:
			each = append(each, fmt.Sprintf("%q (not connected)", peer.Name))
		}
	}
	if p.restore && round == 0 && len(each) > 0 {
		p.say("recovering: waiting for %s", strings.Join(each, ", "))
		return
	}
	p.say("after round %d of %d: waiting for %s", round, p.show.last, strings.Join(each, ", "))
}

// neighbors lists the neighbors' names.
func (p *participant) neighbors() string {
	var names []string
	for _, peer := range p.tr.Peers() {
		names = append(names, fmt.Sprintf("%q", peer.Name))
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// lines passes what a logger writes to the progress display, line by line.
type lines struct{ show *progress }

func (l lines) Write(b []byte) (int, error) {
	l.show.say("%s", bytes.TrimRight(b, "\n"))
	return len(b), nil
}

// runResult is the outcome of a node's run, and its JSON.
type runResult struct {
	Run        string   `json:"run"`
	Name       string   `json:"name"`
	Rounds     int      `json:"rounds"` // releases made, cool-down included
	Done       bool     `json:"done"`
	NonPrivate bool     `json:"non_private"`
	Queries    int64    `json:"queries"`
	BytesSent  int64    `json:"bytes_sent"` // of encoded frames
	Seconds    float64  `json:"seconds"`
	Model      string   `json:"model_sha256"` // of the model as float32, little endian
	Local      *local   `json:"local_display"`
	Privacy    *privacy `json:"privacy"`
	effort
	// Certificate is the file that says what the run, and all runs on the same data, have leaked; empty without privacy.
	Certificate string `json:"certificate,omitempty"`
	// Recovered is the release after which this device took over from a lost one; absent if it did not.
	Recovered int `json:"recovered_after,omitempty"`

	learning int // how many of the releases cost something
}

// local is what the guarantee does not cover: it comes from this node's data directly.
type local struct {
	Accuracy float64 `json:"accuracy"` // in percent, on test samples
	Samples  int     `json:"test_samples"`
	Covered  bool    `json:"covered_by_privacy"`
}

func (p *participant) result() *runResult {
	model, st := p.node.Model(), p.node.Status()
	r := &runResult{
		Run: p.fleet.Run, Name: p.file.Name, Rounds: st.Round, Done: st.Done, NonPrivate: p.fleet.Privacy.NonPrivate,
		Queries: st.Queries, BytesSent: st.BytesSent, Model: sdk.ModelHash(model),
		learning: min(st.Round, p.fleet.Method.Rounds), Certificate: p.certificate, Recovered: st.Recovered,
		effort: newEffort(p.files, st.BytesSent, st.Round-p.begun),
	}
	if p.own.Test != nil {
		if accuracy := p.own.Test.Accuracy(model); !math.IsNaN(accuracy) {
			r.Local = &local{Accuracy: 100 * accuracy, Samples: p.own.Test.Len()}
		}
	}
	if !r.NonPrivate {
		r.Privacy = newPrivacy(p.node.Spend(), p.fleet.Privacy, p.own.ConditionalOn)
	}
	return r
}

// write prints the outcome for people.
func (r *runResult) write(w io.Writer) {
	fmt.Fprintf(w, "model          sha256 %s after %d rounds of run %q\n", r.Model, r.Rounds, r.Run)
	if r.Recovered > 0 {
		fmt.Fprintf(w, "recovered      after release %d, from what the neighbors knew\n", r.Recovered)
	}
	fmt.Fprintf(w, "cost           %d losses, %s sent, %.1f s\n", r.Queries, bytesText(r.BytesSent), r.Seconds)
	r.effort.write(w)
	if r.Local != nil {
		fmt.Fprintf(w, "accuracy       %.2f %% of %d test samples; for this device only: the privacy guarantee does not cover it\n", r.Local.Accuracy, r.Local.Samples)
	}
	(&result{Rounds: r.learning, Privacy: r.Privacy}).writePrivacy(w)
	if r.Certificate != "" {
		fmt.Fprintf(w, "certificate    %s (spade-edge privacy -verify %s checks it)\n", r.Certificate, r.Certificate)
	}
}
