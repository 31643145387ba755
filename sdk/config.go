package sdk

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Oracle tells the loss at one point for one sample.
type Oracle = zoest.Oracle

// OracleFunc makes a function an [Oracle].
type OracleFunc = zoest.OracleFunc

// Config is what a [Node] is made of. Its first five fields are required; every other one may be left out.
type Config struct {
	Fleet     *Fleet              // the run; the same for all members
	Name      string              // the member that this node is
	Oracle    Oracle              // the loss; Run calls it, Window queries at once if it is a zoest.BatchOracle
	Transport transport.Transport // reaches the neighbors by their names; the caller closes it
	Samples   int                 // m, how many samples the oracle knows; at least 1

	// What survives the process. Without a Store a new node of the same member stops if its Ledger or a neighbor, which may
	// lie, knows of releases.

	Store  state.Store   // the state: after a crash the node goes on where it was, with the same bits and no release twice
	Ledger *state.Ledger // what all runs on the same data have released; nil counts this run alone
	Heads  *state.Heads  // what neighbors have signed of their ledgers over all runs; nil remembers this run's
	// Recover makes this device replace a lost one, if Store is empty; with PayloadRelease. In a private run it makes no
	// release with data, as the lost device may have made it, and charges the whole run.
	Recover bool

	// Whom the node trusts. All members of a fleet have Key and Keys, or none: then certificates are not signed, and a
	// neighbor's claim is believed, which can end the run and charges nothing.

	Key  ed25519.PrivateKey                      // the member's secret key, which signs every release
	Keys func(member string) []ed25519.PublicKey // a member's public keys that count: present, next and retired; may change

	// Whom the node waits for: everybody, indefinitely, unless one of these is set.

	// Without names neighbors that are silent for good, but not all: they are in quarantine from the start of Run to the end
	// of the run, whatever they send. With [Privacy].Partners it may name partners too, whose keys then are not waited for.
	Without []string
	// Patience, if not 0, is how long a neighbor may be silent, or start late, before it is given up in the same way: at least
	// 2 minutes. Every node sends a heartbeat each 30 seconds, however long its oracle takes. The last neighbor is never
	// given up, and nobody is while nobody can be heard.
	Patience    time.Duration
	ResendAfter time.Duration // of standstill before messages are sent again, at first; 0 means 2 s
	Linger      time.Duration // how long a finished node waits for neighbors that may need its last message; 0 means 30 s

	// How queries are asked, and what is kept of them.

	Window  int // queries asked at once, 8*Dim bytes each; 0 means 1, or 16 of a batch oracle
	Retries int // how often a failed query is asked again, unchanged; 0 means 2, negative never
	// SeededTable keeps 8 bytes a sample in place of 4*Dim, for one more drawn direction a query; the same bits. Not with
	// EstimatorTracking.
	SeededTable bool
	// MemoryLimit bounds the bytes of EstimatorTracking's memory, 4*Samples*(Dim+1), in every stored state; 0 means
	// DefaultMemoryLimit. Without a Store there is no limit.
	MemoryLimit int64

	// What the node shows.

	Average       bool         // keeps the mean of all releases as well, for [Node.Averaged]
	ConditionalOn []string     // for [Node.Certificate]: what was taken as public though data may have shaped it
	Observer      Observer     // is told what happens
	Logger        *slog.Logger // nil stands for slog.Default(); slog.DiscardHandler is silent

	// For simulations and tests only: a run whose noise can be predicted protects nobody.

	Noise  io.Reader                         // source of the release noise; nil means crypto/rand
	Secret func(neighbor string) pair.Secret // what the node shares with a neighbor, in place of what the two would agree on
}

// ErrWithout says that [Config].Without cannot be done.
var ErrWithout = errors.New("neighbors to give up")

// DefaultMemoryLimit is what Config.MemoryLimit is if it is not set.
const DefaultMemoryLimit = 64 << 20

// Window returns a Config.Window for an oracle that answers at once: 1 to 16 queries, as many as fit into 64 KiB.
func Window(dim int) int { return max(1, min(16, 1<<13/max(1, dim))) }

// Observer is told what happens. Run waits for its functions; nil is allowed.
type Observer struct {
	// Released is called after every release, 1 to Rounds+Cooldown, before it is sent. x is valid during the call.
	Released func(round int, x []float32)
	// Waiting is called once a round when nothing has come of these neighbors for ResendAfter. In a takeover round is 0. If it
	// is nil, the Logger is told which neighbors are silent, and why, after 5 seconds and then rarely.
	Waiting func(round int, neighbors []string)
}

