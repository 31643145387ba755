package edge

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// ErrClosed is wrapped by the error of [Node.Run] on a node that was closed.
var ErrClosed = errors.New("the node is closed")

// Fleet is a run, with the keys and addresses of its members. The type fleetfile.File implements it, read from a file or
// made in Go.
type Fleet interface {
	ws.Fleet
	sdk.Planner
	SigningKeys(member string) []ed25519.PublicKey // the present and retired keys of a member
}

// Options is what a member decides for itself.
type Options struct {
	Samples int    // the number of the oracle's samples, at least 1
	Listen  string // the address at which neighbors reach this node, host:port; empty if it only dials

	// The ledger of a private run. The first Open makes it, later ones read it and ignore these fields. Dataset names
	// the data in certificates; empty means the name of the member. Declared is what earlier runs have spent, such as
	// state.NeverUsed; it is required. Limit bounds what all runs may spend; nil means that the ledger only counts.
	Dataset  string
	Declared certificate.Declaration
	Limit    *dpmech.Limit

	Logger    *slog.Logger        // of the node and of websockets; nil means slog.Default()
	Transport transport.Transport // replaces websockets; Open closes it on error, Close otherwise
	Configure func(*sdk.Config)   // changes further settings, such as Patience and Events, before the node listens
	Wait      time.Duration       // how long Close waits for Run and its oracle; 0 or less means 10 s
}

// Node is an open node. Its methods are safe for concurrent use.
type Node struct {
	*sdk.Node
	dir, run string      // dir is an absolute path
	state    fs.FileInfo // of the folder of the state
	private  bool
	wait     time.Duration
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	busy     chan struct{} // full while Run runs, and for good once everything is closed
	closing  sync.Mutex
	opened   []func() error // closes what Open has opened; in the order of opening
	addr     string
}

// Identity returns the public keys of the device with the given folder, for the fleet: its key, for fleetfile.Member.Keys,
// and one-time keys of pairwise noise that no run has used, at least one. A run with Privacy.PairSigma takes one of these
// from each member into Fleet.PairKeys. Identity makes what does not exist, in a folder that only its owner may
// read.
func Identity(dir, name string) (ed25519.PublicKey, []pair.Public, error) {
	if dir == "" {
		return nil, nil, errNoDir
	}
	pairs := state.PairKeys(filepath.Join(dir, "pairs.key"))
	unused, err := pairs.Unused(name)
	if err == nil && len(unused) == 0 {
		unused, err = pairs.Add(name, 8)
	}
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "node.key")
	key, err := secret.ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		public, err := secret.CreateKey(path)
		return public, unused, err
	} else if err != nil {
		return nil, nil, err
	}
	return key.Public().(ed25519.PublicKey), unused, nil
}

var errNoDir = errors.New(`edge: dir is empty, want the path of a folder; "." is the current one`)

// Open opens the node of a member in a folder. The node continues a run that it has begun, with the same bits if its
// oracle names its data (see [zoest.Digester]). On error everything is closed again. Errors name the file or the field.
func Open(dir string, fleet Fleet, name string, oracle sdk.Oracle, o Options) (_ *Node, err error) {
	n := &Node{wait: o.Wait, busy: make(chan struct{}, 1)}
	if n.wait <= 0 {
		n.wait = 10 * time.Second
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	if o.Transport != nil {
		n.opened = append(n.opened, o.Transport.Close)
	}
	defer func() {
		if n.Node == nil { // Open fails, or Configure panics
			err = errors.Join(err, n.closeAll())
		}
	}()
	if dir == "" {
		return nil, errNoDir
	}
	if n.dir, err = filepath.Abs(dir); err != nil { // the program may change its current folder
		return nil, err
	}
	if fleet == nil {
		return nil, errors.New("edge: the fleet is nil")
	}
	plan, err := fleet.Plan()
	if err != nil {
		return nil, err
	}
	def := plan.Fleet()
	n.run, n.private = url.PathEscape(def.Run), !def.Privacy.NonPrivate
	cfg := sdk.Config{Fleet: plan, Name: name, Oracle: oracle, Samples: o.Samples, Keys: fleet.SigningKeys, Logger: o.Logger,
		PairKeys: state.PairKeys(filepath.Join(n.dir, "pairs.key"))}
	if err := n.readKey(&cfg); err != nil {
		return nil, err
	}
	store, err := state.Open(filepath.Join(n.dir, "state-"+n.run))
	if err != nil {
		return nil, err
	}
	n.opened = append(n.opened, store.Close)
	cfg.Store = store
	if n.state, err = os.Stat(store.String()); err != nil {
		return nil, err
	}
	if n.private {
		if err := n.openLedger(&cfg, def.Privacy.Protects(), o, store); err != nil {
			return nil, err
		}
	}
	cfg.Transport = o.Transport
	if o.Configure != nil {
		o.Configure(&cfg)
	}
	if err := n.listen(&cfg, fleet, o.Listen); err != nil {
		return nil, err
	}
	n.Node, err = sdk.New(cfg)
	return n, err
}

// listen opens websockets unless there is a transport. It checks the settings first: data may decide whether they pass, and
// neighbors must not see the result.
func (n *Node) listen(cfg *sdk.Config, fleet Fleet, address string) error {
	if cfg.Transport != nil {
		return nil
	}
	if err := cfg.Validate(); err != nil {
		return err
	}
	config := ws.ConfigOf(fleet, cfg.Name, cfg.Key, address)
	config.Logger = cfg.Logger
	link, err := ws.New(config)
	if err != nil {
		return err
	}
	cfg.Transport, n.addr = link, link.Addr()
	n.opened = append(n.opened, link.Close)
	return nil
}

// readKey reads the device's key, and checks that it is the member's. It comes before anything is made in the folder.
func (n *Node) readKey(cfg *sdk.Config) (err error) {
	path := filepath.Join(n.dir, "node.key")
	cfg.Key, err = secret.ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("edge: %w; edge.Identity makes the key of a new device, before the fleet is made", err)
	} else if err != nil {
		return err
	}
	public := cfg.Key.Public().(ed25519.PublicKey)
	if !slices.ContainsFunc(cfg.Keys(cfg.Name), func(k ed25519.PublicKey) bool { return k.Equal(public) }) {
		return fmt.Errorf("edge: %s is not a key of %q in the fleet: want a member's name and the folder of its device, or a fleet "+
			"with the key %s", path, cfg.Name, transport.FormatKey(public))
	}
	return nil
}

