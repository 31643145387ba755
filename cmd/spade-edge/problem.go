package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// problem is what the flags of demo and simulate describe: data dealt out to clients, and a fleet to train on them. Of what
// plan looks at there are no data: train, test, oracles and labels are nil.
type problem struct {
	opt     options
	fleet   *sdk.Fleet
	graph   *graph.Graph
	train   *task.Data
	test    task.Model
	oracles []task.Model // one a client
	samples []int        // m_i
	labels  [][]int      // the classes of each client's samples
	chosen  []choice
	x0      []float32 // the common start; nil for zeros
	fitted  []string  // what the privacy guarantee is conditional on
}

// choice is a parameter that was picked for the user.
type choice struct {
	name  string
	value any
}

// build loads the data and works out everything else. name is the run id.
func (o *options) build(name string) (*problem, error) {
	p := &problem{opt: *o}
	partition, err := task.ParsePartition(o.partition)
	var g *graph.Graph
	if err == nil {
		g, err = graph.Parse(o.graph, o.nodes, o.seed)
	}
	if err != nil {
		return nil, usageError{err}
	}
	p.graph = g
	spec := o.spec()
	if err := spec.Validate(); err != nil {
		return nil, usageError{err}
	}
	set, err := task.Load(spec)
	if err != nil {
		return nil, err
	}
	model := o.modelSpec()
	p.train, p.test, p.fitted = set.Train, model.New(set.Test), set.Fitted
	parts, err := partition.Assign(set.Train.Y, set.Train.Classes, o.nodes, o.seed)
	if err != nil {
		return nil, usageError{err}
	}
	dealt := "samples dealt to clients by their labels, as -partition " + partition.String() + " says"
	if partition == (task.Partition{}) {
		dealt = "samples dealt to clients at random, in equal numbers"
	}
	p.fitted = append(p.fitted, dealt)
	for _, idx := range parts {
		own := set.Train.Select(idx)
		p.oracles = append(p.oracles, model.New(own))
		p.labels = append(p.labels, own.Y)
		p.samples = append(p.samples, len(idx))
	}
	if !o.given["data"] {
		p.choose("data", o.data)
	}
	p.noteDataChoices(set.Spec)
	p.x0 = model.Start(p.train.Dim, p.train.Classes, o.seed)
	return p, p.makeFleet(name, p.oracles[0].Dim())
}

// noteDataChoices lists what task.Load decided for the user.
func (p *problem) noteDataChoices(s task.Spec) {
	if p.opt.labels == "" {
		p.choose("labels", s.Labels)
	}
	if !p.opt.given["standardize"] {
		p.choose("standardize", *s.Standardize)
	}
	if !p.opt.given["bias"] {
		p.choose("bias", *s.Bias)
	}
	if s.TestFraction > 0 && !p.opt.given["test-fraction"] {
		p.choose("test-fraction", s.TestFraction)
	}
}

func (p *problem) choose(name string, value any) { p.chosen = append(p.chosen, choice{name, value}) }

// pick returns a parameter that the user has given, or else the value for it, which it notes.
func (p *problem) pick(name string, given, chosen float64) float64 {
	if p.opt.given[name] {
		return given
	}
	p.choose(name, chosen)
	return chosen
}

// makeFleet fills in the method. Whatever is picked here comes from public numbers alone: the dimension, how many
// clients and samples there are, and the other flags. dim is the length of the parameter vector.
func (p *problem) makeFleet(name string, dim int) error {
	o := &p.opt
	f := &sdk.Fleet{Run: name, Dim: dim, X0: p.x0}
	f.Members = o.names
	for i := len(f.Members); i < o.nodes; i++ {
		f.Members = append(f.Members, "node-"+strconv.Itoa(i))
	}
	for _, e := range p.graph.Edges() {
		f.Edges = append(f.Edges, [2]string{f.Members[e[0]], f.Members[e[1]]})
	}
	if o.model == task.PerceptronModel && !o.given["hidden"] {
		p.choose("hidden", o.hidden)
	}
	if !o.given["cooldown"] && o.cooldown > 0 {
		p.choose("cooldown", o.cooldown)
	}
	queries := 0 // in one local step of the whole network
	for _, m := range p.samples {
		if o.batch > 0 {
			m = min(m, o.batch)
		}
		queries += m
	}
	// Features have a mean square of about one. A query then moves a sample's score by about mu*sqrt(d) at random: at 1.5 a
	// sigmoid still answers in proportion.
	steps, fall := o.rounds*o.tau, 1.0
	if o.scheduled { // eq. (nonprivate-schedule): mu = mu_0*T^(-1/6) and eta = eta_0*T^(-1/2), with what is picked for T = 1
		fall = math.Pow(float64(steps), 1.0/6)
	}
	reach, share := pace(o.model)
	mu := p.pick("mu", o.mu, round3(reach/math.Sqrt(float64(f.Dim))/fall))
	eta := p.pick("eta", o.eta, stepSize(share*(mu*fall), queries, steps))
	f.Method = sdk.Method{
		Rounds: o.rounds, Cooldown: o.cooldown, Tau: o.tau, Batch: o.batch,
		Rho: o.rho, Gain: o.gain, Eta: admm.Schedule{eta}, Mu: admm.Schedule{mu},
		Estimator: o.estimator, Directions: o.directions, Seed: o.seed,
	}
	f.Wire = sdk.Wire{Payload: o.payload, GridBits: o.gridBits, Lossy: o.lossy}
	p.fleet = f
	if o.nonPrivate {
		f.Privacy.NonPrivate = true
		return asUsage(f.Validate())
	}
	// All clipped updates in a row reach half as far again as a linear model's query: enough to learn, and noise grows with the clip.
	further := 1.5
	if o.model == task.PerceptronModel { // whose queries reach twice as far, and noise hurts it more
		further = 0.75
	}
	clip := p.pick("clip", o.clip, round3(further*mu*math.Sqrt(float64(f.Dim))/float64(o.rounds)))
	if !o.given["delta"] {
		p.choose("delta", o.delta)
	}
	sigma := o.sigma
	if !o.given["sigma"] {
		var err error
		if !o.given["epsilon"] {
			p.choose("epsilon", o.epsilon)
		}
		if sigma, err = dpmech.SigmaFor(clip, o.rounds, o.epsilon, o.delta, o.accounting); err != nil {
			return usageError{err}
		}
		p.choose("sigma", sigma)
	}
	f.Privacy = sdk.Privacy{Clip: clip, Sigma: sigma, Delta: o.delta, Accounting: o.accounting}
	return asUsage(f.Validate())
}

