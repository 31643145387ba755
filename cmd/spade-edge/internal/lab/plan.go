package lab

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest"
)

// PlanOptions has the flags of the plan command.
type PlanOptions struct {
	setup.Options
	dim, samples int
	grid         []int     // numbers of members from -grid; nil if it is not given
	epsilons     []float64 // values of -epsilon, if -grid is given
}

// leftover is the fraction of the disagreement between members that may remain after the cool-down.
const leftover = 0.05

// Plan is the command that predicts the cost of a run.
func Plan(_ context.Context, c *cli.Cmdline) error {
	o := new(PlanOptions)
	if err := o.Read(c); err != nil {
		return err
	}
	if o.grid != nil {
		g, err := o.makeGrid()
		if err != nil {
			return cli.AsUsageError(err)
		}
		return c.Print(g, g.write)
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
	return c.Print(r, func(t cli.Table) { r.Write(t, p.Fleet) })
}

// Read parses a command line. It reports flags that conflict and numbers that are out of range.
func (o *PlanOptions) Read(c *cli.Cmdline) error {
	o.Options = setup.NewOptions(c)
	o.Nodes, o.Graph, o.Several = 50, "er:0.3", &o.epsilons // the defaults of simulate
	c.IntVar(&o.Nodes, "nodes", o.Nodes, "number of clients")
	o.RegisterRun(c)
	o.RegisterModel(c)
	c.IntVar(&o.dim, "dim", 100, "length of the parameter vector, d")
	c.IntVar(&o.samples, "samples", 100, "samples of each client, m")
	c.IntVar(&o.Steps, "steps", 0, "local steps of a client in all rounds, `T` (instead of -rounds)")
	c.Int64Var(&o.Queries, "queries", 0, "queries that a client makes in all rounds (instead of -rounds)")
	c.Func("grid", "forecast runs with these numbers of `members` (such as 4,10,31), both units and several epsilons "+
		"(-epsilon, default 0.5,1,2,4,8), on the complete graph unless -graph is given", func(text string) (err error) {
		o.grid, err = setup.Numbers(text)
		return err
	})
	if err := o.ParseArgs(); err != nil {
		return err
	}
	var f cli.Faults
	f.When(setup.Count(o.Given["rounds"], o.Given["steps"], o.Given["queries"]) > 1,
		"-rounds, -steps and -queries cannot be combined: each sets the length of the run")
	f.When(o.dim < 1 || o.dim > wire.MaxDim, "-dim is %d, want 1..%d", o.dim, wire.MaxDim)
	f.When(o.samples < 1 || o.samples > math.MaxInt32, "-samples is %d, want 1..%d", o.samples, math.MaxInt32)
	f.When(o.Given["steps"] && (o.Steps < 1 || o.Steps > math.MaxInt32), "-steps is %d, want 1..%d", o.Steps, math.MaxInt32)
	f.When(o.Given["queries"] && o.Queries < 1, "-queries is %d, want at least 1", o.Queries)
	t := float64(o.Asked.Method.Rounds) * float64(o.Asked.Method.Tau)
	f.When(t > math.MaxInt32, "-rounds %d and -tau %d give %.3g local steps, want at most %d", o.Asked.Method.Rounds,
		o.Asked.Method.Tau, t, math.MaxInt32)
	f.When(o.grid == nil && len(o.epsilons) > 1, "-epsilon has %d values, want one; only -grid takes several", len(o.epsilons))
	if o.grid != nil {
		o.checkGrid(&f)
		if !o.Given["graph"] {
			o.Graph = "complete"
		}
	}
	o.Conflicts(&f)
	return f.Usage()
}

// Build returns the problem that the flags describe, without loading data.
func (o *PlanOptions) Build() (*setup.Problem, error) {
	g, err := o.ParseGraph()
	if err != nil {
		return nil, setup.AsUsage(err)
	}
	samples := o.samples - o.samples%max(1, o.Asked.Privacy.Places)
	p := &setup.Problem{Opt: o.Options, Graph: g, Samples: slices.Repeat([]int{samples}, o.Nodes)}
	p.Choose("nodes", o.Nodes, "graph", o.Graph, "dim", o.dim, "samples", o.samples, "batch", o.Asked.Method.Batch, "table", o.Table)
	return p, p.MakeFleet("plan", o.dim)
}

func (o *PlanOptions) plan(p *setup.Problem) (*setup.Report, error) {
	f, g := p.Fleet, p.Graph
	cfgs, err := f.Machines(p.Samples, func(int) io.Reader { return bytes.NewReader(nil) }) // no noise is drawn
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	cfg := slices.MaxFunc(cfgs, func(a, b admm.Config) int { return len(a.Neighbors) - len(b.Neighbors) })
	batch := o.samples
	if cfg.Estimator.Batch > 0 {
		batch = cfg.Estimator.Batch
	}
	m := f.Method
	r := &setup.Report{
		Nodes: o.Nodes, Edges: len(f.Edges), DegreeMax: len(cfg.Neighbors), Dim: f.Dim, Samples: o.samples, Batch: batch,
		Rounds: m.Rounds, Tau: m.Tau, Steps: int64(m.Rounds) * int64(m.Tau), Schedule: "constant",
		Eta: m.Eta[0], Mu: m.Mu[0], Rho: m.Rho, Beta: cfg.Beta, Lambda2: g.Lambda2(), LambdaN: g.LambdaMax(), Gain: m.Gain,
		ShareLeft: 1, Payload: sdk.PayloadMessage, NonPrivate: o.Asked.Privacy.NonPrivate,
	}
	if o.Known(o.dim, p.Samples).Scheduled() {
		r.Schedule = "paper"
	}
	calm := graph.Decay{Step: 1, Mix: make([]float64, m.Mixing)} // for a node without neighbors
	if o.Nodes == 1 {
		r.Gain = 0
	} else {
		r.RoundGain = g.Gain(m.Gain, m.Rho)
		r.SpectralRadius = g.Contraction(r.RoundGain, m.Rho)
		r.Tenfold = graph.MixingTime(r.SpectralRadius)
		schedule, err := p.Schedule()
		if err != nil {
			return nil, err
		}
		calm = g.Decay(r.RoundGain, m.Rho, schedule, leftover, o.Asked.Method.Seed)
		if calm.Needed >= 0 {
			r.CooldownNeeded = &calm.Needed
		}
		r.ShareLeft = calm.Left[min(f.Method.Cooldown, len(calm.Left)-1)]
	}
	r.Cooldown, r.Mixing = f.Method.Cooldown, f.Method.Mixing
	if cfg.Releases {
		r.Payload = sdk.PayloadRelease
	}
	if cfg.GridStep > 0 {
		r.GridBits = int(math.Round(math.Log2(f.Privacy.Sigma / cfg.GridStep)))
		// A release differs from the one before not only by noise but also by the clipped update, whose norm is at most
		// clip. The update is spread over all coordinates, so it adds to the standard deviation of each.
		clip := f.Privacy.Clip * float64(max(1, cfg.Records.Most)) / (f.Privacy.Sigma * math.Sqrt(float64(f.Dim)))
		calm.Step = math.Hypot(calm.Step, clip)
	}
	p.Choose("payload", r.Payload)
	if !o.Given["payload"] && r.GridBits > 0 {
		p.Choose("grid-bits", r.GridBits)
	}
	if r.Frames, err = setup.NewFrames(f, cfg, calm); err != nil {
		return nil, err
	}
	queries := int64(m.Tau) * int64(batch)
	if cfg.Estimator.Kind != zoest.Tracking && !cfg.Estimator.Records {
		queries += int64(o.samples) // each sample once per round, to fill the table
	}
	if err := r.Multiply(queries); err != nil {
		return nil, err
	}
	r.Chosen = p.Chosen
	if !o.Asked.Privacy.NonPrivate {
		r.Privacy = p.Privacy([]string{"every parameter of this plan"})
		r.Forecast = p.Forecast()
	}
	return r, nil
}

// Grid is the result of "plan -grid", printed as text or JSON: a forecast for each number of members, unit and epsilon.
type Grid struct {
	Dim      int        `json:"dim"`
	Samples  int        `json:"samples"`
	Graph    string     `json:"graph"`
	Epsilons []float64  `json:"epsilons"`
	Cells    []GridCell `json:"forecasts"`
}

// GridCell is the forecast of one run. Its gains are defined as in [plan.Outlook].
type GridCell struct {
	Nodes   int      `json:"nodes"`
	Unit    sdk.Unit `json:"unit"`
	Epsilon float64  `json:"epsilon"`
	Gain    float64  `json:"gain"`
	Low     float64  `json:"gain_low"`
	High    float64  `json:"gain_high"`
}

// checkGrid reports flags that cannot be combined with -grid, because a grid itself varies or fixes their values.
func (o *PlanOptions) checkGrid(f *cli.Faults) {
	for _, name := range []string{"nodes", "unit", "sigma", "pair-sigma", "non-private", "steps", "queries", "clip"} {
		f.When(o.Given[name], "-grid and -%s cannot be combined: a grid varies the number of members, the unit and epsilon", name)
	}
	for _, n := range o.grid {
		f.When(n < 2 || n > 1000, "-grid: the number of members is %d, want 2..1000", n)
	}
}

// makeGrid makes all forecasts. It fails if the requested graph is impossible for one of the numbers of members.
func (o *PlanOptions) makeGrid() (*Grid, error) {
	g := &Grid{Dim: o.dim, Samples: o.samples, Graph: o.Graph, Epsilons: o.epsilons}
	if len(g.Epsilons) == 0 {
		g.Epsilons = []float64{0.5, 1, 2, 4, 8}
	}
	for _, unit := range []sdk.Unit{sdk.UnitClient, sdk.UnitRecord} {
		for _, n := range o.grid {
			for _, epsilon := range g.Epsilons {
				one := *o
				one.Nodes, one.Asked.Privacy.Unit, one.Asked.Privacy.EpsilonLimit = n, unit, epsilon
				p, err := one.Build()
				if err != nil {
					return nil, fmt.Errorf("with %d members and epsilon %v %s: %w", n, epsilon, unit.Each(), err)
				}
				r, err := plan.Forecast(p.Fleet, o.samples)
				if err != nil {
					return nil, err
				}
				g.Cells = append(g.Cells, GridCell{n, unit, epsilon, r.Gain, r.Low, r.High})
			}
		}
	}
	return g, nil
}

func (g *Grid) write(t cli.Table) {
	t.Wrap("gain", "%% of the way from the most frequent answer (0) to the same run without noise (100): half of such runs gain "+
		"more, and nine of ten lie between the numbers in parentheses")
	t.Row("model", "%d parameters, %d samples a member, graph %s", g.Dim, g.Samples, g.Graph)
	for cells := range slices.Chunk(g.Cells, len(g.Cells)/2) { // of one unit
		fmt.Fprintf(t, "\nepsilon %s:\n\n%7s", cells[0].Unit.Each(), "members")
		for _, epsilon := range g.Epsilons {
			fmt.Fprintf(t, " %15s", fmt.Sprint("epsilon ", epsilon))
		}
		fmt.Fprintln(t)
		for row := range slices.Chunk(cells, len(g.Epsilons)) {
			fmt.Fprintf(t, "%7d", row[0].Nodes)
			for _, c := range row {
				text := fmt.Sprintf("%.0f (%.0f..%.0f)", percent(c.Gain), percent(c.Low), percent(c.High))
				fmt.Fprintf(t, " %15s", text)
			}
			fmt.Fprintln(t)
		}
	}
}

// percent converts a fraction to percent. For a negative fraction, it returns 0.
func percent(share float64) float64 { return 100 * max(share, 0) }
