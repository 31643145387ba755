package sdk

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// Oracle returns the loss of a parameter vector for one sample. It should name its data: see [zoest.Digester].
type Oracle = zoest.Oracle

// OracleFunc turns a function into an [Oracle].
type OracleFunc = zoest.OracleFunc

// Config describes a [Node]. Its first five fields are required.
type Config struct {
	Fleet     Planner             // the run, the same for all members: a *Fleet, or the *Plan of one
	Name      string              // the name of this member
	Oracle    Oracle              // the loss, perhaps a zoest.BatchOracle, which gets up to Window queries, or a zoest.Digester
	Transport transport.Transport // reaches neighbors by name; the caller closes it
	Samples   int                 // m, the number of the oracle's samples, at least 1

	// State that outlives the process. A restarted node without a Store fails once its Ledger or a neighbor shows
	// earlier releases of this node.

	Store  state.Store   // a restarted node continues from it, bit for bit if its data is the same; see [zoest.Digester]
	Ledger *state.Ledger // counts the releases of all runs on the same data, and remembers neighbors' ledgers; nil: only this run's count

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

	Window      int   // queries per call of the oracle, about 4*Dim bytes each; 0 means 1, or 16 for a batch oracle; see [zoest.Window]
	MemoryLimit int64 // bytes that estimator tracking may add to a Store, 4*Samples*(Dim+3); 0 means 64 MiB

	// Reporting.

	ConditionalOn []string     // for [Node.Certificate]: facts taken as public although data may have shaped them
	Events        Events       // optional functions that the node calls
	Logger        *slog.Logger // nil means slog.Default(); slog.DiscardHandler logs nothing

	// For simulations and tests only: predictable noise protects nobody.

	Noise  io.Reader                         // source of the release noise; nil means crypto/rand
	Secret func(neighbor string) pair.Secret // replaces the secrets that follow from PairKeys

	plan *Plan // of Fleet, set by validate
}

// ErrWithout reports that [Config].Without is invalid.
var ErrWithout = errors.New("the run cannot continue without these neighbors")

// validate sets the plan, and reports all errors at once. If complete is false, Oracle, Transport and Samples may be
// missing.
func (c *Config) validate(complete bool) error {
	var errs faults
	if c.Fleet == nil {
		errs.add(errNoFleet)
	} else {
		var err error
		c.plan, err = c.Fleet.Plan()
		errs.add(err)
	}
	if c.plan != nil {
		c.checkMember(&errs, complete)
		c.checkSecrets(&errs, complete)
	}
	switch {
	case c.Key == nil || c.Keys == nil:
		errs.when((c.Key == nil) != (c.Keys == nil), "only one of Key and Keys is set, want both or neither")
	case len(c.Key) != ed25519.PrivateKeySize:
		errs.when(true, "Key has %d bytes, want %d", len(c.Key), ed25519.PrivateKeySize)
	default:
		keys := c.Keys(c.Name)
		known := slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return k.Equal(c.Key.Public()) })
		errs.when(!known, "Keys has %d keys for %q, but Key matches none of them", len(keys), c.Name)
	}
	errs.when(c.Patience != 0 && c.Patience < minPatience, "Patience is %v, want 0 (wait indefinitely) or at least %v",
		c.Patience, minPatience)
	errs.when(c.Window < 0, "Window is %d, want 0 or more", c.Window)
	errs.when(c.ResendAfter < 0 || c.Linger < 0, "ResendAfter is %v and Linger is %v, want 0 or more for each", c.ResendAfter, c.Linger)
	errs.when(complete && (c.Samples < 1 || int64(c.Samples) > math.MaxInt32), "Samples is %d, want 1..%d", c.Samples, math.MaxInt32)
	errs.when(complete && isNil(c.Oracle), "Oracle is nil, want a function or a value that returns losses")
	errs.when(complete && c.Transport == nil, "Transport is nil")
	return errors.Join(errs...)
}

// checkMember checks what this member brings into the fleet: name, transport, neighbors and samples.
func (c *Config) checkMember(errs *faults, complete bool) {
	f := c.plan.fleet
	errs.when(f.X0Hash != "", "Fleet.X0Hash is set: a run needs X0 itself")
	if c.Transport != nil {
		most, want := c.Transport.MaxFrame(), wire.MaxFrame(f.Dim)
		errs.when(most < want, "the transport accepts frames of at most %d bytes, want at least %d for dimension %d", most, want, f.Dim)
	}
	tracking := f.Method.Estimator == zoest.Tracking
	limit, size := cmp.Or(c.MemoryLimit, setting.MemoryLimit), 4*int64(c.Samples)*int64(f.Dim+3)
	errs.when(tracking && (c.Store != nil || !complete) && size > limit, "estimator %q needs 4*samples*(dim+3) "+
		"bytes in every stored state, more than the limit of %d bytes: raise MemoryLimit, use fewer samples, or "+
		"use estimator %q", zoest.Tracking, limit, zoest.Paper)
	self, known := c.plan.number[c.Name]
	errs.when(!known, "Name is %q, want one of the fleet's members %q", c.Name, f.Members)
	if !known {
		return
	}
	if c.Samples > 0 {
		errs.add(f.checkSamples(self, c.Samples))
	}
	all := c.plan.graph.Neighbors(self)
	wrong := len(c.Without) > 0 && len(c.Without) == len(all)
	for i, name := range c.Without {
		j, known := c.plan.number[name]
		wrong = wrong || !known || slices.Contains(c.Without[:i], name) || !slices.Contains(all, j)
	}
	errs.when(wrong, "%w: Without is %q, want distinct neighbors of %q, but not all of them", ErrWithout, c.Without, c.Name)
}

// checkSecrets checks that the sources of noise, its keys and the ledger suit the fleet's privacy.
func (c *Config) checkSecrets(errs *faults, complete bool) {
	f := c.plan.fleet
	shares := f.Privacy.PairSigma > 0
	errs.when(f.Privacy.NonPrivate && c.Noise != nil, "Noise is set, but the fleet is not private")
	errs.when(!shares && c.Secret != nil, "Secret is set, but the fleet's members share no noise")
	errs.when(shares && c.Secret == nil && f.PairKeys == nil, "Fleet.PairKeys is nil, want a one-time key of each member, "+
		"because members share noise")
	errs.when(complete && shares && c.Secret == nil && c.PairKeys == nil, "PairKeys is nil, want the private halves of the "+
		"one-time keys of %q, because members share noise", c.Name)
	errs.when(f.Privacy.NonPrivate && c.Ledger != nil,
		"Ledger is set, but the fleet is not private: the privacy cost of a run without noise is unbounded")
}

// noise returns the source of the release noise, or nil if the fleet is not private.
func (c *Config) noise() io.Reader {
	if c.Noise == nil && !c.plan.fleet.Privacy.NonPrivate {
		return rand.Reader
	}
	return c.Noise
}

// fill replaces zero values by the defaults that they stand for.
func (c *Config) fill() {
	if _, many := c.Oracle.(zoest.BatchOracle); many && c.Window == 0 {
		c.Window = 16
	}
	c.ResendAfter, c.Linger = cmp.Or(c.ResendAfter, 2*time.Second), cmp.Or(c.Linger, 30*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
}

// isNil reports whether an oracle is nil, or an interface that holds a nil function or pointer.
func isNil(o Oracle) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || (v.Kind() == reflect.Func || v.Kind() == reflect.Pointer) && v.IsNil()
}
