package device

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
)

// Errors that [Device.Run] returns, in addition to the errors of package sdk and its subpackages.
var (
	// ErrMismatch means that every neighbor's fleet differs from this node's fleet.
	ErrMismatch = errors.New("no neighbor has the same fleet as this node")
	// ErrInterrupted means that the context ended. The run can be continued.
	ErrInterrupted = errors.New("interrupted; run again to continue")
	// ErrStopped means that [AskStop] ended the run. The run can be continued.
	ErrStopped = errors.New("stopped on request; run again to continue")
)

// Link is a transport over a network, such as the transports of packages ws and nats.
type Link interface {
	transport.Transport

	// Peers returns the state of every neighbor.
	Peers() []transport.PeerStatus
	// Update replaces the keys and addresses of all neighbors. After an error nothing has changed.
	Update(peers []transport.Peer) error
}

// Device is a node made from its files. Do not change its exported fields after calling Run.
type Device struct {
	File  *fleetfile.Node
	Fleet *fleetfile.File // the fleet file as it was at the start; the current file may have other keys and addresses
	Key   ed25519.PrivateKey
	Proxy *url.URL // proxy for dialing neighbors or broker, with credentials; nil for the proxy of the environment

	// Open opens the transport, which Run closes.
	Open func(log *slog.Logger) (Link, error)

	// Say receives messages for the operator, line by line; if Say is nil, slog.Default() receives them. Released, if
	// not nil, receives every release x, which is valid only during the call, and the cost, in zCDP, of all releases so
	// far. Neither function receives any of the node's data. Both functions must be safe for concurrent use.
	Say      func(line string)
	Released func(round int, x []float32, spent dpmech.Total)
	// Opened, if not nil, is called with the source that the run will use, before anything is sent.
	Opened func(source *fleetfile.Source)
	// Finished, if not nil, is called when the run has ended without an error and the transport is closed: nothing that
	// it does, and no time that it takes, can reach a neighbor. It receives the source, which is still open, and the
	// final model.
	Finished func(ctx context.Context, source *fleetfile.Source, model []float32)
	Log      slog.Handler // handler for the logs of node and transport; if nil, they go to Say
	// Linger, if not nil, is called after Finished. Run then serves the monitor's page until the returned channel fires
	// or the context of Run ends; state and ledger stay open until then.
	Linger func(o *Outcome) <-chan time.Time

	HTTP    string   // loopback address of the page; empty for no page. Load takes it from the node file
	Program string   // name and version of the program, for its status and metrics; empty if unknown
	Anyway  bool     // start a run even if [plan.Hopeless] returns an error
	Without []string // names of neighbors to give up, see [sdk.Config]

	// Source, if not nil, replaces the source that the oracle of the node file opens. Run closes it.
	Source *fleetfile.Source
	// Service is true if the process has no other purpose than this node. Run then reads the fleet file again after
	// SIGHUP, talks to the service manager that NOTIFY_SOCKET and WATCHDOG_USEC name, removes these two variables from
	// the environment, and frees the memory of the process's code while the node waits. Inside another program, Run does
	// none of this.
	Service bool

	// Noise is for tests only. If it is not nil, it replaces the operating system as the source of release noise of a
	// private node. number is the member's index in Fleet.Members, and round returns the number of releases that the
	// node has made so far.
	Noise func(number int, round func() int) io.Reader

	plan    *sdk.Plan
	fleet   *sdk.Fleet                     // of plan
	token   string                         // token for metrics, see [fleetfile.Metrics]
	tls     *tls.Config                    // configuration for metrics
	current atomic.Pointer[fleetfile.File] // the fleet file as it was last read
	source  *fleetfile.Source
	store   *state.Dir
	ledger  *state.Ledger // nil without a ledger
	link    Link
	unlink  func() error // closes link; safe to call again
	node    *sdk.Node
	flat    error // at the end, why nothing can be learned from a program's losses
	monitor *monitor.Monitor
	manager *notifier
	hangUp  context.CancelFunc // closes all connections of the control socket
	alive   atomic.Bool        // true once node and monitor exist
}

