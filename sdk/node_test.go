package sdk_test

import (
	"context"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// ring returns a small valid fleet: five members on a ring with one chord.
func ring() *sdk.Fleet {
	return &sdk.Fleet{
		Run:     "test",
		Dim:     6,
		Members: []string{"a", "b", "c", "d", "e"},
		Edges:   [][2]string{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"d", "e"}, {"e", "a"}, {"a", "c"}},
		Method: sdk.Method{
			Rounds: 8, Cooldown: 4, Tau: 2, Batch: 3, Rho: 1, Gain: 0.4,
			Eta: []float64{0.5}, Mu: []float64{0.3}, Seed: 7,
		},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
}

func privateRing() *sdk.Fleet {
	f := ring()
	f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 0.1, Delta: 1e-5}
	return f
}

// only leaves out all members of a fleet but the first n, with their edges.
func only(n int, f *sdk.Fleet) *sdk.Fleet {
	f.Members, f.Records = f.Members[:n], f.Records[:min(n, len(f.Records))]
	f.Edges = slices.DeleteFunc(f.Edges, func(e [2]string) bool { return !slices.Contains(f.Members, e[0]) || !slices.Contains(f.Members, e[1]) })
	return f
}

// samples[i] is m_i, the number of samples of client i. The numbers vary, and one is smaller than a batch.
var samples = []int{7, 5, 2, 9, 4, 6, 3, 8, 5, 7, 4, 6}

// oracle returns a bounded loss function that differs between clients.
func oracle(client int) sdk.OracleFunc {
	return func(_ context.Context, x []float32, sample int) (float64, error) {
		var dist float64
		for i, v := range x {
			c := float64((5*client+3*sample+i)%7)/6 - 0.5
			dist += (float64(v) - c) * (float64(v) - c)
		}
		return dist / (1 + dist), nil
	}
}

// noise returns a seeded noise source, so that runs are reproducible.
func noise(client int) io.Reader {
	s := rng.New(5, rng.Address{Purpose: rng.Noise, Client: uint32(client)})
	return &s
}

func simulated(t *testing.T, f *sdk.Fleet) [][]float32 {
	t.Helper()
	return simulatedAs(t, f, func(int, *admm.Config) {})
}

// simulatedAs is simulated, after change has altered each machine.
func simulatedAs(t *testing.T, f *sdk.Fleet, change func(i int, c *admm.Config)) [][]float32 {
	t.Helper()
	var clients []sim.Client
	for i, c := range must(sim.Machines(f, samples[:len(f.Members)], noise))(t) {
		change(i, &c)
		clients = append(clients, sim.Client{Config: c, Oracle: oracle(i)})
	}
	network := must(sim.New(clients))(t)
	ok(t, network.Run(t.Context(), nil))
	return network.Models()
}

// nodes creates a node for every member, using the given transports. change may alter each configuration.
func nodes(t *testing.T, f *sdk.Fleet, trs []transport.Transport, change func(i int, c *sdk.Config)) []*sdk.Node {
	t.Helper()
	var all []*sdk.Node
	for i, name := range f.Members {
		cfg := sdk.Config{
			Fleet: f, Name: name, Samples: samples[i], Oracle: oracle(i), Transport: trs[i],
			ResendAfter: 20 * time.Millisecond, Linger: 30 * time.Second, // no node exits while a slow neighbor needs it
		}
		if !f.Privacy.NonPrivate {
			cfg.Noise = noise(i)
		}
		sign(&cfg)
		if change != nil {
			change(i, &cfg)
		}
		n := must(sdk.New(cfg))(t)
		all = append(all, n)
	}
	return all
}

func inMemory(t *testing.T, f *sdk.Fleet) []transport.Transport {
	t.Helper()
	net := mem.New(f.Members...)
	var trs []transport.Transport
	for _, name := range f.Members {
		tr := must(net.Node(name))(t)
		t.Cleanup(func() { _ = tr.Close() })
		trs = append(trs, tr)
	}
	return trs
}

// linked returns the transport of member i with a link for all that it sends.
func linked(f *sdk.Fleet, trs []transport.Transport, i int, link tinytest.Link) transport.Transport {
	return tinytest.Linked(trs[i], link, f.Members[i], f.Members...)
}

// messages returns a link that replaces messages with those that change returns.
func messages(t *testing.T, f *sdk.Fleet, change func(p tinytest.Packet, m admm.Message) []admm.Message) tinytest.Link {
	t.Helper()
	link := must(tinytest.Messages(f.Dim, change))(t)
	return link
}

func runAll(ctx context.Context, all []*sdk.Node) []error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, n := range all {
		wg.Go(func() { errs[i] = n.Run(ctx) })
	}
	wg.Wait()
	return errs
}

func mustRun(t *testing.T, all []*sdk.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ok(t, runAll(ctx, all)...)
}

func sameModels(t *testing.T, all []*sdk.Node, want [][]float32) {
	t.Helper()
	for i, n := range all {
		if !slices.Equal(n.Model(), want[i]) {
			t.Errorf("node %d holds %v, want %v", i, n.Model(), want[i])
		}
	}
}

