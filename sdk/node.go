package sdk

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

// Node is a running member. Its methods are safe for concurrent use.
type Node struct {
	cfg       Config
	fleet     *Fleet        // of cfg.plan
	machine   *admm.Machine // belongs to Run
	account   *account      // cost of the releases; nil if the run is not private
	encoded   []byte        // scratch space of record
	data      wire.Data     // identifies the data of the estimator's memory
	began     string        // when the run began on this device, in the form of [certificate.About]
	neighbors []int
	trust     *trust.Machine // belongs to Run
	secrets   *secrets       // of pairwise noise
	log       *slog.Logger

	failure string     // the reason of the last failed query; belongs to Run
	flat    string     // see [Status]; belongs to Run
	telling sync.Mutex // held while Events.Failed runs

	running sync.Mutex // held by Run, and guards failed
	failed  error      // why the machine must not be called again

	mu     sync.Mutex   // guards the fields below
	public trust.Public // copy of trust.Public
	model  []float32
	status Status
	made   string // when the last release was made, like began
}

// Status describes a node's progress.
type Status struct {
	Round         int                 // releases made so far, 0 to Method.Last
	Waiting       []string            // members whose messages the round waits for
	Queries       int64               // losses requested
	FailedQueries int64               // requests that failed, in this run; nobody outside the device learns this number
	LastFailure   string              // why the last of them failed, up to 2 KiB, perhaps with a stack; empty if none did
	Flat          string              // why nothing can be learned from the losses since Run began; empty if they change with x
	BytesSent     int64               // encoded frames passed to the transport, including repeats
	Refused       int64               // invalid frames from neighbors
	Done          bool                // the last release is made and the model is final
	Neighbors     []Neighbor          // all neighbors, in the order of Fleet.Members
	Evidence      []signed.Evidence   // against members that signed two releases of one round
	OtherLedgers  []state.OtherLedger // ledgers of this member that neighbors know of and that its ledger does not count

	DataChanged string // a sentence that names the releases before which the data changed; "" for none

	ConsensusError float64 // mean of |x_i - x_j|^2 over the neighbors j, after release Compared
	Compared       int     // the release of ConsensusError; 0 before the first round ends
}

// Neighbor is a node's view of one neighbor.
type Neighbor struct {
	Name       string
	Round      int              // the last of its releases that arrived, at most one more than this node's own; 0: none
	Refused    int64            // its invalid frames since New
	Quarantine state.Quarantine // why this node stopped working with it; zero if it did not
}

// New returns a node. It continues from the state in cfg.Store, if any. New fails if the run could not end with a
// certificate: the ledger must count its unit and have room for all its rounds, and a certificate must be able to state
// its names and conditions. The rest of a certificate follows from the releases, and [Node.Certificate] verifies it.
func New(cfg Config) (*Node, error) {
	if err := cfg.validate(true); err != nil {
		return nil, err
	}
	if err := cfg.plan.affordable(); err != nil {
		return nil, err
	}
	p := cfg.plan
	self := p.number[cfg.Name]
	mcfg := p.machine(self, cfg.Samples)
	if s, ok := cfg.Store.(interface{ Reserve(size int) error }); ok {
		if err := s.Reserve(cfg.snapshotSize(mcfg)); err != nil {
			return nil, err
		}
	}
	cfg.fill()
	n := &Node{cfg: cfg, fleet: p.fleet, neighbors: mcfg.Neighbors, began: minute()}
	n.made = n.began
	n.log = transport.Limited(cfg.Logger).With("node", cfg.Name, "run", n.fleet.Run)
	n.trust = trust.New(trust.Config{Run: n.fleet.Run, Fleet: p.hash(), Members: n.fleet.Members, Self: self,
		Neighbors: mcfg.Neighbors, Last: n.fleet.Method.Last(), Key: cfg.Key, Keys: cfg.Keys, Ledger: cfg.Ledger})
	mcfg.Noise, mcfg.Estimator.Window, mcfg.Probe, mcfg.Incarnation = cfg.noise(), cfg.Window, true, n.trust.Incarnation
	if n.secrets = (&secrets{cfg: &n.cfg}); n.fleet.Privacy.PairSigma > 0 {
		mcfg.PairKey = n.secrets.key
	}
	n.account = newAccount(&n.cfg)
	for _, step := range []func() error{
		n.loadJournal, func() error { return n.resume(mcfg) }, n.loadDropped, n.loadSecrets,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	n.publish()
	if n.account != nil {
		if err := certificate.CheckAbout(n.about()); err != nil {
			return nil, fmt.Errorf("sdk: cannot issue a certificate for this run: %w", err)
		}
	}
	return n, nil
}

func (n *Node) peer(name string) int { return n.cfg.plan.peer(name) }

// Model returns a copy of the node's model; see [Fleet.Model].
func (n *Node) Model() []float32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.model)
}

// Status returns the node's progress.
func (n *Node) Status() Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	st := n.status
	st.Waiting, st.Neighbors, st.Evidence = slices.Clone(st.Waiting), slices.Clone(st.Neighbors), slices.Clone(n.public.Evidence)
	st.OtherLedgers, st.DataChanged = slices.Clone(n.public.Ledgers), n.data.String()
	return st
}

// Spend returns the cost of this run's releases so far, as zCDP. Package dpmech/explain makes a text of it, and
// [dpmech.Accounting.Epsilon] an epsilon of each of its figures: both need a delta, such as Fleet.Privacy.Delta.
func (n *Node) Spend() dpmech.Total {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.account != nil:
		return n.account.total()
	case n.status.Round > 0:
		return unbounded
	}
	return dpmech.Total{}
}

func (n *Node) publish() {
	st := n.machine.Status()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.model == nil || st.Round != n.status.Round || st.Complete != n.status.Done {
		n.model = n.fleet.Model(n.machine.AppendModel(n.model[:0]), st.Round)
	}
	n.status.Round, n.status.Queries, n.status.FailedQueries, n.status.Done = st.Round, st.Queries, st.Failed, st.Complete
	n.status.LastFailure, n.status.Flat = n.failure, n.flat
	n.status.ConsensusError, n.status.Compared = st.ConsensusError, st.Compared
	if n.status.Neighbors == nil {
		n.status.Neighbors = make([]Neighbor, len(n.neighbors))
	}
	for i, j := range n.neighbors {
		of := &n.status.Neighbors[i]
		of.Name, of.Round = n.fleet.Members[j], n.machine.Heard(j)
	}
	n.show()
	n.status.Waiting = n.status.Waiting[:0]
	for _, j := range st.Waiting {
		n.status.Waiting = append(n.status.Waiting, n.fleet.Members[j])
	}
}