// Load reads the fleet file, the key and the proxy's credentials that a node file names.
func Load(file *fleetfile.Node) (*Device, error) {
	fleet, key, err := file.Load()
	if err != nil {
		return nil, err
	}
	run, err := fleet.Plan()
	if err != nil {
		return nil, err
	}
	proxy, err := file.OpenProxy()
	if err != nil {
		return nil, err
	}
	d := &Device{File: file, Fleet: fleet, Key: key, Proxy: proxy, HTTP: file.HTTP, plan: run, fleet: run.Fleet(), hangUp: func() {}}
	if file.Metrics != nil {
		if d.token, d.tls, err = file.Metrics.Open(); err != nil {
			return nil, err
		}
	}
	d.current.Store(fleet)
	return d, nil
}

// Run runs the node through all remaining rounds. Call it at most once.
func (d *Device) Run(ctx context.Context) (_ *Outcome, err error) {
	// A SIGHUP that arrives while the data is being loaded is handled later. Windows has no SIGHUP.
	hangup := make(chan os.Signal, 1)
	d.manager = new(notifier)
	if d.Service {
		signal.Notify(hangup, reload)
		defer signal.Stop(hangup)
		d.manager = newNotifier()
	}
	defer func() { d.hangUp() }() // deferred first, so that it runs last and AskStop returns when everything has ended
	if d.source = d.Source; d.source == nil {
		if d.source, err = d.File.Oracle.Open(ctx, d.Fleet); err != nil {
			return nil, err
		}
	}
	if d.Opened != nil {
		d.Opened(d.source)
	}
	closing := func(end func() error) { err = errors.Join(err, end()) }
	defer closing(d.source.Close)
	debug.FreeOSMemory() // a node runs for days and does not need the memory that loading took
	began, logger := time.Now(), d.logger()
	cfg := d.config(logger)
	defer func() {
		if d.ledger != nil {
			closing(d.ledger.Close)
		}
		if d.store != nil {
			closing(d.store.Close)
		}
	}()
	if err = d.openState(&cfg); err != nil {
		return nil, err
	}
	if err = cfg.Validate(); err != nil { // before neighbors can see this node
		return nil, err
	}
	if d.link, err = d.Open(logger.With("run", d.fleet.Run, "node", d.File.Name)); err != nil {
		return nil, err
	}
	d.unlink = sync.OnceValue(d.link.Close)
	defer closing(d.unlink)
	cfg.Transport = d.link
	defer d.reloadOn(hangup)()
	if err := d.run(ctx, cfg, began); err != nil {
		return nil, err
	}
	return d.outcome(began), nil
}

// config returns the configuration of the node, without what Run opens after the source.
func (d *Device) config(logger *slog.Logger) sdk.Config {
	cfg := sdk.Config{
		Fleet: d.plan, Name: d.File.Name, Samples: d.source.Samples, Oracle: d.source.Oracle, Window: d.source.Window,
		MemoryLimit:   d.File.MemoryLimit,
		ConditionalOn: d.source.ConditionalOn,
		Linger:        d.File.Linger, ResendAfter: d.File.ResendAfter, Patience: d.File.Patience, Logger: logger, Without: d.Without, Key: d.Key,
		Keys: func(member string) []ed25519.PublicKey { return d.current.Load().SigningKeys(member) },
	}
	if d.Noise != nil && !d.fleet.Privacy.NonPrivate {
		cfg.Noise = d.Noise(slices.Index(d.fleet.Members, d.File.Name), func() int { return d.node.Status().Round })
	}
	return cfg
}

// logger returns the logger of the run, and sets Say if it is nil.
func (d *Device) logger() *slog.Logger {
	handler := d.Log
	if d.Say == nil {
		d.Say, handler = func(line string) { slog.Info(line) }, cmp.Or(handler, slog.Default().Handler())
	}
	if handler == nil {
		handler = slog.NewTextHandler(lines{d}, nil)
	}
	logger := slog.New(handler)
	if d.fleet.Privacy.NonPrivate {
		logger = logger.With("privacy", "NOT PRIVATE")
	}
	return logger
}

// openState opens the state folder and the ledger, if any, for cfg. The caller closes both, also after an error.
func (d *Device) openState(cfg *sdk.Config) (err error) {
	if d.store, err = state.Open(d.File.State); err != nil {
		return err
	}
	for _, remark := range d.store.Remarks() {
		d.say("state: %s", remark)
	}
	cfg.Store, cfg.PairKeys = d.store, state.PairKeys(d.File.PairKeys)
	if d.File.Ledger == "" {
		return nil
	}
	if d.ledger, err = state.OpenLedger(d.File.Ledger); err != nil {
		kept, _ := d.store.Load()
		return state.LostLedger(err, d.File.Ledger, d.File.State, len(kept) > 0)
	}
	cfg.Ledger = d.ledger
	return nil
}