// TestNodesMatchSimulation checks that a network of nodes computes the same bits as a simulation of its fleet, with and
// without noise.
func TestNodesMatchSimulation(t *testing.T) {
	for name, f := range map[string]*sdk.Fleet{"non-private": ring(), "private": privateRing()} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			releases := map[int][]int{}
			var all []*sdk.Node
			all = nodes(t, f, inMemory(t, f), func(i int, c *sdk.Config) {
				c.Events.Released = func(round int, x []float32) { // the node's methods already report the release
					mu.Lock()
					defer mu.Unlock()
					releases[i] = append(releases[i], round)
					want := f.Total(8).Rho * float64(min(round, 8)) / 8
					if st := all[i].Status(); st.Round != round || !slices.Equal(all[i].Model(), x) || math.Abs(all[i].Spend().Rho-want) > 1e-12*want {
						t.Errorf("release %d: status %+v, spend %v, want %v", round, st, all[i].Spend().Rho, want)
					}
				}
			})
			mustRun(t, all)
			sameModels(t, all, simulated(t, f))
			for i, n := range all {
				st := n.Status()
				// m_i + tau*b_i queries per round, with b_i = min(3, m_i).
				queries := int64(8 * (samples[i] + 2*min(3, samples[i])))
				if !st.Done || st.Round != 12 || st.Queries != queries || st.FailedQueries != 0 || st.Refused != 0 ||
					st.BytesSent == 0 {
					t.Errorf("node %d: status %+v, want 12 rounds and %d queries", i, st, queries)
				}
				if want := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}; !slices.Equal(releases[i], want) {
					t.Errorf("node %d: observer saw releases %v", i, releases[i])
				}
				if want := f.Total(f.Method.Rounds).Rho; n.Spend().Rho != want {
					t.Errorf("node %d: spend is %v, want %v", i, n.Spend().Rho, want)
				}
			}
		})
	}
}

func TestConfigFaults(t *testing.T) {
	if _, err := sdk.New(sdk.Config{}); err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("an empty configuration gave %q, want four faults", err)
	}
	f := ring()
	good := sdk.Config{Fleet: f, Name: "a", Samples: 1, Oracle: oracle(0), Transport: inMemory(t, f)[0]}
	for want, change := range map[string]func(c *sdk.Config){
		`Name is "z", want one of`:                   func(c *sdk.Config) { c.Name = "z" },
		"Samples is 0":                               func(c *sdk.Config) { c.Samples = 0 },
		"want 1..2147483647":                         func(c *sdk.Config) { n := int64(1) << 31; c.Samples = int(n) },
		"Linger is -1ns, want 0 or more":             func(c *sdk.Config) { c.Linger = -1 },
		"Noise is set, but the fleet is not private": func(c *sdk.Config) { c.Noise = noise(0) },
		"4*samples*(dim+3) bytes in every stored state, more than the limit of 899 bytes": func(c *sdk.Config) {
			c.Fleet, c.Samples, c.MemoryLimit, c.Store = tracking(), 25, 899, new(state.Dir)
		},
		"Patience is -1h0m0s, want 0 (wait indefinitely) or at least 2m0s": func(c *sdk.Config) { c.Patience = -time.Hour },
		"Patience is 1m0s, want 0 (wait indefinitely) or at least 2m0s":    func(c *sdk.Config) { c.Patience = time.Minute },
		"Secret is set, but the fleet's members share no noise":            func(c *sdk.Config) { c.Secret = simulatedSecret(sharedRing(), 0) },
		"Key matches none of them":                                         func(c *sdk.Config) { sign(c); c.Key = memberKey("b") },
		"Key has 10 bytes, want 64":                                        func(c *sdk.Config) { sign(c); c.Key = c.Key[:10] },
		"only one of Key and Keys is set, want both or neither":            func(c *sdk.Config) { sign(c); c.Keys = nil },
		"only one of Key and Keys is set, want both or":                    func(c *sdk.Config) { sign(c); c.Key = nil },
		"Oracle is nil":                             func(c *sdk.Config) { c.Oracle = nil },
		"Oracle is nil, want a function":            func(c *sdk.Config) { c.Oracle = sdk.OracleFunc(nil) },
		"Oracle is nil, want a function or a value": func(c *sdk.Config) { c.Oracle = (*lonely)(nil) },
		"conditional_on[0]":                         func(c *sdk.Config) { c.Fleet, c.ConditionalOn = only(1, privateRing()), []string{"two\nlines"} }, // before any release
		"want at least 4000":                        func(c *sdk.Config) { f := ring(); f.Dim = 10_000_000; c.Fleet = f },
	} {
		c := good
		change(&c)
		if n, err := sdk.New(c); err == nil || !strings.Contains(err.Error(), want) || n != nil {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	good.Patience = 2 * time.Minute
	n := must(sdk.New(good))(t)
	if x := n.Model(); len(x) != 6 || n.Spend().Rho != 0 {
		t.Errorf("before the run: model %v, spend %v", x, n.Spend().Rho)
	}
}

func tracking() *sdk.Fleet {
	f := ring()
	f.Method.Estimator = zoest.Tracking
	return f
}
