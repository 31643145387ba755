package lab

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// PlanOptions are the flags of the command plan.
type PlanOptions struct {
	setup.Options
	dim, samples          int
	columns, classes      int
	beta, share, linkKbit float64
}

// Plan is the command that says what a run will take.
func Plan(_ context.Context, c *cli.Cmdline) error {
	o := new(PlanOptions)
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
	return c.Print(r, r.Write)
}

// Read reads the flags of a command line.
func (o *PlanOptions) Read(c *cli.Cmdline) error {
	o.Options = setup.NewOptions(c)
	o.Nodes, o.Graph = 50, "er:0.3" // as simulate has them
	c.IntVar(&o.Nodes, "nodes", o.Nodes, "number of clients")
	o.RegisterRun(c)
	o.RegisterModel(c)
	c.IntVar(&o.dim, "dim", 100, "length of the parameter vector, d (with -columns it follows from the model)")
	c.IntVar(&o.columns, "columns", 0, "`columns` of the data as a built-in model sees "+
		"them, a column of ones included (instead of -dim)")
	c.IntVar(&o.classes, "classes", 2, "classes of the data, with -columns")
	c.IntVar(&o.samples, "samples", 100, "samples of each client, m")
	c.IntVar(&o.Steps, "steps", 0, "local steps of a client in all rounds, `T` (instead of -rounds)")
	c.Int64Var(&o.Queries, "queries", 0, "what a client may ask its oracle in all rounds (instead of -rounds)")
	c.Float64Var(&o.beta, "beta", 0, "weight of the penalty (instead of -gain)")
	c.Float64Var(&o.share, "share", 0.05, "how many rounds of cool-down bring disagreement to this "+
		"`share` of what it was; sets -cooldown if given")
	c.Float64Var(&o.linkKbit, "link-kbit", 0, "speed of a node's link, 1000 "+
		"bits a second in each direction (0 = unknown)")
	if err := o.ParseArgs(); err != nil {
		return err
	}
	return o.check()
}

// check reports flags that exclude each other and numbers out of range, but for an unstable gain.
func (o *PlanOptions) check() error {
	var f cli.Faults
	var lengths []string
	for _, name := range []string{"rounds", "steps", "queries"} {
		if o.Given[name] {
			lengths = append(lengths, "-"+name)
		}
	}
	f.When(len(lengths) > 1, "%v exclude each other: each says how long the run is", lengths)
	f.When(o.Given["sigma"] && o.Given["epsilon"] && len(lengths) > 0,
		"-sigma and -epsilon say how many rounds there are, and so do %v: leave one out", lengths)
	f.When(o.Given["sigma"] && o.Given["epsilon"] && !o.Given["clip"],
		"-clip is missing: with -sigma and -epsilon it says how many rounds there are")
	f.When(o.Given["dim"] && o.Given["columns"],
		"-dim and -columns exclude each other: with the model, one follows from the other")
	f.When(o.Given["classes"] && !o.Given["columns"],
		"-columns is missing: only with it -classes says how many parameters there are")
	f.When(o.Model.Name == task.LinearModel && o.Given["classes"], "-classes does not go with -model linear, which predicts a number")
	f.When(o.classes < 2, "-classes is %d, want 2..1000", o.classes)
	f.When(o.Given["beta"] && o.Given["gain"], "-beta and -gain exclude each other: one follows from the other")
	for _, c := range []struct {
		name       string
		value, max int64
	}{
		{"dim", int64(o.dim), wire.MaxDim}, {"columns", int64(o.columns), 1 << 18},
		{"classes", int64(max(o.classes, 2)), 1000}, {"samples", int64(o.samples), math.MaxInt32},
		{"steps", int64(o.Steps), math.MaxInt32}, {"queries", o.Queries, math.MaxInt64},
	} {
		f.When(o.Given[c.name] && (c.value < 1 || c.value > c.max), "-%s is %d, want 1..%d", c.name, c.value, c.max)
	}
	t := float64(o.Asked.Method.Rounds) * float64(o.Asked.Method.Tau)
	f.When(t > math.MaxInt32, "-rounds %d and -tau %d are %.3g local steps, want at most %d", o.Asked.Method.Rounds,
		o.Asked.Method.Tau, t, math.MaxInt32)
	positive := func(name string, value float64) {
		f.When(o.Given[name] && !(value > 0 && value <= math.MaxFloat32), "-%s is %v, want a positive number", name, value)
	}
	positive("beta", o.beta)
	positive("link-kbit", o.linkKbit)
	if o.Asked.Method.Gain >= 1 { // a smaller one is told by what all commands share
		positive("gain", o.Asked.Method.Gain)
	}
	f.When(!(o.share >= 1e-6 && o.share < 1), "-share is %v, want 1e-6 or more, and below 1", o.share)
	rest := o.Options
	if o.Given["sigma"] && o.Given["epsilon"] { // together they are a budget
		rest.Cmdline = &cli.Cmdline{FlagSet: o.FlagSet, Given: maps.Clone(o.Given)}
		rest.Given["epsilon"], rest.Given["accounting"], rest.Given["limit-all"] = false, false, false
	}
	if rest.Asked.Method.Gain >= 1 { // is refused with figures, later
		rest.Asked.Method.Gain = 0.5
	}
	rest.Conflicts(&f)
	if err := f.Usage(); err != nil {
		return err
	}
	if o.Given["columns"] {
		o.dim = o.ModelSpec().Dim(o.columns, o.classes)
	}
	return nil
}

