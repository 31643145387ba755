package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport/nats"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// errMismatch says that this node and its neighbors do not belong together.
var errMismatch = errors.New("every neighbor means another fleet")

// testNoise, which only tests set, gives a private node another source of release noise than the operating system's.
var testNoise func(p *participant) io.Reader

// participant is a node at work.
type participant struct {
	file    *fleetfile.Node
	fleet   *fleetfile.File
	members atomic.Pointer[fleetfile.File] // fleet as it was last read: keys may change during a run
	link    nats.Config
	log     *slog.Logger

	tr     *nats.Transport
	node   *sdk.Node
	ledger *state.Ledger // nil if there is none
	mon    *monitor.Monitor
}

// load reads all files of a node.
func load(path string, log io.Writer) (*participant, error) {
	p := &participant{}
	var err error
	if p.file, err = fleetfile.ReadNode(path); err != nil {
		return nil, err
	}
	broker := p.file.NATS
	if broker == nil {
		return nil, errors.New(`transport is missing, want {"nats": "tls://host:port"}; spade-edge runs a node over websockets`)
	}
	var link ws.Config
	if p.fleet, link, err = p.file.Load(); err != nil {
		return nil, err
	}
	p.members.Store(p.fleet)
	p.log = slog.New(slog.NewTextHandler(log, nil))
	if p.fleet.Fleet.Privacy.NonPrivate {
		p.log = p.log.With("privacy", "NOT PRIVATE")
	}
	p.link = nats.Config{
		Name: link.Name, Key: link.Key, Peers: peers(link.Peers), Run: p.fleet.Fleet.Run, Fleet: p.fleet.Fleet.Hash(), URLs: []string{broker.URL},
		Hello: link.Hello, CheckHello: link.CheckHello, MaxFrame: link.MaxFrame, Logger: p.log,
	}
	if broker.Credentials != "" {
		if _, err := os.Stat(broker.Credentials); err != nil {
			return nil, fmt.Errorf("transport.credentials: %w", err)
		}
		p.link.Options = append(p.link.Options, client.UserCredentials(broker.Credentials))
	}
	return p, nil
}

// peers are neighbors without their addresses.
func peers(all []ws.Peer) []nats.Peer {
	var out []nats.Peer
	for _, peer := range all {
		out = append(out, nats.Peer{Name: peer.Name, Keys: peer.Keys})
	}
	return out
}

// outcome is what is printed when the run is over, with the fields of spade-edge.
type outcome struct {
	Run         string  `json:"run"`
	Name        string  `json:"name"`
	Rounds      int     `json:"rounds"`
	Done        bool    `json:"done"`
	NonPrivate  bool    `json:"non_private"`
	Queries     int64   `json:"queries"`
	BytesSent   int64   `json:"bytes_sent"`
	Seconds     float64 `json:"seconds"`
	Model       string  `json:"model_sha256"`
	Certificate string  `json:"certificate,omitempty"`
}

// run takes the node through its rounds.
func (p *participant) run(ctx context.Context) (r *outcome, err error) {
	began := time.Now()
	hangup := make(chan os.Signal, 1) // one that comes while the data load waits, and does not end the process
	signal.Notify(hangup, syscall.SIGHUP)
	own, err := p.file.Oracle.Open(ctx, p.fleet)
	if errors.Is(err, fleetfile.ErrMismatch) {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	fleet := p.fleet.Fleet
	cfg := sdk.Config{
		Fleet: fleet, Name: p.file.Name, Samples: own.Samples, Oracle: own.Oracle, Window: own.Window, ConditionalOn: own.ConditionalOn,
		SeededTable: p.file.SeededTable, Average: p.file.Average, Linger: p.file.Linger, ResendAfter: p.file.ResendAfter, Logger: p.log,
		Key: p.link.Key, Keys: func(member string) []ed25519.PublicKey { return p.members.Load().SigningKeys(member) },
	}
	if testNoise != nil && !fleet.Privacy.NonPrivate {
		cfg.Noise = testNoise(p)
	}
	store, err := state.Open(p.file.State, fleet.StateSize(p.file.Name, own.Samples))
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for _, remark := range store.Remarks() {
		p.log.Warn("state", "remark", remark)
	}
	cfg.Store = store
	if p.file.Ledger != "" {
		if p.ledger, err = state.OpenLedger(p.file.Ledger); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.ledger.Close()) }()
		cfg.Ledger = p.ledger
		if cfg.Heads, err = state.OpenHeads(p.file.Heads()); err != nil {
			return nil, err
		}
	}
	if p.tr, err = nats.New(p.link); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.tr.Close()) }()
	p.log.Info("meeting", "broker", p.file.NATS.URL, "stream", nats.Stream(fleet.Run), "publishing on", nats.Subjects(fleet.Run, p.file.Name))
	cfg.Transport = p.tr
	defer p.reloadOnHangup(hangup)()
	if p.mon, err = monitor.New(monitor.Config{Fleet: fleet, Name: p.file.Name, Ledger: p.ledger, Links: func() []monitor.Link { return p.links(began) }}); err != nil {
		return nil, err
	}
	cfg.Observer = p.mon.Observer(sdk.Observer{Released: p.released, Waiting: p.waiting})
	if p.node, err = sdk.New(cfg); err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	leave, err := p.serve()
	if err != nil {
		return nil, err
	}
	defer leave()
	go p.watch(inner, cancel)
	p.mon.Begin(p.node)
	err = p.node.Run(inner)
	p.mon.End(err)
	certificate, certified := p.certify()
	if err == nil {
		err = certified
	}
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		err = errors.New("interrupted; run again to go on")
	}
	if err != nil {
		return nil, err
	}
	st := p.node.Status()
	return &outcome{
		Run: fleet.Run, Name: p.file.Name, Rounds: st.Round, Done: st.Done, NonPrivate: fleet.Privacy.NonPrivate, Queries: st.Queries,
		BytesSent: st.BytesSent, Seconds: time.Since(began).Seconds(), Model: sdk.ModelHash(p.node.Model()), Certificate: certificate,
	}, nil
}

