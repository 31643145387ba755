package sdk

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Oracle is the black box that a node trains: one loss at one point for one sample. See [zoest.Oracle].
type Oracle = zoest.Oracle

// BatchOracle is an oracle that works on several queries at once. See [zoest.BatchOracle].
type BatchOracle = zoest.BatchOracle

// Query is one question for the oracle. See [zoest.Query].
type Query = zoest.Query

// OracleFunc makes a function an [Oracle].
type OracleFunc = zoest.OracleFunc

// Config is what a [Node] is made of. Fleet, Name, Samples, Oracle and Transport are required.
type Config struct {
	Fleet     *Fleet              // the run; the same for all members
	Name      string              // the member that this node is
	Samples   int                 // m, how many samples the oracle knows; at least 1
	Oracle    Oracle              // the loss; Run calls it, with up to Window queries at once if it is a BatchOracle
	Transport transport.Transport // reaches the neighbors by their names; the caller closes it

	// Store keeps the node's state. A node that is made again after a crash goes on where it was, with the same bits and
	// no release twice. Nil keeps nothing: a node that is made again in the same run then stops if its Ledger or a
	// neighbor knows of releases. A neighbor may lie, and then gets a second look at the data.
	Store state.Store
	// Recover gets the state of a lost device back from the neighbors into a fresh Store, see [ErrRecovery]. The payload
	// must be PayloadRelease. A Store that keeps a state makes it do nothing.
	Recover bool
	// Ledger counts the releases of all runs on the same data, see [state.Ledger]. Nil counts this run alone.
	Ledger *state.Ledger

	// Key is the member's secret key, which signs every release. Keys returns the public keys of a member whose signatures
	// count: present, next and retired ones; Run calls it, and it may change over time. All members of a fleet have both,
	// or none. Without them a neighbor's claim is believed as it comes, which can end the run and charges nothing, and
	// certificates are not signed.
	Key  ed25519.PrivateKey
	Keys func(member string) []ed25519.PublicKey
	// Heads remembers what neighbors have signed of their ledgers over all runs, see [state.OpenHeads]; nil remembers this
	// run's.
	Heads *state.Heads

	// ConditionalOn lists, for [Node.Certificate], what was taken as public though data may have shaped it, a sentence
	// each.
	ConditionalOn []string

	SeededTable bool // keeps 8 bytes a sample in place of 4*Dim, for one more drawn direction a query; the same bits
	Window      int  // queries asked at once, 8*Dim bytes each; 0 means 1, or 16 of a BatchOracle
	Retries     int  // how often a failed query is asked again, unchanged; 0 means 2, negative never
	Average     bool // keeps the mean of all releases as well, for [Node.Averaged]

	Observer Observer     // is told what happens
	Logger   *slog.Logger // nil logs nothing

	// Noise is the source of the release noise; nil means crypto/rand. A run whose noise can be predicted protects nobody:
	// anything else is for simulations and tests.
	Noise io.Reader

	// ResendAfter is how long a round may stand still before messages are sent again; 0 means 2 s. The wait doubles up to
	// 16 times as long while the round stands still; in a lossy run it stays.
	ResendAfter time.Duration
	// Linger is how long a finished node waits for neighbors that may still need its last message; 0 means 30 s.
	Linger time.Duration
}

// Observer is told what happens in a node. Functions may be nil. Run calls them and waits for them.
type Observer struct {
	// Released is called after every release, 1 to Rounds+Cooldown, with the released model, which is valid during the
	// call. Model, Status and Spend include it already; nothing of it has been sent.
	Released func(round int, x []float32)
	// Waiting is called once a round when messages of these neighbors are missing and nothing has moved for ResendAfter.
	// During a recovery it is called with round 0 each time that others are missing.
	Waiting func(round int, neighbors []string)
}

// complete is validate for a configuration that is about to be used: nothing required may be missing.
func (c Config) complete() (*plan, error) {
	p, err := c.validate()
	if c.Samples < 1 {
		err = errors.Join(err, fmt.Errorf("sdk: Samples is %d, want at least 1", c.Samples))
	}
	if c.Oracle == nil {
		err = errors.Join(err, errors.New("sdk: Oracle is nil"))
	}
	if c.Transport == nil {
		err = errors.Join(err, errors.New("sdk: Transport is nil"))
	}
	return p, err
}

// validate reports every fault of what is set at once, and returns the fleet's plan.
func (c Config) validate() (*plan, error) {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("sdk: "+format, args...)) }
	var p *plan
	if c.Fleet == nil {
		fault("Fleet is nil")
	} else {
		var err error
		p, err = c.Fleet.plan()
		errs = append(errs, err)
		if !slices.Contains(c.Fleet.Members, c.Name) {
			fault("Name is %q, want one of the fleet's members %q", c.Name, c.Fleet.Members)
		}
		if c.Transport != nil && c.Fleet.Dim > 0 && c.Transport.MaxFrame() < wire.MaxFrame(c.Fleet.Dim) {
			fault("the transport takes frames of %d bytes, want at least %d for dimension %d",
				c.Transport.MaxFrame(), wire.MaxFrame(c.Fleet.Dim), c.Fleet.Dim)
		}
		if c.Recover {
			fault := func(format string, args ...any) { fault("Recover is set, and "+format, args...) }
			switch w := c.Fleet.wire(); {
			case w.Lossy > 0:
				fault("the fleet is lossy: its members do not know each other's state, want one that waits for all neighbors, "+
					"with payload %q", PayloadRelease)
			case w.Payload != PayloadRelease:
				fault("the fleet's payload is %q: from messages a neighbor knows neither a release nor the other end's "+
					"z to the bit, want payload %q", w.Payload, PayloadRelease)
			}
			if c.Store == nil {
				fault("Store is nil: what comes back has to be stored before it is used")
			}
			if p != nil && slices.Contains(c.Fleet.Members, c.Name) && len(p.graph.Neighbors(p.number[c.Name])) == 0 {
				fault("%q has no neighbors: nobody else knows its state", c.Name)
			}
		}
		if c.Fleet.Privacy.NonPrivate && c.Noise != nil {
			fault("Noise is set in a fleet that is not private")
		}
		if c.Fleet.Privacy.NonPrivate && c.Ledger != nil {
			fault("Ledger is set in a fleet that is not private: what it spends has no bound that could be written down")
		}
	}
	switch {
	case (c.Key == nil) != (c.Keys == nil):
		fault("Key and Keys: want both or neither")
	case c.Key != nil && len(c.Key) != ed25519.PrivateKeySize:
		fault("Key has %d bytes, want %d", len(c.Key), ed25519.PrivateKeySize)
	case c.Key != nil && !hasKey(c.Keys(c.Name), c.Key):
		fault("Keys has %d keys for %q, and Key belongs to none of them", len(c.Keys(c.Name)), c.Name)
	}
	if c.Window < 0 {
		fault("Window is %d, want 0 or more", c.Window)
	}
	if c.ResendAfter < 0 || c.Linger < 0 {
		fault("ResendAfter is %v and Linger %v, want neither negative", c.ResendAfter, c.Linger)
	}
	return p, errors.Join(errs...)
}
