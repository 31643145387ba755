package brokertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Network is a fleet with the oracles of its members.
type Network struct {
	Fleet   *sdk.Fleet
	Samples []int
	Oracles []zoest.Oracle
}

// Ring returns a network of at least five members that form a ring with two chords.
func Ring(run string, members int, private bool, rounds int) *Network {
	f := &sdk.Fleet{
		Run: run, Dim: 6,
		Method: sdk.Method{Rounds: rounds, Cooldown: rounds / 2, Tau: 2, Batch: 3, Rho: 1, Gain: 0.4,
			Eta: []float64{0.5}, Mu: []float64{0.3}, Seed: 7},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	for i := range members {
		f.Members = append(f.Members, string(rune('a'+i)))
	}
	if private {
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 0.1, Delta: 1e-5}
	}
	for i, name := range f.Members {
		f.Edges = append(f.Edges, [2]string{name, f.Members[(i+1)%members]})
	}
	f.Edges = append(f.Edges, [2]string{"a", f.Members[members/2]}, [2]string{"b", f.Members[1+members/2]})
	n := &Network{Fleet: f}
	for i := range f.Members {
		n.Samples = append(n.Samples, 4+i)
		n.Oracles = append(n.Oracles, zoest.Oracle(tinytest.SquaredProbability(3, i, f.Dim, 4+i)))
	}
	return n
}

// noise is a source of noise. Each Read starts the same stream again, which is correct because a release reads its source
// only once.
type noise func() rng.Address

func (n noise) Read(b []byte) (int, error) {
	s := rng.New(11, n())
	return s.Read(b)
}

// Node creates the node of member i. The node draws the same noise as in [Network.Quiet].
func (n *Network) Node(i int, cfg sdk.Config) (*sdk.Node, error) {
	cfg.Fleet, cfg.Name, cfg.Samples, cfg.ResendAfter = n.Fleet, n.Fleet.Members[i], n.Samples[i], 50*time.Millisecond
	if cfg.Oracle == nil {
		cfg.Oracle = n.Oracles[i]
	}
	var node *sdk.Node
	if !n.Fleet.Privacy.NonPrivate {
		cfg.Noise = noise(func() rng.Address { // a restarted process repeats a lost release exactly
			return rng.Address{Purpose: rng.Noise, Client: uint32(i), Round: uint32(node.Status().Round)}
		})
	}
	node, err := sdk.New(cfg)
	return node, err
}

// Run runs one node over each of the given transports until every node has made its last release. It returns a hash of
// all releases (see [sim.Transcript]) and every node's model. If released is not nil, Run calls it after each release.
func (n *Network) Run(ctx context.Context, transports []transport.Transport, released func(member, round int)) (string,
	[][]float32, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := errors.New("every node has made its last release") // ends nodes that wait for a lost final message
	transcript := sim.NewTranscript(len(n.Samples), func(round int, _ [][]float32) {
		if round == n.Fleet.Method.Last() {
			cancel(over)
		}
	})
	models, errs := make([][]float32, len(n.Samples)), make([]error, len(n.Samples))
	var wg sync.WaitGroup
	for i := range n.Fleet.Members {
		node, err := n.Node(i, sdk.Config{Transport: transports[i], Events: sdk.Events{
			Released: func(round int, x []float32) {
				transcript.Add(round, i, slices.Clone(x))
				if released != nil {
					released(i, round)
				}
			},
		}})
		if err != nil {
			cancel(err)
			errs[i] = err
			break
		}
		wg.Go(func() {
			if err := node.Run(ctx); err != nil && !errors.Is(err, over) {
				errs[i] = err
				cancel(err)
			}
			models[i] = node.Model()
		})
	}
	wg.Wait()
	return transcript.Sum(), models, errors.Join(errs...)
}

// Quiet runs the network in memory without faults and returns the results of [Network.Run]. Tests compare other runs
// with these results.
func (n *Network) Quiet(t testing.TB) (string, [][]float32) {
	t.Helper()
	net := mem.New(n.Fleet.Members...)
	var all []transport.Transport
	for _, name := range n.Fleet.Members {
		tr, err := net.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tr)
	}
	transcript, models, err := n.Run(Long(t), all, nil)
	if err != nil {
		t.Fatal(err)
	}
	return transcript, models
}

// Setup returns the configuration of the named member's end. The peers are the member's neighbors in the fleet.
func (n *Network) Setup(name string) Setup {
	f := n.Fleet
	s := Setup{Run: f.Run, Name: name, Fleet: f.Hash(), Hello: f.Hello(name), CheckHello: f.CheckHello(name),
		MaxFrame: wire.MaxFrame(f.Dim)}
	for _, e := range f.Edges {
		if e[0] == name {
			s.Peers = append(s.Peers, e[1])
		} else if e[1] == name {
			s.Peers = append(s.Peers, e[0])
		}
	}
	return s
}

// Open opens the ends of all members, in the order of Fleet.Members.
func (n *Network) Open(t testing.TB, open Opener) (all []transport.Transport) {
	t.Helper()
	for _, name := range n.Fleet.Members {
		all = append(all, open.Open(t, n.Setup(name)))
	}
	return all
}

// SameBits runs fleets over a broker and checks that their releases equal those of a fault-free run bit for bit.
func SameBits(t *testing.T, open Opener) {
	for _, private := range []bool{false, true} {
		n := Ring(fmt.Sprint("private ", private), 8, private, 8)
		want, _ := n.Quiet(t)
		got, _, err := n.Run(Long(t), n.Open(t, open), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("with private = %v, the releases differ from those of the run in memory", private)
		}
	}
}
