package admm

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// network is a few machines and the messages between them. It advances round by round, unless a test delivers the
// messages itself.
type network struct {
	machines []*Machine
	loss     func(client int, x []float32, sample int) float64
	sent     []Message // copies, in the order in which they were sent
	finished []bool
	released func(client, round int)
	reserved func(client int) // called before a private release, when the update is known and not yet clipped
	losses   []float64
}

// lossFunc is the loss of the tests: bounded, smooth, and different for every client and sample.
func lossFunc(client int, x []float32, sample int) float64 {
	var dist float64
	for i, v := range x {
		c := float64((7*client+3*sample+i)%5)/4 - 0.5
		dist += (float64(v) - c) * (float64(v) - c)
	}
	return dist / (1 + dist)
}

// configs returns the configurations of a network of n clients with the given edges. Clients differ only in their
// number of samples.
func configs(n int, edges [][2]int, change func(i int, c *Config)) []Config {
	cfgs := make([]Config, n)
	var consensus Consensus
	if len(edges) > 0 {
		consensus = flowing(n, edges)
	}
	for i := range cfgs {
		cfgs[i] = Config{
			Estimator: zoest.Config{Dim: 5, Samples: 4 + i%3, Batch: 3, Seed: 42, Client: uint32(i)},
			Rounds:    6, Cooldown: 3, Tau: 2,
			Rho: 1.5, Beta: 0.2, Eta: Schedule{0.5}, Mu: Schedule{0.4},
			NonPrivate: true, Consensus: consensus,
		}
		for _, e := range edges {
			if e[0] == i {
				cfgs[i].Neighbors = append(cfgs[i].Neighbors, e[1])
			} else if e[1] == i {
				cfgs[i].Neighbors = append(cfgs[i].Neighbors, e[0])
			}
		}
		slices.Sort(cfgs[i].Neighbors)
		if change != nil {
			change(i, &cfgs[i])
		}
	}
	return cfgs
}

// private returns a function that makes a configuration private. Each client has its own seeded stream of noise.
func private(g dpmech.Gaussian) func(i int, c *Config) {
	return func(i int, c *Config) {
		c.NonPrivate, c.Privacy, c.Noise = false, g, noiseOf(i)
	}
}

func noiseOf(client int) io.Reader {
	s := rng.New(99, rng.Address{Purpose: rng.Noise, Client: uint32(client)})
	return &s
}

// kite is a triangle with a tail: degrees 1, 2 and 3.
var kite = [][2]int{{0, 1}, {1, 2}, {0, 2}, {2, 3}}

func newNetwork(t testing.TB, cfgs []Config) *network {
	t.Helper()
	net := &network{loss: lossFunc, finished: make([]bool, len(cfgs))}
	for _, c := range cfgs {
		m, err := New(c)
		must(t, err)
		net.machines = append(net.machines, m)
	}
	return net
}

// must ends a test with an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// drive advances a machine as far as possible, or to its next release, and returns the messages that it sent.
func (net *network) drive(i int) ([]Message, error) {
	var sent []Message
	for {
		r, err := net.machines[i].Ready()
		if err != nil {
			return sent, err
		}
		net.finished[i] = r.Finished
		for _, msg := range r.Send {
			msg.Vector, msg.Grid = slices.Clone(msg.Vector), slices.Clone(msg.Grid)
			sent = append(sent, msg)
		}
		if r.Released > 0 && net.released != nil {
			net.released(i, r.Released)
		}
		if r.Reserve > 0 {
			if net.reserved != nil {
				net.reserved(i)
			}
			continue
		}
		if r.Released > 0 || len(r.Queries) == 0 {
			return sent, nil
		}
		net.losses = net.losses[:0]
		for _, q := range r.Queries {
			net.losses = append(net.losses, net.loss(i, q.Point, q.Sample))
		}
		if err := net.machines[i].Answer(net.losses...); err != nil {
			return sent, err
		}
	}
}

// round drives every machine through one round, then delivers everything.
func (net *network) round() error {
	first := len(net.sent)
	for i := range net.machines {
		out, err := net.drive(i)
		if err != nil {
			return err
		}
		net.sent = append(net.sent, out...)
	}
	for _, msg := range net.sent[first:] {
		if err := net.machines[msg.To].Receive(msg); err != nil {
			return err
		}
	}
	return nil
}

func (net *network) run() error {
	for range net.machines[0].last() + 4 { // a probe, the rounds, Done, and its answer
		if err := net.round(); err != nil {
			return err
		}
	}
	if !net.allFinished() {
		return fmt.Errorf("not finished: %v", net.finished)
	}
	return nil
}

func (net *network) allFinished() bool { return !slices.Contains(net.finished, false) }

func (net *network) models() [][]float32 {
	var x [][]float32
	for _, m := range net.machines {
		x = append(x, m.Model())
	}
	return x
}

func sameBits(a, b [][]float32) bool {
	return slices.EqualFunc(a, b, func(x, y []float32) bool { return slices.Equal(x, y) })
}

func carries(msg Message) bool { return msg.Kind == Release }

func isProbe(msg Message) bool { return msg.Kind == Probe || msg.Kind == ProbeReply }

func (m *Machine) zOf(i int) []float32 { return part(m.z, i, len(m.x)) }

func everyEdge(n int) (edges [][2]int) {
	for i := range n {
		for j := range i {
			edges = append(edges, [2]int{j, i})
		}
	}
	return edges
}

func pathOf(n int) (edges [][2]int) {
	for i := 1; i < n; i++ {
		edges = append(edges, [2]int{i - 1, i})
	}
	return edges
}
