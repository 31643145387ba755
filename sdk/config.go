package sdk

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Oracle returns the loss of a parameter vector for one sample.
type Oracle = zoest.Oracle

// OracleFunc turns a function into an [Oracle].
type OracleFunc = zoest.OracleFunc

// Config describes a [Node]. Its first five fields are required.
type Config struct {
	Fleet     *Fleet              // the run; the same for all members
	Name      string              // the name of this member
	Oracle    Oracle              // the loss, perhaps a zoest.BatchOracle, which gets up to Window queries, or a Digester
	Transport transport.Transport // reaches neighbors by name; the caller closes it
	Samples   int                 // m, the number of the oracle's samples, at least 1

	// State that outlives the process. A restarted node without a Store fails once its Ledger or a neighbor shows
	// earlier releases of this node.

	Store  state.Store   // a restarted node continues from it, bit for bit if its data is the same; see [Digester]
	Ledger *state.Ledger // counts the releases of all runs on the same data; nil: only this run's releases count
	Heads  *state.Heads  // the signed ledger checkpoints of neighbors from all runs; nil: only those of this run

	// Trust. Either all members have Key and Keys, or none. Without keys, certificates are unsigned, and a neighbor can
	// claim without proof that it holds later releases of this node: the claim ends the run, but charges nothing.

	Key  ed25519.PrivateKey                      // signs every release
	Keys func(member string) []ed25519.PublicKey // a member's public keys: present, next and retired; may change

	// PairKeys has the private halves of this member's one-time keys, if Fleet.PairKeys is set. A node whose Store and
	// Ledger are lost must not begin the run again.
	PairKeys pair.Keys

	// Neighbors. By default the node waits for all neighbors indefinitely.

	// Without lists neighbors to quarantine from the start of Run, whatever they send. At least one neighbor must
	// remain.
	Without []string
	// Patience, if not 0, is how long a neighbor may be silent before the node gives up on it, as if Without named it.
	// The minimum is 2 minutes. Every node sends heartbeats, even if its oracle is slow. The node never gives up on its
	// last neighbor, or on any neighbor while all are silent.
	Patience    time.Duration
	ResendAfter time.Duration // time without progress before messages are sent again; 0 means 2 s
	Linger      time.Duration // how long a finished node serves its neighbors; 0 means 30 s

	// Oracle queries.

	Window      int   // queries per call of the oracle, 8*Dim bytes each; 0 means 1, or 16 for a batch oracle
	MemoryLimit int64 // bytes that EstimatorTracking may add to a Store, 4*Samples*(Dim+3); 0 means DefaultMemoryLimit

	// Reporting.

	ConditionalOn []string     // for [Node.Certificate]: facts taken as public although data may have shaped them
	Events        Events       // optional functions that the node calls
	Logger        *slog.Logger // nil means slog.Default(); slog.DiscardHandler logs nothing

	// For simulations and tests only: predictable noise protects nobody.

	Noise  io.Reader                         // source of the release noise; nil means crypto/rand
	Secret func(neighbor string) pair.Secret // replaces the secrets that follow from PairKeys
}

// ErrWithout reports that [Config].Without is invalid.
var ErrWithout = errors.New("the run cannot continue without these neighbors")

// Window returns a Config.Window for a fast oracle: the number of queries of 8*dim bytes that fit into 64 KiB, but at
// least 1 and at most 16.
func Window(dim int) int { return max(1, min(16, 1<<13/max(1, dim))) }

// validate reports all errors at once and returns the fleet's plan. If complete is false, Oracle, Transport and Samples
// may be missing.
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
		refuse(f.X0Hash != "", "Fleet.X0Hash is set: a run needs X0 itself")
		self := slices.Index(f.Members, c.Name)
		refuse(self < 0, "Name is %q, want one of the fleet's members %q", c.Name, f.Members)
		if c.Transport != nil {
			most, want := c.Transport.MaxFrame(), wire.MaxFrame(f.Dim)
			refuse(f.Dim > 0 && most < want, "the transport accepts frames of at most %d bytes, want at least %d for "+
				"dimension %d", most, want, f.Dim)
		}
		if p != nil && self >= 0 {
			all := p.graph.Neighbors(self)
			left, wrong := len(all), false
			for i, name := range c.Without {
				j := slices.Index(f.Members, name)
				left--
				wrong = wrong || slices.Contains(c.Without[:i], name) || !slices.Contains(all, j)
			}
			refuse(len(c.Without) > 0 && (left == 0 || wrong), "%w: Without is %q, want distinct neighbors of %q, but not all "+
				"of them", ErrWithout, c.Without, c.Name)
			if c.Samples > 0 {
				errs = append(errs, f.checkSamples(self, c.Samples))
			}
		}
		tracking := f.Method.Estimator == EstimatorTracking
		limit, size := cmp.Or(c.MemoryLimit, DefaultMemoryLimit), 4*int64(c.Samples)*int64(f.Dim+3)
		refuse(tracking && (c.Store != nil || !complete) && size > limit, "estimator %q needs 4*samples*(dim+3) "+
			"bytes in every stored state, more than the limit of %d bytes: raise MemoryLimit, use fewer samples, or "+
			"use estimator %q", EstimatorTracking, limit, EstimatorPaper)
		refuse(f.Privacy.NonPrivate && c.Noise != nil, "Noise is set, but the fleet is not private")
		shares := f.Privacy.PairSigma > 0
		refuse(!shares && c.Secret != nil, "Secret is set, but the fleet's members share no noise")
		refuse(shares && c.Secret == nil && f.PairKeys == nil, "Fleet.PairKeys is nil, want a one-time key of each member, "+
			"because members share noise")
		refuse(complete && shares && c.Secret == nil && c.PairKeys == nil, "PairKeys is nil, want the private halves of the "+
			"one-time keys of %q, because members share noise", c.Name)
		refuse(f.Privacy.NonPrivate && c.Ledger != nil,
			"Ledger is set, but the fleet is not private: the privacy cost of a run without noise is unbounded")
	}
	switch {
	case c.Key == nil || c.Keys == nil:
		refuse((c.Key == nil) != (c.Keys == nil), "only one of Key and Keys is set, want both or neither")
	case len(c.Key) != ed25519.PrivateKeySize:
		refuse(true, "Key has %d bytes, want %d", len(c.Key), ed25519.PrivateKeySize)
	default:
		keys := c.Keys(c.Name)
		known := slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return k.Equal(c.Key.Public()) })
		refuse(!known, "Keys has %d keys for %q, but Key matches none of them", len(keys), c.Name)
	}
	refuse(c.Patience != 0 && c.Patience < minPatience, "Patience is %v, want 0 (wait indefinitely) or at least %v",
		c.Patience, minPatience)
	refuse(c.Window < 0, "Window is %d, want 0 or more", c.Window)
	refuse(c.ResendAfter < 0 || c.Linger < 0, "ResendAfter is %v and Linger is %v, want 0 or more for each", c.ResendAfter, c.Linger)
	refuse(complete && c.Samples < 1, "Samples is %d, want at least 1", c.Samples)
	refuse(complete && isNil(c.Oracle), "Oracle is nil, want a function or a value that returns losses")
	refuse(complete && c.Transport == nil, "Transport is nil")
	return p, errors.Join(errs...)
}

// isNil reports whether an oracle is nil, or an interface that holds a nil function or pointer.
func isNil(o Oracle) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || (v.Kind() == reflect.Func || v.Kind() == reflect.Pointer) && v.IsNil()
}
