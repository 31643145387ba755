package program

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// planOptions are the flags of the command plan.
type planOptions struct {
	options
	dim, samples          int
	columns, classes      int
	beta, share, linkKbit float64
}

func planRun(_ context.Context, c *cmdline) error {
	o := new(planOptions)
	if err := o.read(c); err != nil {
		return err
	}
	p, err := o.build()
	if err != nil {
		return err
	}
	r, err := o.plan(p)
	if err != nil {
		return err
	}
	if !c.json {
		p.writeChosen(c.log)
	}
	return c.print(r, r.write)
}

func (o *planOptions) read(c *cmdline) error {
	o.options = newOptions(c)
	o.nodes, o.graph = 50, "er:0.3" // as simulate has them
	c.IntVar(&o.nodes, "nodes", o.nodes, "number of clients")
	o.registerRun(c)
	o.registerModel(c)
	c.IntVar(&o.dim, "dim", 100, "length of the parameter vector, d (with -columns it follows from the model)")
	c.IntVar(&o.columns, "columns", 0, "`columns` of the data as a built-in model sees "+
		"them, a column of ones included (instead of -dim)")
	c.IntVar(&o.classes, "classes", 2, "classes of the data, with -columns")
	c.IntVar(&o.samples, "samples", 100, "samples of each client, m")
	c.IntVar(&o.steps, "steps", 0, "local steps of a client in all rounds, `T` (instead of -rounds)")
	c.Int64Var(&o.queries, "queries", 0, "what a client may ask its oracle in all rounds (instead of -rounds)")
	c.Float64Var(&o.beta, "beta", 0, "weight of the penalty (instead of -gain)")
	c.Float64Var(&o.share, "share", 0.05, "how many rounds of cool-down bring disagreement to this "+
		"`share` of what it was; sets -cooldown if given")
	c.Float64Var(&o.linkKbit, "link-kbit", 0, "speed of a node's link, 1000 "+
		"bits a second in each direction (0 = unknown)")
	if err := o.parse(); err != nil {
		return err
	}
	return o.check()
}

// check reports flags that exclude each other and numbers out of range, but for an unstable gain.
func (o *planOptions) check() error {
	var f faults
	var lengths []string
	for _, name := range []string{"rounds", "steps", "queries"} {
		if o.given[name] {
			lengths = append(lengths, "-"+name)
		}
	}
	f.when(len(lengths) > 1, "%v exclude each other: each says how long the run is", lengths)
	f.when(o.given["sigma"] && o.given["epsilon"] && len(lengths) > 0,
		"-sigma and -epsilon say how many rounds there are, and so do %v: leave one out", lengths)
	f.when(o.given["sigma"] && o.given["epsilon"] && !o.given["clip"],
		"-clip is missing: with -sigma and -epsilon it says how many rounds there are")
	f.when(o.given["dim"] && o.given["columns"],
		"-dim and -columns exclude each other: with the model, one follows from the other")
	f.when(o.given["classes"] && !o.given["columns"],
		"-columns is missing: only with it -classes says how many parameters there are")
	f.when(o.model.Name == task.LinearModel && o.given["classes"], "-classes does not go with -model linear, which predicts a number")
	f.when(o.classes < 2, "-classes is %d, want 2..1000", o.classes)
	f.when(o.given["beta"] && o.given["gain"], "-beta and -gain exclude each other: one follows from the other")
	for _, c := range []struct {
		name       string
		value, max int64
	}{
		{"dim", int64(o.dim), wire.MaxDim}, {"columns", int64(o.columns), 1 << 18},
		{"classes", int64(max(o.classes, 2)), 1000}, {"samples", int64(o.samples), math.MaxInt32},
		{"steps", int64(o.steps), math.MaxInt32}, {"queries", o.queries, math.MaxInt64},
	} {
		f.when(o.given[c.name] && (c.value < 1 || c.value > c.max), "-%s is %d, want 1..%d", c.name, c.value, c.max)
	}
	t := float64(o.asked.Method.Rounds) * float64(o.asked.Method.Tau)
	f.when(t > math.MaxInt32, "-rounds %d and -tau %d are %.3g local steps, want at most %d", o.asked.Method.Rounds,
		o.asked.Method.Tau, t, math.MaxInt32)
	positive := func(name string, value float64) {
		f.when(o.given[name] && !(value > 0 && value <= math.MaxFloat32), "-%s is %v, want a positive number", name, value)
	}
	positive("beta", o.beta)
	positive("link-kbit", o.linkKbit)
	if o.asked.Method.Gain >= 1 { // a smaller one is told by what all commands share
		positive("gain", o.asked.Method.Gain)
	}
	f.when(!(o.share >= 1e-6 && o.share < 1), "-share is %v, want 1e-6 or more, and below 1", o.share)
	rest := o.options
	if o.given["sigma"] && o.given["epsilon"] { // together they are a budget
		rest.cmdline = &cmdline{FlagSet: o.FlagSet, given: maps.Clone(o.given)}
		rest.given["epsilon"], rest.given["accounting"], rest.given["limit-all"] = false, false, false
	}
	if rest.asked.Method.Gain >= 1 { // is refused with figures, later
		rest.asked.Method.Gain = 0.5
	}
	rest.conflicts(&f)
	if err := f.usage(); err != nil {
		return err
	}
	if o.given["columns"] {
		o.dim = o.modelSpec().Dim(o.columns, o.classes)
	}
	return nil
}

