package tinytest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Network describes a network that can run in a simulation, or as nodes over any transports, with bit-identical
// results. All lists are in the order of Fleet.Members.
type Network struct {
	Fleet   *sdk.Fleet
	Samples []int          // number of samples of every member, m_i
	Oracles []zoest.Oracle // see [sim.Client] for what they may share
	// Noise returns a new noise source for the releases of the client with the given index. It is not called if the
	// fleet is not private.
	Noise func(client int) io.Reader

	// Stores, if not nil, has an entry for each node: a function that opens the node's store in Run, or nil for no
	// store. A node whose store returns [ErrCrashed] restarts from its store.
	Stores []OpenStore
	// ResendAfter is how long the nodes in Run wait before they resend a message that may be lost; 0 means 50 ms.
	ResendAfter time.Duration
}

// check returns an error if a list has the wrong length.
func (n *Network) check() error {
	if n.Fleet == nil {
		return errors.New("tinytest: a network without a fleet")
	}
	members := len(n.Fleet.Members)
	if len(n.Samples) != members || len(n.Oracles) != members || n.Stores != nil && len(n.Stores) != members {
		return fmt.Errorf("tinytest: %d sample counts, %d oracles and %d stores for %d members",
			len(n.Samples), len(n.Oracles), len(n.Stores), members)
	}
	return nil
}

// Clients returns the clients to pass to [sim.New].
func (n *Network) Clients() ([]sim.Client, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	cfgs, err := sdk.Machines(n.Fleet, n.Samples, n.Noise)
	if err != nil {
		return nil, err
	}
	clients := make([]sim.Client, len(cfgs))
	for i, c := range cfgs {
		clients[i] = sim.Client{Config: c, Oracle: n.Oracles[i]}
	}
	return clients, nil
}

// Run runs the network as nodes over the given transports until every node has made its last release or a node fails.
// The caller closes the transports. Run returns the transcript, in the form of [sim.Sim.Transcript], and every node's
// model.
func (n *Network) Run(ctx context.Context, transports []transport.Transport) (string, [][]float32, error) {
	if err := n.check(); err != nil {
		return "", nil, err
	}
	if len(transports) != len(n.Samples) {
		return "", nil, fmt.Errorf("tinytest: %d transports for %d members", len(transports), len(n.Samples))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	last := n.Fleet.Method.Last()
	transcript := sim.NewTranscript(len(n.Samples), func(round int, _ [][]float32) {
		if round == last {
			cancel(errOver)
		}
	})
	models := make([][]float32, len(n.Samples))
	errs := make([]error, len(n.Samples))
	var wg sync.WaitGroup
	for i := range n.Samples {
		wg.Go(func() {
			if models[i], errs[i] = n.member(ctx, i, transports[i], transcript); errs[i] != nil {
				errs[i] = fmt.Errorf("tinytest: member %q: %w", n.Fleet.Members[i], errs[i])
				cancel(errs[i])
			}
		})
	}
	wg.Wait()
	if errors.Join(errs...) != nil {
		return "", nil, context.Cause(ctx)
	}
	return transcript.Sum(), models, nil
}

// member runs one member and restarts it after each crash.
func (n *Network) member(ctx context.Context, i int, tr transport.Transport, t *sim.Transcript) ([]float32, error) {
	cfg := sdk.Config{
		Fleet: n.Fleet, Name: n.Fleet.Members[i], Samples: n.Samples[i], Oracle: n.Oracles[i], Transport: tr,
		ResendAfter: cmp.Or(n.ResendAfter, 50*time.Millisecond),
		Observer:    sdk.Observer{Released: func(round int, x []float32) { t.Add(round, i, slices.Clone(x)) }},
	}
	if n.Noise != nil && !n.Fleet.Privacy.NonPrivate {
		cfg.Noise = n.Noise(i)
	}
	if n.Fleet.Privacy.PairSigma > 0 {
		cfg.Secret = func(neighbor string) pair.Secret {
			return pair.Simulated(n.Fleet.Method.Seed, i, slices.Index(n.Fleet.Members, neighbor))
		}
	}
	for {
		if model, err := n.process(ctx, i, cfg, t); !errors.Is(err, ErrCrashed) {
			return model, err
		}
	}
}

// process runs one process of a member until the run ends or the process crashes.
func (n *Network) process(ctx context.Context, i int, cfg sdk.Config, t *sim.Transcript) (_ []float32, err error) {
	if n.Stores != nil && n.Stores[i] != nil {
		if cfg.Store, err = n.Stores[i](); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, cfg.Store.Close()) }()
	}
	node, err := sdk.New(cfg)
	if err != nil {
		return nil, err
	}
	if st := node.Status(); st.Round > 0 { // a release that the process before a crash saved but did not report
		t.Add(st.Round, i, node.Model())
	}
	if err = node.Run(ctx); errors.Is(err, errOver) {
		err = nil
	}
	return node.Model(), err
}

// errOver stops nodes that are still waiting for a final message, which may have been lost.
var errOver = errors.New("every node has made its last release")
