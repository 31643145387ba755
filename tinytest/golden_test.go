package tinytest_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

var update = flag.Bool("update", false, "write testdata/*.trace from what the code computes now")

// kite is a graph of six clients: a ring with a chord. Degrees are 2 and 3.
var kite = [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {0, 5}, {0, 3}}

func private(i int, c *admm.Config) {
	noise := rng.New(77, rng.Address{Purpose: rng.Noise, Client: uint32(i)})
	c.NonPrivate, c.Privacy, c.Noise = false, dpmech.Gaussian{Clip: 0.3, Sigma: 0.05}, &noise
}

// clientsOf returns one client with the loss of the paper for each node of the kite. change adjusts each configuration.
func clientsOf(t *testing.T, change func(i int, c *admm.Config)) []sim.Client {
	t.Helper()
	const dim = 70
	g, err := graph.New(6, kite)
	if err != nil {
		t.Fatal(err)
	}
	clients := make([]sim.Client, 6)
	for i := range clients {
		cfg := admm.Config{
			Estimator: zoest.Config{Dim: dim, Samples: 4 + i%3, Batch: 3, Seed: 11, Client: uint32(i)},
			Neighbors: g.Neighbors(i), Consensus: g.Chebyshev(),
			Rounds: 6, Cooldown: 2, Tau: 2,
			Rho: 1, Beta: 1.5, Eta: admm.Schedule{0.2}, Mu: admm.Schedule{0.3},
			NonPrivate: true,
		}
		change(i, &cfg)
		clients[i] = sim.Client{Config: cfg, Oracle: tinytest.SquaredProbability(5, i, dim, cfg.Estimator.Samples)}
	}
	return clients
}

// TestGoldenNetwork checks that a whole network computes the same bits on every processor, with assembly and without.
// Each estimator, and each distribution of directions occurs in at least one of these runs of six clients.
// A vector of dimension 70 needs more than one word of signs and more than one pass over the 64 lanes of package vec.
// After an intended change of results, rewrite the files with -update.
func TestGoldenNetwork(t *testing.T) {
	for name, change := range map[string]func(i int, c *admm.Config){
		"paper": func(int, *admm.Config) {},
		"tracking-walsh": func(i int, c *admm.Config) {
			c.Estimator.Kind, c.Estimator.Directions = zoest.Tracking, zoest.Walsh
		},
		"walsh-batch": func(i int, c *admm.Config) {
			c.Estimator.Directions, c.Estimator.Batch = zoest.Walsh, 0
		},
		"private": private,
		"private-grid": func(i int, c *admm.Config) {
			private(i, c)
			c.Estimator.Kind, c.GridStep = zoest.Tracking, 0.05/16
			c.X0 = make([]float32, 70)
			for k := range c.X0 {
				c.X0[k] = float32(k%9-4) / 8
			}
		},
		"schedules": func(i int, c *admm.Config) {
			c.Tau, c.Estimator.Kind, c.Estimator.Window = 1+i%3, zoest.Kind(1-i%2), i
			c.Eta = admm.Schedule{0.3, 0.25, 0.2, 0.15, 0.1, 0.05}
			c.Mu = admm.Schedule{0.3, 0.3, 0.2, 0.2, 0.1, 0.1}
		},
	} {
		t.Run(name, func(t *testing.T) {
			network, err := sim.New(clientsOf(t, change))
			if err != nil {
				t.Fatal(err)
			}
			got, err := traceOf(t.Context(), network)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".trace")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.ReplaceAll(string(want), "\r\n", "\n"), "\n")
			for i, line := range strings.Split(got, "\n") { // differences after the first one follow from it
				if i >= len(lines) || line != lines[i] {
					t.Fatalf("line %d of the trace is %q, want %q (%s)", i+1, line, lines[min(i, len(lines)-1)], traceHeader)
				}
			}
		})
	}
}

// traceHeader names the columns of a trace, in the order in which a round computes them.
const traceHeader = "round client z memory model"

// traceOf runs a new simulation to its end and returns its intermediate values as text: one line per release, in order
// of round, then client, with 32-bit hashes of the client's edge variables z, its estimator's memory ("-" if it
// has none), and the released model. The last line has the transcript.
func traceOf(ctx context.Context, s *sim.Sim) (string, error) {
	hashes := make([][]string, len(s.Models())) // by client and round
	s.OnRelease = func(client int, m *admm.Machine) {
		hashes[client] = append(hashes[client], stateHashes(m.State()))
	}
	err := s.Run(ctx, nil)
	var text strings.Builder
	fmt.Fprintln(&text, traceHeader)
	for round := range s.Round() {
		for client, h := range hashes {
			fmt.Fprintf(&text, "%d %d%s\n", round+1, client, h[round])
		}
	}
	fmt.Fprintf(&text, "transcript %s\n", s.Transcript())
	return text.String(), err
}

// stateHashes returns the hashes of a state for a line of the trace, each after a space.
func stateHashes(s admm.State) string {
	h := sha256.New()
	var buf, line []byte
	floats := func(x []float32) {
		buf = binary.LittleEndian.AppendUint32(buf[:0], uint32(len(x)))
		for _, v := range x {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		h.Write(buf)
	}
	steps := func(x []int32) {
		buf = buf[:0]
		for _, v := range x {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(v))
		}
		h.Write(buf)
	}
	end := func(present bool) {
		line = append(line, ' ')
		if present {
			line = hex.AppendEncode(line, h.Sum(nil)[:4])
		} else {
			line = append(line, '-')
		}
		h.Reset()
	}
	for _, e := range s.Edges {
		floats(e.Z)
		floats(e.PeerZ)
		steps(e.Base)
	}
	end(len(s.Edges) > 0)
	floats(s.Last)
	end(s.Last != nil)
	floats(s.X)
	steps(s.Grid)
	end(true)
	return string(line)
}