// build makes the fleet, like the one of options.build, but without data.
func (o *planOptions) build() (*problem, error) {
	g, err := o.parseGraph()
	if err != nil {
		return nil, asUsage(err)
	}
	p := &problem{opt: o.options, graph: g, samples: slices.Repeat([]int{o.samples}, o.nodes)}
	if p.opt.asked.Method.Gain >= 1 || o.given["beta"] {
		p.opt.asked.Method.Gain = 0.5 // for now: what it really is follows from eta and mu
	}
	if o.given["share"] && !o.given["cooldown"] {
		p.opt.asked.Method.Cooldown = -1 // for now: it follows from the share
	}
	p.choose("nodes", o.nodes, "graph", o.graph, "dim", o.dim, "samples", o.samples, "batch", o.asked.Method.Batch,
		"table", o.table, "share", o.share)
	if err := p.makeFleet("plan", o.dim); err != nil {
		return nil, err
	}
	if o.given["beta"] { // from which the gain follows
		p.chosen = slices.DeleteFunc(p.chosen, func(c choice) bool { return c.name == "gain" })
	}
	return p, setGain(p, cmp.Or(o.asked.Method.Gain, p.fleet.Method.Gain), o.beta)
}

// setGain gives the fleet the share of the limit of stability that -gain says or -beta amounts to. It refuses one that
// is not stable.
func setGain(p *problem, share, beta float64) error {
	f, g := p.fleet, p.graph
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
		return asUsage(f.Validate())
	}
	grows := "it never dies out"
	if r := g.Contraction(a, f.Method.Rho); r > 1+1e-9 {
		grows = fmt.Sprintf("it grows by %.4g a round", r)
	}
	stable := largest / step
	return asUsageError(fmt.Errorf("unstable: disagreement would not die out, %s. beta %.6g is a gain of %.6g: "+
		"tau*beta*eta*mu*rho*lambda_N is %.6g, and the limit is 8/3. "+
		"Stable is every -gain below 1, which is here a beta below %.6g; -gain 0.75 (beta %.6g) is "+
		"where the fastest disagreement is gone soonest",
		grows, a/step, share, a*f.Method.Rho*g.LambdaMax(), stable, 0.75*stable))
}

func (o *planOptions) plan(p *problem) (*report, error) {
	f, g := p.fleet, p.graph
	cfg, err := busiest(p)
	if err != nil {
		return nil, asUsageError(err)
	}
	batch := o.samples
	if cfg.Estimator.Batch > 0 {
		batch = cfg.Estimator.Batch
	}
	m := f.Method
	r := &report{
		Nodes: o.nodes, Edges: len(f.Edges), DegreeMax: len(cfg.Neighbors), Dim: f.Dim, Samples: o.samples, Batch: batch,
		Rounds: m.Rounds, Tau: m.Tau, Steps: int64(m.Rounds) * int64(m.Tau), Schedule: "constant",
		Eta: m.Eta[0], Mu: m.Mu[0], Rho: m.Rho, Beta: cfg.Beta, Share: o.share, ShareLeft: 1,
		Lambda2: g.Lambda2(), LambdaN: g.LambdaMax(), Gain: m.Gain,
		filling: filling(cfg.Estimator), Payload: sdk.PayloadMessage, LinkKbit: o.linkKbit, NonPrivate: o.asked.Privacy.NonPrivate,
	}
	if o.known(o.dim, p.samples).Scheduled() {
		r.Schedule = "paper"
	}
	calm := graph.Settling{Step: 1, Mix: make([]float64, m.Mixing)} // of a node without neighbors
	if o.nodes == 1 {
		r.Gain = 0
	} else {
		r.RoundGain = g.Gain(m.Gain, m.Rho)
		r.SpectralRadius = g.Contraction(r.RoundGain, m.Rho)
		r.Tenfold = graph.Tenfold(r.SpectralRadius)
		calm = g.Settle(r.RoundGain, m.Rho, p.course(), o.share, o.asked.Method.Seed)
		if calm.Needed >= 0 {
			r.CooldownNeeded = &calm.Needed
		}
		if o.given["share"] && !o.given["cooldown"] {
			if calm.Needed < 0 {
				return nil, asUsageError(fmt.Errorf("-share %v: not reached in %d rounds of cool-down, the most that are "+
					"looked at: raise -gain, or link the nodes better",
					o.share, len(calm.Left)-1))
			}
			f.Method.Cooldown = calm.Needed
			p.choose("cooldown", calm.Needed)
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
	p.choose("payload", r.Payload)
	if !o.given["payload"] && r.GridBits > 0 {
		p.choose("grid-bits", r.GridBits)
	}
	if r.Frames, err = newFrames(f, cfg, calm); err != nil {
		return nil, err
	}
	if err := r.count(); err != nil {
		return nil, err
	}
	state, err := checkpointSize(cfg)
	if err != nil {
		return nil, err
	}
	r.Memory = newMemory(cfg, state)
	r.Disk = newDiskCost(f, cfg, state)
	if r.CPU, err = newCPUCost(cfg); err != nil {
		return nil, err
	}
	r.Chosen = p.chosenValues()
	if !o.asked.Privacy.NonPrivate {
		r.Privacy = newPrivacy(f.Total(f.Method.Rounds), f.Privacy, []string{"every parameter of this plan"})
		r.Forecast = p.forecast()
		r.worth = forecastText(f, r.Forecast)
	}
	return r, nil
}

// busiest returns the configuration of the machine with the most neighbors.
func busiest(p *problem) (admm.Config, error) {
	cfgs, err := p.fleet.Machines(p.samples, func(int) io.Reader { return bytes.NewReader(nil) }) // nothing is ever drawn
	if err != nil {
		return admm.Config{}, err
	}
	cfg := slices.MaxFunc(cfgs, func(a, b admm.Config) int { return len(a.Neighbors) - len(b.Neighbors) })
	cfg.Estimator.Seeded, cfg.Average = p.opt.table == "seeded", p.opt.average
	return cfg, nil
}
