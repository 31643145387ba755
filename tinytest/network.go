package tinytest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Network is the definition of a network that can be simulated, and run as nodes over any transports: with the same result, to
// the bit. All lists are in the order of Fleet.Members.
type Network struct {
	Fleet   *sdk.Fleet
	Samples []int          // m_i of every member
	Oracles []zoest.Oracle // see Client for what they may share
	// Noise returns the source of a member's release noise, from its beginning. It is not called if the fleet is not private.
	Noise func(client int) io.Reader

	// Stores, if not nil, are where the nodes of Run keep their states; an entry may be nil. A node whose store returns [ErrCrashed]
	// dies, and is made again from what its store has kept.
	Stores []OpenStore
	// ResendAfter is how long nodes of Run wait before they send again what may have got lost; 0 means 50 ms.
	ResendAfter time.Duration
}

// check refuses a network with lists of the wrong length.
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

// Clients returns what [NewSim] needs to simulate the network.
func (n *Network) Clients() ([]Client, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	cfgs, err := n.Fleet.Machines(n.Samples, n.Noise)
	if err != nil {
		return nil, err
	}
	clients := make([]Client, len(cfgs))
	for i, c := range cfgs {
		clients[i] = Client{Config: c, Oracle: n.Oracles[i]}
	}
	return clients, nil
}

// Run runs the network as nodes over the given transports, which stay the caller's to close, and returns the transcript, as
// [Sim.Transcript] has it, and every node's model. It is over once every node has its last release, last words or not. The first error
// of a node ends the run.
func (n *Network) Run(ctx context.Context, transports []transport.Transport) (transcript string, models [][]float32, err error) {
	if err := n.check(); err != nil {
		return "", nil, err
	}
	if len(transports) != len(n.Samples) {
		return "", nil, fmt.Errorf("tinytest: %d transports for %d members", len(transports), len(n.Samples))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g := &gallery{
		releases: releases{n: len(n.Samples), hash: sha256.New()},
		last:     n.Fleet.Method.Rounds + n.Fleet.Method.Cooldown,
		end:      func() { cancel(errOver) },
	}
	models = make([][]float32, len(n.Samples))
	errs := make([]error, len(n.Samples))
	var wg sync.WaitGroup
	for i := range n.Samples {
		wg.Go(func() {
			if models[i], errs[i] = n.member(ctx, i, transports[i], g); errs[i] != nil {
				errs[i] = fmt.Errorf("tinytest: member %q: %w", n.Fleet.Members[i], errs[i])
				cancel(errs[i])
			}
		})
	}
	wg.Wait()
	if slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		return "", nil, context.Cause(ctx)
	}
	return hex.EncodeToString(g.sum()), models, nil
}

// member is the life of one member, or its lives.
func (n *Network) member(ctx context.Context, i int, tr transport.Transport, g *gallery) ([]float32, error) {
	cfg := sdk.Config{
		Fleet: n.Fleet, Name: n.Fleet.Members[i], Samples: n.Samples[i], Oracle: n.Oracles[i], Transport: tr,
		ResendAfter: n.ResendAfter,
		Observer:    sdk.Observer{Released: func(round int, x []float32) { g.add(round, i, slices.Clone(x)) }},
	}
	if cfg.ResendAfter == 0 {
		cfg.ResendAfter = 50 * time.Millisecond
	}
	if n.Noise != nil && !n.Fleet.Privacy.NonPrivate {
		cfg.Noise = n.Noise(i)
	}
	for {
		node, err := n.life(ctx, i, cfg, g)
		if err == nil {
			return node.Model(), nil
		}
		if !errors.Is(err, ErrCrashed) {
			return nil, err
		}
	}
}

// life is one life of a member.
func (n *Network) life(ctx context.Context, i int, cfg sdk.Config, g *gallery) (_ *sdk.Node, err error) {
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
	if st := node.Status(); st.Round > 0 { // a release that was kept by a node that died before it could tell
		g.add(st.Round, i, node.Model())
	}
	if err = node.Run(ctx); errors.Is(err, errOver) {
		err = nil
	}
	return node, err
}

// errOver ends nodes that wait for a last word that may have got lost.
var errOver = errors.New("every node has its last release")

// gallery takes in the releases of nodes.
type gallery struct {
	mu sync.Mutex
	releases
	last int
	end  func() // is called when the last round is over
}

func (g *gallery) add(round, client int, x []float32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.releases.add(round, client, x, nil); g.over == g.last {
		g.end()
	}
}