// validate reports all errors together, and returns the fleet's plan. With complete, nothing required may be missing.
func (c Config) validate(complete bool) (p *plan, err error) {
	var errs []error
	refuse := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf("sdk: "+format, args...))
		}
	}
	refuse(c.Fleet == nil, "Fleet is nil")
	if f := c.Fleet; f != nil {
		p, err = f.plan()
		errs = append(errs, err)
		self := slices.Index(f.Members, c.Name)
		refuse(self < 0, "Name is %q, want one of the fleet's members %q", c.Name, f.Members)
		if c.Transport != nil {
			most, want := c.Transport.MaxFrame(), wire.MaxFrame(f.Dim)
			refuse(f.Dim > 0 && most < want, "the transport takes frames of %d bytes, want at least %d for dimension %d", most,
				want, f.Dim)
		}
		w := f.wire()
		refuse(c.Recover && w.Payload != PayloadRelease,
			"Recover is set, and the fleet's payload is %q: both ends of an edge can begin it anew with payload %q only", w.Payload,
			PayloadRelease)
		refuse(c.Recover && c.Store == nil,
			"Recover is set, and Store is nil: where the device starts has to be stored before it is shown")
		if p != nil && self >= 0 {
			all := p.graph.Neighbors(self)
			refuse(c.Recover && len(all) == 0,
				"Recover is set, and %q has no neighbors: nobody else can tell it where the run stands", c.Name)
			left, strangers := len(all), len(c.Without)
			for i, name := range c.Without {
				j, again := slices.Index(f.Members, name), slices.Contains(c.Without[:i], name)
				switch {
				case again: // so that it is refused
				case slices.Contains(all, j):
					left, strangers = left-1, strangers-1
				case f.Privacy.Partners > 0 && slices.Contains(p.noise.Neighbors(self), j):
					strangers--
				}
			}
			refuse(len(c.Without) > 0 && (left == 0 || strangers > 0),
				"%w: Without is %q, want neighbors of %q, and not all of them, or members that it shares noise with", ErrWithout, c.Without,
				c.Name)
			refuse(complete && f.Privacy.Partners > 0 && c.Key == nil && c.Secret == nil,
				"Key is nil, and the fleet has partners: who passes their keys on could replace those that nobody has signed")
			if c.Samples > 0 && c.Samples != f.units(self, c.Samples) {
				errs = append(errs, f.wrongRecords(self, c.Samples))
			}
		}
		tracking := f.Method.Estimator == EstimatorTracking
		refuse(tracking && c.SeededTable, "SeededTable is set, and the fleet's estimator is %q: its rows cannot be computed "+
			"again", EstimatorTracking)
		limit, size := cmp.Or(c.MemoryLimit, DefaultMemoryLimit), 4*int64(c.Samples)*int64(f.Dim+1)
		refuse(tracking && (c.Store != nil || !complete) && size > limit, "the memory of estimator %q, 4*samples*(dim+1) bytes of "+
			"every stored state, is above the limit of %d bytes: raise MemoryLimit, take fewer samples or estimator %q",
			EstimatorTracking, limit, EstimatorCentered)
		refuse(f.Privacy.NonPrivate && c.Noise != nil, "Noise is set in a fleet that is not private")
		refuse(f.Privacy.PairSigma == 0 && c.Secret != nil, "Secret is set in a fleet whose members share no noise")
		refuse(f.Privacy.NonPrivate && c.Ledger != nil,
			"Ledger is set in a fleet that is not private: what it spends has no bound that could be written down")
	}
	switch {
	case c.Key == nil || c.Keys == nil:
		refuse((c.Key == nil) != (c.Keys == nil), "Key and Keys: want both or neither")
	case len(c.Key) != ed25519.PrivateKeySize:
		refuse(true, "Key has %d bytes, want %d", len(c.Key), ed25519.PrivateKeySize)
	default:
		keys := c.Keys(c.Name)
		known := slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return k.Equal(c.Key.Public()) })
		refuse(!known, "Keys has %d keys for %q, and Key belongs to none of them", len(keys), c.Name)
	}
	refuse(c.Patience != 0 && c.Patience < minPatience, "Patience is %v, want 0 (wait for everybody) or at least %v", c.Patience,
		minPatience)
	refuse(c.Window < 0, "Window is %d, want 0 or more", c.Window)
	refuse(c.ResendAfter < 0 || c.Linger < 0, "ResendAfter is %v and Linger %v, want neither negative", c.ResendAfter,
		c.Linger)
	refuse(complete && c.Samples < 1, "Samples is %d, want at least 1", c.Samples)
	refuse(complete && c.Oracle == nil, "Oracle is nil")
	refuse(complete && c.Transport == nil, "Transport is nil")
	return p, errors.Join(errs...)
}
