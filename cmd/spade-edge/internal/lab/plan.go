package lab

import (
	"bytes"
	"context"
	"io"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/topology"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// planOptions has the flags of the plan command.
type planOptions struct {
	setup.Options
	dim, samples int
}

// leftover is the fraction of the disagreement between members that may remain after the cool-down.
const leftover = 0.05

// Plan is the command that predicts the cost of a run.
func Plan(_ context.Context, c *cli.Cmdline) error {
	o := new(planOptions)
	if err := o.Read(c); err != nil {
		return err
	}
	p, err := o.Build()
	if err != nil {
		return err
	}
	r, err := o.plan(p)
	if err != nil {
		return err
	}
	if !c.JSON {
		p.WriteChosen(c.Log)
	}
	return c.Print(r, func(t cli.Table) { r.write(t, p.Fleet) })
}

// Read parses a command line. It reports flags that conflict and numbers that are out of range.
func (o *planOptions) Read(c *cli.Cmdline) error {
	o.Options = setup.NewOptions(c)
	o.Nodes, o.Graph = 50, "er:0.3" // the defaults of simulate
	c.IntVar(&o.Nodes, "nodes", o.Nodes, "number of clients")
	o.RegisterRun(c)
	o.RegisterModel(c)
	c.IntVar(&o.dim, "dim", 100, "length of the parameter vector, d")
	c.IntVar(&o.samples, "samples", 100, "samples of each client, m")
	if err := o.ParseArgs(); err != nil {
		return err
	}
	var f cli.Faults
	f.When(o.dim < 1 || o.dim > wire.MaxDim, "-dim is %d, want 1..%d", o.dim, wire.MaxDim)
	least := max(1, o.Asked.Privacy.Places) // at person level, of one person
	f.When(o.samples < least || o.samples > math.MaxInt32, "-samples is %d, want %d..%d", o.samples, least, math.MaxInt32)
	t := float64(o.Asked.Method.Rounds) * float64(o.Asked.Method.Tau)
	f.When(t > math.MaxInt32, "-rounds %d and -tau %d give %.3g local steps, want at most %d", o.Asked.Method.Rounds,
		o.Asked.Method.Tau, t, math.MaxInt32)
	o.Conflicts(&f)
	return f.Usage()
}

// Build returns the problem that the flags describe, without loading data.
func (o *planOptions) Build() (*setup.Problem, error) {
	g, err := o.ParseGraph()
	if err != nil {
		return nil, setup.AsUsage(err)
	}
	samples := o.samples - o.samples%max(1, o.Asked.Privacy.Places)
	p := &setup.Problem{Opt: o.Options, Graph: g, Samples: slices.Repeat([]int{samples}, o.Nodes)}
	p.Choose("nodes", o.Nodes, "graph", o.Graph, "dim", o.dim, "samples", o.samples, "batch", o.Asked.Method.Batch)
	return p, p.MakeFleet("plan", o.dim)
}

func (o *planOptions) plan(p *setup.Problem) (*Report, error) {
	f, g := p.Fleet, p.Graph
	cfgs, err := sim.Machines(p.Plan, p.Samples, func(int) io.Reader { return bytes.NewReader(nil) }) // no noise is drawn
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	cfg := slices.MaxFunc(cfgs, func(a, b admm.Config) int { return len(a.Neighbors) - len(b.Neighbors) })
	m, samples := f.Method, p.Samples[0]
	r := &Report{
		Nodes: o.Nodes, Edges: len(f.Edges), DegreeMax: len(cfg.Neighbors), Dim: f.Dim, Samples: samples, Batch: samples,
		Rounds: m.Rounds, Mixing: m.Mixing, Cooldown: m.Cooldown, Tau: m.Tau, Steps: int64(m.Rounds) * int64(m.Tau),
		Eta: m.Eta[0], Mu: m.Mu[0], Rho: m.Rho, Beta: cfg.Beta, Lambda2: g.Lambda2(), LambdaN: g.LambdaMax(), Gain: m.Gain,
		ShareLeft: 1, NonPrivate: o.Asked.Privacy.NonPrivate,
	}
	if m.Batch > 0 {
		r.Batch = min(m.Batch, samples)
	}
	calm := topology.Decay{Step: 1, Mix: make([]float64, m.Mixing)} // for a node without neighbors
	if o.Nodes == 1 {
		r.Gain = 0
	} else {
		r.RoundGain = g.Gain(m.Gain, m.Rho)
		r.SpectralRadius = topology.ContractionOf(g, r.RoundGain, m.Rho)
		r.Tenfold = topology.MixingTime(r.SpectralRadius)
		calm = topology.DecayOf(g, r.RoundGain, m.Rho, p.Schedule(), leftover, o.Asked.Method.Seed)
		if calm.Needed >= 0 {
			r.CooldownNeeded = &calm.Needed
		}
		r.ShareLeft = calm.Left[min(m.Cooldown, len(calm.Left)-1)]
	}
	if cfg.GridStep > 0 {
		r.GridBits = int(math.Round(math.Log2(f.Privacy.Sigma / cfg.GridStep)))
		// A release differs from the one before not only by noise but also by the clipped update, whose norm is at most
		// clip. The update is spread over all coordinates, so it adds to the standard deviation of each.
		clip := f.Privacy.Clip * float64(max(1, cfg.Records.Most)) / (f.Privacy.Sigma * math.Sqrt(float64(f.Dim)))
		calm.Step = math.Hypot(calm.Step, clip)
		p.Choose("grid-bits", r.GridBits)
	}
	if r.Frames, err = newFrames(f, cfg, calm); err != nil {
		return nil, err
	}
	queries, _ := plan.Cost(f, samples)
	if err := r.multiply(queries); err != nil {
		return nil, err
	}
	r.Chosen = p.Chosen
	if !o.Asked.Privacy.NonPrivate {
		r.Privacy = setup.NewPrivacy(f.Total(m.Rounds), f, []string{"every parameter of this plan"})
		r.Forecast = p.Forecast()
	}
	return r, nil
}