// Build makes the fleet, like the one of options.build, but without data.
func (o *PlanOptions) Build() (*setup.Problem, error) {
	g, err := o.ParseGraph()
	if err != nil {
		return nil, setup.AsUsage(err)
	}
	p := &setup.Problem{Opt: o.Options, Graph: g, Samples: slices.Repeat([]int{o.samples}, o.Nodes)}
	if p.Opt.Asked.Method.Gain >= 1 || o.Given["beta"] {
		p.Opt.Asked.Method.Gain = 0.5 // for now: what it really is follows from eta and mu
	}
	if o.Given["share"] && !o.Given["cooldown"] {
		p.Opt.Asked.Method.Cooldown = -1 // for now: it follows from the share
	}
	p.Choose("nodes", o.Nodes, "graph", o.Graph, "dim", o.dim, "samples", o.samples, "batch", o.Asked.Method.Batch,
		"table", o.Table, "share", o.share)
	if err := p.MakeFleet("plan", o.dim); err != nil {
		return nil, err
	}
	if o.Given["beta"] { // from which the gain follows
		p.Chosen = slices.DeleteFunc(p.Chosen, func(c setup.Choice) bool { return c.Name == "gain" })
	}
	return p, setGain(p, cmp.Or(o.Asked.Method.Gain, p.Fleet.Method.Gain), o.beta)
}

// setGain gives the fleet the share of the limit of stability that -gain says or -beta amounts to. It refuses one that
// is not stable.
func setGain(p *setup.Problem, share, beta float64) error {
	f, g := p.Fleet, p.Graph
	if g.N() == 1 {
		return nil
	}
	step := float64(f.Method.Tau) * f.Method.Eta[0] * f.Method.Mu[0]
	largest := g.Gain(1, f.Method.Rho)
	if beta > 0 {
		share = step * beta / largest
	}
	a := share * largest
	if share < 1 {
		f.Method.Gain = share
		return setup.AsUsage(f.Validate())
	}
	grows := "it never dies out"
	if r := g.Contraction(a, f.Method.Rho); r > 1+1e-9 {
		grows = fmt.Sprintf("it grows by %.4g a round", r)
	}
	stable := largest / step
	return cli.AsUsageError(fmt.Errorf("unstable: disagreement would not die out, %s. beta %.6g is a gain of %.6g: "+
		"tau*beta*eta*mu*rho*lambda_N is %.6g, and the limit is 8/3. "+
		"Stable is every -gain below 1, which is here a beta below %.6g; -gain 0.75 (beta %.6g) is "+
		"where the fastest disagreement is gone soonest",
		grows, a/step, share, a*f.Method.Rho*g.LambdaMax(), stable, 0.75*stable))
}

