package tinytest_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
)

var update = flag.Bool("update", false, "write testdata/*.trace from what the code computes now")

// The whole network, bit for bit, on every processor, with assembly and without: each estimator, law of directions,
// table and payload is in at least one of these runs of six clients. d = 70 is more than one word of signs and one
// round of the 64 lanes. A change that means to change results writes the files anew with -update.
func TestGoldenNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		change func(i int, c *admm.Config)
		set    func(*sim.Sim)
	}{
		"paper": {},
		"centered-sphere-seeded": {change: func(i int, c *admm.Config) {
			c.Estimator.Centered, c.Estimator.Directions, c.Estimator.Seeded = true, zoest.Sphere, true
			c.Average = true
		}},
		"sphere-batch-releases": {change: func(i int, c *admm.Config) {
			c.Estimator.Directions, c.Estimator.Batch, c.Releases = zoest.Sphere, 0, true
		}},
		"private":          {change: private},
		"private-releases": {change: func(i int, c *admm.Config) { private(i, c); c.Releases = true }},
		"private-grid": {change: func(i int, c *admm.Config) {
			private(i, c)
			c.Estimator.Centered, c.Average, c.Releases, c.GridStep = true, true, true, 0.05/16
			c.X0 = make([]float32, 70)
			for k := range c.X0 {
				c.X0[k] = float32(k%9-4) / 8
			}
		}},
		"schedules": {change: func(i int, c *admm.Config) {
			c.Tau, c.Estimator.Centered, c.Estimator.Window = 1+i%3, i%2 == 0, i
			c.Eta = admm.Schedule{0.3, 0.25, 0.2, 0.15, 0.1, 0.05}
			c.Mu = admm.Schedule{0.3, 0.3, 0.2, 0.2, 0.1, 0.1}
		}},
		"lossy": {
			func(i int, c *admm.Config) { c.Lossy, c.Estimator.Centered = 2, true },
			func(s *sim.Sim) { s.Seed, s.Faults, s.Asleep = 1, awful(1), tinytest.Markov(1, 0.1, 0.3) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			clients := clientsOf(kite, 70, c.change)
			for i := range clients {
				if name != "private" { // the bounded loss stays; otherwise the paper's
					clients[i].Oracle = tinytest.SquaredProbability(5, i, 70, clients[i].Config.Estimator.Samples)
				}
			}
			network, err := sim.New(clients)
			if err != nil {
				t.Fatal(err)
			}
			if c.set != nil {
				c.set(network)
			}
			got, err := tinytest.Trace(t.Context(), network)
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
			if err := tinytest.CompareTraces(got, strings.ReplaceAll(string(want), "\r\n", "\n")); err != nil {
				t.Error(err)
			}
		})
	}
}

// A single bit of a single loss, of one client in one round, is found where it first shows: in that client's next
// release.
func TestTraceNamesTheFirstDifference(t *testing.T) {
	trace := func(flip bool) string {
		clients := clientsOf(kite, 5, func(i int, c *admm.Config) { c.Average = true })
		inner, asked := clients[2].Oracle, 0
		clients[2].Oracle = oracleFunc(func(x []float32, h int) float64 {
			v, err := inner.Loss(t.Context(), x, h)
			if err != nil {
				t.Error(err)
			}
			if asked++; flip && asked == 2*(6+2*3)+1 { // m + tau*b queries a round
				v += 1e-6
			}
			return v
		})
		network, err := sim.New(clients)
		if err != nil {
			t.Fatal(err)
		}
		text, err := tinytest.Trace(t.Context(), network)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tinytest.Trace(t.Context(), network); err == nil {
			t.Error("a trace of a run that is over")
		}
		return text
	}
	want := trace(false)
	if err := tinytest.CompareTraces(trace(false), want); err != nil {
		t.Error(err)
	}
	err := tinytest.CompareTraces(trace(true), want)
	if err == nil || !strings.Contains(err.Error(), "round 3, client 2: model has hash") {
		t.Errorf("error %v, want one that names the model of client 2 in round 3", err)
	}
	lines := strings.Split(want, "\n")
	if len(lines) != 1+6*8+1+1 {
		t.Errorf("%d lines, want a header, 48 releases and the transcript", len(lines))
	}
	for text, says := range map[string]string{
		strings.Join(lines[:9], "\n"):                "lines",
		strings.Replace(want, "\n2 0 ", "\n2 1 ", 1): "line 8",
		want + " ": "line 51",
	} {
		if err := tinytest.CompareTraces(text, want); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one with %q", err, says)
		}
	}
}