// openLedger opens the ledger. It makes the ledger only in a folder without state or certificate of any run: the owner's
// declaration is about the time before this folder, and a lost ledger may have counted what its runs have spent.
func (n *Node) openLedger(cfg *sdk.Config, unit dpmech.Unit, o Options, store *state.Dir) (err error) {
	path := filepath.Join(n.dir, "ledger.json")
	cfg.Ledger, err = state.OpenLedger(path)
	if errors.Is(err, state.ErrNoLedger) {
		if has, unread := n.hasState(store); unread != nil || has != "" {
			return errors.Join(state.LostLedger(err, path, cmp.Or(has, n.dir), true), unread)
		}
		cfg.Ledger, err = state.CreateLedger(path, cmp.Or(o.Dataset, cfg.Name), unit, o.Limit, o.Declared)
		if disk := new(fs.PathError); err != nil && !errors.As(err, &disk) {
			err = fmt.Errorf("edge: Options.Declared, Limit or Dataset, from which the ledger %s is made: %w", path, err)
		}
	}
	if err != nil {
		return err
	}
	n.opened = append(n.opened, cfg.Ledger.Close)
	return nil
}

// hasState returns the path of a trace of earlier releases: a certificate of any run, the state folder of another run, or
// the state folder of this run if it holds a release. Without such a trace, hasState returns "".
func (n *Node) hasState(store *state.Dir) (string, error) {
	kept, err := store.Load()
	if err != nil || len(kept) > 0 {
		return store.String(), err
	}
	all, err := os.ReadDir(n.dir)
	for _, e := range all {
		if name := e.Name(); strings.HasPrefix(name, "certificate-") || strings.HasPrefix(name, "state-") && name != "state-"+n.run {
			return filepath.Join(n.dir, e.Name()), err
		}
	}
	return "", err
}

// Addr returns the address at which the node listens; "" if it only dials.
func (n *Node) Addr() string { return n.addr }

// Run runs the remaining rounds (see [sdk.Node.Run]) until ctx ends or the node is closed. Then it writes the certificate
// of a private run. Run can be called again after an interruption.
func (n *Node) Run(ctx context.Context) (err error) {
	if n.ctx.Err() != nil {
		return fmt.Errorf("edge: %s: %w", n.dir, ErrClosed)
	}
	path := filepath.Join(n.dir, "state-"+n.run)
	if now, err := os.Stat(path); err != nil || !os.SameFile(n.state, now) {
		return errors.Join(fmt.Errorf("edge: %s was removed or replaced after Open: close the node and open it again", path), err)
	}
	select {
	case n.busy <- struct{}{}:
		defer func() { <-n.busy }()
	default:
		return fmt.Errorf("edge: %s: Run is running already", n.dir)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(n.ctx, func() { cancel(fmt.Errorf("edge: %s: %w", n.dir, ErrClosed)) })()
	err = n.Node.Run(ctx)
	if n.private && n.Status().Round > 0 {
		c, failed := n.Certificate()
		if failed == nil {
			failed = state.WriteCertificate(n.CertificatePath(), c)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// CertificatePath returns the path of the certificate that [Node.Run] writes.
func (n *Node) CertificatePath() string { return filepath.Join(n.dir, "certificate-"+n.run+".json") }

// Close ends Run, waits for it, and closes everything that Open has opened. If Run or its oracle does not end in time,
// Close fails and everything stays open, locks included; Close can be called again. After success it does nothing. The
// oracle and the functions of Events must not call Close, which waits for them: they end the context of Run.
func (n *Node) Close() error {
	n.closing.Lock()
	defer n.closing.Unlock()
	n.cancel()
	if n.opened == nil {
		return nil
	}
	late := time.NewTimer(n.wait)
	defer late.Stop()
	select {
	case n.busy <- struct{}{}:
		return n.closeAll()
	case <-late.C:
		return fmt.Errorf("edge: Run, or the oracle that it has called, has not ended within %v: the files in %s stay open and "+
			"locked", n.wait, n.dir)
	}
}

func (n *Node) closeAll() error {
	n.cancel()
	var errs []error
	for i := len(n.opened) - 1; i >= 0; i-- {
		errs = append(errs, n.opened[i]())
	}
	n.opened = nil
	return errors.Join(errs...)
}