// run creates the node and runs it. The caller has opened the files and the link.
func (d *Device) run(ctx context.Context, cfg sdk.Config, began time.Time) (err error) {
	if err := d.create(cfg, began); err != nil {
		return err
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	leave, err := d.serve(cancel)
	if err != nil {
		return err
	}
	defer leave()
	go d.watch(inner, cancel)
	d.monitor.Begin(d.node)
	d.alive.Store(true)
	d.manager.send("READY=1")
	stopping := sync.OnceFunc(func() { d.manager.send("STOPPING=1") })
	defer stopping()
	defer context.AfterFunc(inner, stopping)()
	if err = d.node.Run(inner); errors.Is(err, ErrStopped) {
		d.monitor.End(nil)
	} else {
		d.monitor.End(err)
	}
	if certified := d.certify(); err == nil {
		err = certified
	}
	if err == nil {
		err = d.unlink()
	}
	if err == nil {
		d.finish(inner, began)
	}
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		return ErrInterrupted
	}
	return err
}

// create creates the node and its monitor, and says what they are about to do.
func (d *Device) create(cfg sdk.Config, began time.Time) (err error) {
	if d.monitor, err = d.newMonitor(began); err != nil {
		return err
	}
	cfg.Events = monitor.Both(d.monitor.Events(), sdk.Events{Released: d.released, Waiting: d.waiting})
	if d.node, err = sdk.New(cfg); err != nil {
		return err
	}
	if d.node.Status().Round == 0 && !d.Anyway {
		if err := plan.Hopeless(d.plan); err != nil {
			return err
		}
	}
	var neighbors []string
	for _, peer := range d.link.Peers() {
		neighbors = append(neighbors, peer.Name)
	}
	size := "" // size of the data set; empty in logs of a private run, which may leave the device
	if d.fleet.Privacy.NonPrivate {
		size = fmt.Sprintf("%d samples, ", cfg.Samples)
	}
	d.say("node %q of run %q: %s%d parameters, neighbors %s",
		d.File.Name, d.fleet.Run, size, d.fleet.Dim, cmp.Or(explain.Names(neighbors), "none"))
	return nil
}

// finish does what follows a complete run. The link is closed: nothing that finish does, and no time that it takes, can
// reach a neighbor.
func (d *Device) finish(ctx context.Context, began time.Time) {
	st := d.node.Status()
	if d.source.Asked != nil && st.FailedQueries == 0 && st.Queries > int64(time.Since(began)/(100*time.Millisecond)) {
		within, cancel := context.WithTimeout(ctx, 30*time.Second)
		_, d.flat = plan.Examine(within, d.source.Oracle, d.fleet, d.source.Samples, 0)
		cancel()
	}
	if d.Finished != nil {
		d.Finished(ctx, d.source, d.node.Model())
	}
	if d.Linger != nil {
		over := d.Linger(d.outcome(began))
		select {
		case <-ctx.Done():
		case <-over:
		}
	}
}

// certify writes a certificate of everything released so far. It does nothing if the run is not private or the node has
// made no release.
func (d *Device) certify() error {
	if !d.certified() {
		return nil
	}
	cert, err := d.node.Certificate()
	if err != nil {
		return err
	}
	return state.WriteCertificate(d.File.Certificate(), cert)
}

func (d *Device) certified() bool { return !d.fleet.Privacy.NonPrivate && d.node.Spend().Rho > 0 }

func (d *Device) say(format string, args ...any) {
	d.Say(d.prefix() + transport.Printable(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")))
}

// prefix returns the text that precedes every line in a run without privacy, or "" in a private run.
func (d *Device) prefix() string {
	if d.fleet.Privacy.NonPrivate {
		return "NOT PRIVATE  "
	}
	return ""
}

func (d *Device) released(round int, x []float32) {
	if d.Released != nil {
		d.Released(round, x, d.node.Spend())
	}
}

// waiting tells the user which neighbors or partners the node waits for in a round, and the state of their connections.
func (d *Device) waiting(round int, neighbors []string) {
	if d.Service {
		releaseCode()
	}
	d.say("after round %d of %d: waiting for %s", round, d.fleet.Method.Last(), transport.Ways(d.link, neighbors))
}

// lines passes a logger's output to Say, line by line.
type lines struct{ d *Device }

func (l lines) Write(b []byte) (int, error) {
	l.d.Say(string(bytes.TrimRight(b, "\n")))
	return len(b), nil
}