// released shows a round. There is nothing in it of this node's data.
func (p *participant) released(round int, _ []float32) {
	m := p.fleet.Fleet.Method
	p.log.Info("released", "round", round, "of", m.Rounds+m.Cooldown)
}

// waiting says who holds the round up, and what is known of the way to them.
func (p *participant) waiting(round int, neighbors []string) {
	for _, peer := range p.tr.Peers() {
		for _, name := range neighbors {
			if peer.Name != name {
				continue
			}
			args := []any{"after round", round, "for", name, "broker reached", peer.Connected}
			if !peer.Heard.IsZero() {
				args = append(args, "last heard", peer.Heard.Format(time.RFC3339))
			}
			if peer.Err != nil {
				args = append(args, "err", peer.Err)
			}
			p.log.Info("waiting", args...)
		}
	}
}

// links says how the ways to the neighbors are.
func (p *participant) links(began time.Time) []monitor.Link {
	var all []monitor.Link
	for _, peer := range p.tr.Peers() {
		since := peer.Since
		if since.IsZero() {
			since = began
		}
		l := monitor.Link{Name: peer.Name, Connected: peer.Connected, Seconds: time.Since(since).Seconds(), Sent: peer.Sent, Received: peer.Received}
		if peer.Err != nil && !peer.Connected {
			l.Fault = peer.Err.Error()
		}
		if peer.Refused != nil {
			l.Refusal = peer.Refused.Error()
		}
		all = append(all, l)
	}
	return all
}

// serve shows a page, if the node file wants one, until the function that it returns is called.
func (p *participant) serve() (leave func(), err error) {
	if p.file.HTTP == "" {
		return func() {}, nil
	}
	l, err := monitor.Listen(p.file.HTTP)
	if err != nil {
		return nil, err
	}
	p.log.Info("page", "at", "http://"+l.Addr().String()+"/")
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { monitor.Serve(ctx, l, p.mon.Handler()) })
	return func() { cancel(); work.Wait() }, nil
}

// watch ends the run when every neighbor means another fleet: most likely it is this node's file that is wrong.
func (p *participant) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	for wait := time.Second / 2; ; wait = min(2*wait, 16*time.Second) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		var refusals []string
		all := p.tr.Peers()
		for _, peer := range all {
			if peer.Refused != nil {
				refusals = append(refusals, fmt.Sprintf("%q: %v", peer.Name, peer.Refused))
			}
		}
		if len(all) > 0 && len(refusals) == len(all) {
			cancel(fmt.Errorf("%w: %s", errMismatch, strings.Join(refusals, "; ")))
			return
		}
	}
}

// reloadOnHangup takes over the keys in the fleet file with every SIGHUP, until the function that it returns is called.
func (p *participant) reloadOnHangup(hangup chan os.Signal) (stop func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range hangup {
			if err := p.reload(); err != nil {
				p.log.Error("the fleet file is not taken over, everything stays as it was", "err", err)
				continue
			}
			p.log.Info("the fleet file is read again: keys are those of it now", "file", p.file.Fleet)
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(hangup)
		<-over
	}
}

// reload gives the transport the keys that the fleet file has now. Nothing else of the file may have changed.
func (p *participant) reload() error {
	file, link, err := p.file.Load()
	if err != nil {
		return err
	}
	if file.Fleet.Hash() != p.link.Fleet {
		err := p.link.CheckHello("its file", file.Fleet.Hello("its file")(p.file.Name)) // members would tell each other so
		return fmt.Errorf("only keys may change during a run: %w", err)
	}
	if err := p.tr.Update(peers(link.Peers)); err != nil {
		return err
	}
	p.members.Store(file)
	return nil
}

// certify writes what has leaked so far into the node's folder, and returns the file's path.
func (p *participant) certify() (path string, err error) {
	if p.fleet.Fleet.Privacy.NonPrivate || p.node.Spend() == 0 {
		return "", nil
	}
	cert, err := p.node.Certificate()
	if err != nil {
		return "", err
	}
	path = filepath.Join(p.file.State, "certificate.json")
	return path, state.WriteCertificate(path, cert)
}
