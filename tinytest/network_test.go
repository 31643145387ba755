package tinytest_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest"
)

func networkOf(n int, private bool) *tinytest.Network {
	f := &sdk.Fleet{
		Run: "kit", Dim: 5, Members: numbered(n),
		Method: sdk.Method{
			Rounds: 6, Cooldown: 2, Tau: 2, Batch: 3, Rho: 1, Gain: 0.4,
			Eta: admm.Schedule{0.2}, Mu: admm.Schedule{0.3}, Seed: 7,
		},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	net := &tinytest.Network{Fleet: f}
	if private {
		f.Privacy = sdk.Privacy{Clip: 0.3, Sigma: 0.05, Delta: 1e-5}
		net.Noise = seeded
	}
	for i := range n {
		if n > 2 || i == 0 {
			f.Edges = append(f.Edges, [2]string{f.Members[i], f.Members[(i+1)%n]})
		}
		net.Samples = append(net.Samples, 4+i%3)
		net.Oracles = append(net.Oracles, zoest.Oracle(tinytest.SquaredProbability(5, i, 5, 4+i%3)))
	}
	return net
}

// simulated runs a simulation of a network and returns its transcript and the final models.
func simulated(t *testing.T, net *tinytest.Network) (string, [][]float32) {
	t.Helper()
	clients, err := net.Clients()
	if err != nil {
		t.Fatal(err)
	}
	network, err := sim.New(clients)
	if err != nil {
		t.Fatal(err)
	}
	return finish(t, network), network.Models()
}

// same runs a network as nodes and checks that the transcript and the models equal those of the simulation.
func same(t *testing.T, net *tinytest.Network, open func([]string) ([]transport.Transport, error)) {
	t.Helper()
	want, models := simulated(t, net)
	trs, err := open(net.Fleet.Members)
	defer func() {
		for _, tr := range trs {
			_ = tr.Close()
		}
	}()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, x, err := net.Run(ctx, trs)
	if err != nil {
		t.Fatal(err)
	}
	if got != want || !slices.EqualFunc(x, models, slices.Equal) {
		t.Errorf("transcript %s of nodes, %s of the simulation", got, want)
	}
}

// TestNetwork checks that a network has the same transcript in a simulation, in memory, over websockets, and in memory
// with faults.
func TestNetwork(t *testing.T) {
	for _, private := range []bool{false, true} {
		same(t, networkOf(5, private), inMemory(0, nil))
		same(t, networkOf(5, private), overTLS)
		net := networkOf(4, private)
		net.ResendAfter = 10 * time.Millisecond
		same(t, net, inMemory(0, func(i int, names []string, tr transport.Transport) transport.Transport {
			return tinytest.Faulty(tr, tinytest.Chain(tinytest.Drop(1, 0.2), tinytest.Duplicate(1, 0.2),
				tinytest.Delay(1, 0.5, 3)), time.Millisecond, i, names...)
		}))
	}
}

// TestNetworkCrashes checks that nodes that crash during or right after a save resume in the round where they stopped.
// The private run has no crash during a save: after such a crash, the restarted node would draw new noise, and its
// release would differ from that of the simulation.
func TestNetworkCrashes(t *testing.T) {
	for _, private := range []bool{false, true} {
		net := networkOf(4, private)
		net.ResendAfter = 10 * time.Millisecond
		net.Stores = []tinytest.OpenStore{
			tinytest.CrashAt(tinytest.CrashAt(tinytest.MemStore(), 1), 4), nil,
			tinytest.CrashAt(tinytest.CrashAt(tinytest.MemStore(), 3), 8), tinytest.MemStore(),
		}
		if !private {
			net.Stores[3] = tinytest.TornWrite(tinytest.CrashAt(tinytest.MemStore(), 5), 2)
		}
		same(t, net, inMemory(0, nil))
	}
}

// TestNetworkLyingDisk checks that a node reports a rollback if its disk lost confirmed saves: its neighbors have seen
// the lost releases.
func TestNetworkLyingDisk(t *testing.T) {
	net := networkOf(3, true)
	net.ResendAfter = 10 * time.Millisecond
	net.Stores = []tinytest.OpenStore{tinytest.CrashAt(tinytest.LyingSync(tinytest.MemStore(), 3), 5), nil, nil}
	trs, err := inMemory(0, nil)(net.Fleet.Members)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = net.Run(t.Context(), trs)
	if !errors.Is(err, state.ErrRollback) || !strings.Contains(err.Error(), `member "n00"`) ||
		!strings.Contains(err.Error(), "but the stored state ends with release 2") {
		t.Errorf("error %v, want a rollback of n00 to release 2", err)
	}
}

func TestNetworkRefuses(t *testing.T) {
	for want, change := range map[string]func(n *tinytest.Network){
		"without a fleet": func(n *tinytest.Network) { n.Fleet = nil },
		"2 sample counts": func(n *tinytest.Network) { n.Samples = n.Samples[:2] },
		"0 oracles":       func(n *tinytest.Network) { n.Oracles = nil },
		"1 stores":        func(n *tinytest.Network) { n.Stores = make([]tinytest.OpenStore, 1) },
		"source of noise": func(n *tinytest.Network) { n.Noise = nil },
	} {
		net := networkOf(3, true)
		change(net)
		if _, err := net.Clients(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	net := networkOf(3, true)
	if _, _, err := net.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "0 transports for 3") {
		t.Errorf("error %v, want one about transports", err)
	}
	broken := errors.New("broken")
	net.Noise = func(int) io.Reader { return failing{broken} }
	trs, err := inMemory(0, nil)(net.Fleet.Members)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := net.Run(t.Context(), trs); !errors.Is(err, broken) || !strings.Contains(err.Error(), `member "n0`) {
		t.Errorf("error %v, want %v of a member", err, broken)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
