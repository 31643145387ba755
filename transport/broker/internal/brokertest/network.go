package brokertest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest"
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

// world returns a test world in which the nodes of the network run without signing keys.
func (n *Network) world(change func(client int, c *sdk.Config)) *tinytest.World {
	return &tinytest.World{Fleet: n.Fleet, Samples: n.Samples, Oracle: func(client int) zoest.Oracle { return n.Oracles[client] },
		Change: func(client int, c *sdk.Config) {
			if c.Key, c.Keys = nil, nil; change != nil {
				change(client, c)
			}
		}}
}

// Node creates the node of member i with the given transport, and with those of the other fields that are set. The node
// draws the same noise as in [Network.Quiet].
func (n *Network) Node(i int, cfg sdk.Config) (*sdk.Node, error) {
	w := n.world(func(_ int, c *sdk.Config) {
		c.Store, c.Linger, c.Logger, c.Events = cfg.Store, cfg.Linger, cfg.Logger, cfg.Events
		if cfg.Oracle != nil {
			c.Oracle = cfg.Oracle
		}
	})
	w.Open = func(string) (transport.Transport, error) { return cfg.Transport, nil }
	return w.Start(n.Fleet.Members[i])
}

// Run runs one node over each of the given transports, which it closes, until every node has made its last release. It
// returns a hash of all releases and every node's model. If released is not nil, Run calls it after each release.
func (n *Network) Run(ctx context.Context, transports []transport.Transport, released func(member, round int)) (string,
	[][]float32, error) {
	w := n.world(func(client int, c *sdk.Config) {
		if released != nil {
			c.Events.Released = func(round int, _ []float32) { released(client, round) }
		}
	})
	w.Open = func(member string) (transport.Transport, error) {
		return transports[slices.Index(n.Fleet.Members, member)], nil
	}
	r, err := w.Run(ctx)
	return r.Transcript, r.Models, err
}

// Quiet simulates the network without faults and returns the results of [Network.Run]. Tests compare other runs with
// these results.
func (n *Network) Quiet(t testing.TB) (string, [][]float32) {
	t.Helper()
	r, err := n.world(nil).Simulate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r.Transcript, r.Models
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
