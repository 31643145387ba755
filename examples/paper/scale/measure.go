package scale

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/topology"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Forms lists the compared kinds of runs: without noise, with local noise only, and with pairwise noise.
var Forms = []string{"no noise", "private", "pairwise noise"}

// Point describes one run on a ring.
type Point struct {
	Clients, Dim, Samples int // N, d, and each client's number of samples m_i
	Rounds                int
	Form                  string // one of Forms
}

// Figure holds the cost of a run.
type Figure struct {
	Setup float64 `json:"setup"` // seconds before the first round
	Round float64 `json:"round"` // seconds per round, the best of three goes
	MB    float64 `json:"mb"`    // peak memory of the process, 0 if unknown
}

// goes is the number of times that the rounds are timed.
const goes = 3

// Measure performs a run with the default settings of a fleet, but without mixing and without a cool-down.
func Measure(ctx context.Context, p Point) (Figure, error) {
	start := time.Now()
	g, err := topology.Parse("ring", p.Clients, 1)
	if err != nil {
		return Figure{}, err
	}
	f := &sdk.Fleet{Run: "scale", Dim: p.Dim}
	draw := rng.New(1, rng.Address{Purpose: rng.Split})
	samples := make([]int, p.Clients)
	clients := make([]sim.Client, p.Clients)
	for i := range clients {
		samples[i] = p.Samples
		f.Members = append(f.Members, strconv.Itoa(i))
		own := &task.Data{Dim: p.Dim, Classes: 2, X: make([]float32, p.Samples*p.Dim), Y: make([]int, p.Samples)}
		for h := range own.Y {
			own.Y[h] = h % 2
			for j := range p.Dim {
				own.X[h*p.Dim+j] = float32(draw.Float64() - 0.5)
			}
		}
		clients[i].Oracle = task.NewSoftmax(own)
	}
	for _, e := range g.Edges() {
		f.Edges = append(f.Edges, [2]string{f.Members[e[0]], f.Members[e[1]]})
	}
	known := plan.Known{Dim: p.Dim, Samples: samples, Open: true, Privacy: sdk.Privacy{NonPrivate: p.Form == Forms[0]},
		Method: sdk.Method{Rounds: goes * p.Rounds, Tau: 3, Seed: 1}, Fixed: []string{"method.mixing", "method.cooldown"}}
	if p.Form == Forms[2] {
		known.Graph, known.Privacy.Colluders = g, 1
	}
	if f.Method, f.Privacy, err = plan.Suggest(known); err != nil {
		return Figure{}, err
	}
	cfgs, err := sim.Machines(f, samples, func(client int) io.Reader {
		noise := rng.New(1, rng.Address{Purpose: rng.Noise, Client: uint32(client)})
		return &noise
	})
	if err != nil {
		return Figure{}, err
	}
	for i, cfg := range cfgs {
		clients[i].Config = cfg
	}
	network, err := sim.New(clients)
	if err != nil {
		return Figure{}, err
	}
	out := Figure{Setup: time.Since(start).Seconds()}
	start = time.Now()
	err = network.Run(ctx, func(round int) error {
		if round%p.Rounds == 0 {
			took := time.Since(start).Seconds() / float64(p.Rounds)
			if out.Round == 0 || took < out.Round {
				out.Round = took
			}
			start = time.Now()
		}
		return nil
	})
	out.MB = Peak()
	return out, err
}

// Peak returns the peak resident memory of this process in MB, as reported by Linux.
func Peak() float64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kb float64
		if strings.HasPrefix(lines.Text(), "VmHWM:") {
			if _, err := fmt.Sscanf(lines.Text(), "VmHWM: %f kB", &kb); err == nil {
				return kb * 1024 / 1e6
			}
		}
	}
	return 0
}