// pace returns how far a query goes from the model, |mu*u|, and how much noise of the estimates in each coordinate of the network's
// model is taken for the sake of speed, as a share of mu. A perceptron's parameters share out what moves a sample's score, and it
// has a way to go from its random start: without release noise, twice the reach and nearly four times the noise did best, or
// within a point of it, on XOR, MNIST, the generated patients and Alzheimer's.
func pace(model string) (reach, share float64) {
	if model == task.PerceptronModel {
		return 3, 1.5
	}
	return 1.5, 0.4
}

// stepSize returns the default eta: the noise of the estimates adds up, over all steps, to about eta*sqrt(steps/queries) in each
// coordinate of the network's model, with so many queries in each step, and is to be noise.
func stepSize(noise float64, queries, steps int) float64 {
	return round3(noise * math.Sqrt(float64(queries)/float64(steps)))
}

// asUsage makes an error a usageError: all of a fleet here comes from flags.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// round3 rounds a positive number to three significant digits, so that what is picked can be typed.
func round3(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64) // a number's own text is always a number
	return y
}

// clients returns what a simulation of the problem needs.
func (p *problem) clients(cfgs []admm.Config) []tinytest.Client {
	clients := make([]tinytest.Client, len(cfgs))
	for i, c := range cfgs {
		c.Estimator.Seeded = p.opt.table == "seeded"
		c.Average = p.opt.average
		clients[i] = tinytest.Client{Config: c, Oracle: p.oracles[i]}
	}
	return clients
}

// alone trains one client by itself, without noise and with the same method and number of rounds, and returns its model. share is that of
// pace.
func alone(ctx context.Context, f *sdk.Fleet, share float64, oracle task.Model) ([]float32, error) {
	single := *f
	single.Members, single.Edges = f.Members[:1], nil
	single.Method.Cooldown = 0
	single.Privacy = sdk.Privacy{NonPrivate: true}
	queries := oracle.Len()
	if f.Method.Batch > 0 {
		queries = min(queries, f.Method.Batch)
	}
	single.Method.Eta = admm.Schedule{stepSize(share*f.Method.Mu[0], queries, f.Method.Rounds*f.Method.Tau)}
	cfgs, err := single.Machines([]int{oracle.Len()}, nil)
	if err != nil {
		return nil, err
	}
	sim, err := tinytest.NewSim([]tinytest.Client{{Config: cfgs[0], Oracle: oracle}})
	if err != nil {
		return nil, err
	}
	if err := sim.Run(ctx, nil); err != nil {
		return nil, err
	}
	return sim.Models()[0], nil
}

// mean returns the average of models, summed in float64 in their order.
func mean(models [][]float32) []float32 {
	out := make([]float32, len(models[0]))
	for j := range out {
		var sum float64
		for _, x := range models {
			sum += float64(x[j])
		}
		out[j] = float32(sum / float64(len(models)))
	}
	return out
}

// consensusError returns (1/N) sum |x_i - xbar|^2, with xbar the mean of the models.
func consensusError(xbar []float32, models [][]float32) float64 {
	var sum float64
	for _, x := range models {
		for j, v := range x {
			diff := float64(v) - float64(xbar[j])
			sum += float64(diff * diff)
		}
	}
	return sum / float64(len(models))
}

// percent returns an accuracy in percent, or an error if it is not a number: JSON has no word for that.
func percent(share float64) (float64, error) {
	if math.IsNaN(share) {
		return 0, errors.New("accuracy is not a number: model and test data do not fit")
	}
	return 100 * share, nil
}

// accuracies scores models on the test data, in percent.
func (p *problem) accuracies(models [][]float32) ([]float64, error) {
	out := make([]float64, len(models))
	for i, x := range models {
		var err error
		if out[i], err = percent(p.test.Accuracy(x)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// average returns the mean of numbers and their minimum.
func average(xs []float64) (mean, lowest float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	return mean, slices.Min(xs)
}