func (o *PlanOptions) plan(p *setup.Problem) (*setup.Report, error) {
	f, g := p.Fleet, p.Graph
	cfg, err := Busiest(p)
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	batch := o.samples
	if cfg.Estimator.Batch > 0 {
		batch = cfg.Estimator.Batch
	}
	m := f.Method
	r := &setup.Report{
		Nodes: o.Nodes, Edges: len(f.Edges), DegreeMax: len(cfg.Neighbors), Dim: f.Dim, Samples: o.samples, Batch: batch,
		Rounds: m.Rounds, Tau: m.Tau, Steps: int64(m.Rounds) * int64(m.Tau), Schedule: "constant",
		Eta: m.Eta[0], Mu: m.Mu[0], Rho: m.Rho, Beta: cfg.Beta, Share: o.share, ShareLeft: 1,
		Lambda2: g.Lambda2(), LambdaN: g.LambdaMax(), Gain: m.Gain,
		Filling: setup.Filling(cfg.Estimator), Payload: sdk.PayloadMessage, LinkKbit: o.linkKbit, NonPrivate: o.Asked.Privacy.NonPrivate,
	}
	if o.Known(o.dim, p.Samples).Scheduled() {
		r.Schedule = "paper"
	}
	calm := graph.Settling{Step: 1, Mix: make([]float64, m.Mixing)} // of a node without neighbors
	if o.Nodes == 1 {
		r.Gain = 0
	} else {
		r.RoundGain = g.Gain(m.Gain, m.Rho)
		r.SpectralRadius = g.Contraction(r.RoundGain, m.Rho)
		r.Tenfold = graph.Tenfold(r.SpectralRadius)
		calm = g.Settle(r.RoundGain, m.Rho, p.Course(), o.share, o.Asked.Method.Seed)
		if calm.Needed >= 0 {
			r.CooldownNeeded = &calm.Needed
		}
		if o.Given["share"] && !o.Given["cooldown"] {
			if calm.Needed < 0 {
				return nil, cli.AsUsageError(fmt.Errorf("-share %v: not reached in %d rounds of cool-down, the most that are "+
					"looked at: raise -gain, or link the nodes better",
					o.share, len(calm.Left)-1))
			}
			f.Method.Cooldown = calm.Needed
			p.Choose("cooldown", calm.Needed)
		}
		r.ShareLeft = calm.Left[min(f.Method.Cooldown, len(calm.Left)-1)]
	}
	r.Cooldown, r.Mixing = f.Method.Cooldown, f.Method.Mixing
	if cfg.Releases {
		r.Payload = sdk.PayloadRelease
	}
	if cfg.GridStep > 0 {
		r.GridBits = int(math.Round(math.Log2(f.Privacy.Sigma / cfg.GridStep)))
		// The clipped update comes on top, spread over all coordinates.
		clip := f.Privacy.Clip / (f.Privacy.Sigma * math.Sqrt(float64(f.Dim)))
		calm.Step = math.Hypot(calm.Step, clip)
	}
	p.Choose("payload", r.Payload)
	if !o.Given["payload"] && r.GridBits > 0 {
		p.Choose("grid-bits", r.GridBits)
	}
	if r.Frames, err = setup.NewFrames(f, cfg, calm); err != nil {
		return nil, err
	}
	if err := r.Count(); err != nil {
		return nil, err
	}
	state, err := setup.CheckpointSize(cfg)
	if err != nil {
		return nil, err
	}
	r.Memory = setup.NewMemory(cfg, state)
	r.Disk = setup.NewDiskCost(f, cfg, state)
	r.Chosen = p.ChosenValues()
	if !o.Asked.Privacy.NonPrivate {
		r.Privacy = setup.NewPrivacy(f.Total(f.Method.Rounds), f.Privacy, []string{"every parameter of this plan"})
		r.Forecast = p.Forecast()
		r.Worth = setup.ForecastText(f, r.Forecast)
	}
	return r, nil
}

// Busiest returns the configuration of the machine with the most neighbors.
func Busiest(p *setup.Problem) (admm.Config, error) {
	cfgs, err := p.Fleet.Machines(p.Samples, func(int) io.Reader { return bytes.NewReader(nil) }) // nothing is ever drawn
	if err != nil {
		return admm.Config{}, err
	}
	cfg := slices.MaxFunc(cfgs, func(a, b admm.Config) int { return len(a.Neighbors) - len(b.Neighbors) })
	cfg.Estimator.Seeded, cfg.Average = p.Opt.Table == "seeded", p.Opt.Average
	return cfg, nil
}
