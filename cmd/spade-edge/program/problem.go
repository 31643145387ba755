package program

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// problem is what the flags of demo and simulate describe: data dealt out to clients, and a fleet to train on them. The
// commands plan and init may have no data: train, test, oracles and labels are then nil.
type problem struct {
	opt     options
	fleet   *sdk.Fleet
	graph   *graph.Graph
	set     *task.Set
	train   *task.Data
	test    *task.Model
	held    []*task.Data  // what each client has held back of its own file; nil if there is one for all
	oracles []*task.Model // one a client
	samples []int         // m_i
	labels  [][]int       // the classes of each client's samples

	majority float64 // share of the most frequent class of the test data

	chosen []choice
	x0     []float32 // the common start; nil for zeros
	fitted []string  // what the privacy guarantee is conditional on
}

// choice is a parameter that was picked for the user.
type choice struct {
	name  string
	value any
}

func (o *options) parseGraph() (*graph.Graph, error) {
	g, err := graph.Parse(o.graph, o.nodes, o.asked.Method.Seed)
	if err != nil {
		return nil, fmt.Errorf("-graph: %w", err)
	}
	return g, nil
}

// build loads the data and works out everything else. name is the run id.
func (o *options) build(name string) (*problem, error) {
	p := &problem{opt: *o}
	var err error
	if p.graph, err = o.parseGraph(); err != nil {
		return nil, asUsage(err)
	}
	set, own, held, err := o.load()
	if err != nil {
		return nil, err
	}
	model := o.modelSpec()
	p.set, p.train, p.test, p.held, p.fitted = set, set.Train, model.New(set.Test), held, set.Fitted
	p.majority = p.test.Majority()
	for _, d := range own {
		p.oracles = append(p.oracles, model.New(d))
		p.labels = append(p.labels, d.Y)
		p.samples = append(p.samples, d.Len())
	}
	s := set.Spec
	p.choose("data", o.spec.Source)
	switch {
	case o.recipe != nil:
	case s.Target == "":
		p.choose("labels", s.Labels, "standardize", *s.Standardize, "bias", *s.Bias)
	default:
		p.choose("model", model.Name, "standardize", *s.Standardize, "bias", *s.Bias)
	}
	if o.files != nil {
		p.choose("nodes", o.nodes, "graph", o.graph)
	}
	if s.TestFraction > 0 {
		p.choose("test-fraction", s.TestFraction)
	}
	p.x0 = model.Start(p.train.Dim, p.train.Classes, o.asked.Method.Seed)
	return p, p.makeFleet(name, p.oracles[0].Dim())
}

// choose notes the values of those flags that are not given, once. choices are names, each with its value.
func (p *problem) choose(choices ...any) {
	for pair := range slices.Chunk(choices, 2) {
		name := pair[0].(string)
		told := slices.ContainsFunc(p.chosen, func(c choice) bool { return c.name == name })
		if !told && (!p.opt.given[name] || name == "labels" && p.opt.spec.Labels == nil) {
			p.chosen = append(p.chosen, choice{name, pair[1]})
		}
	}
}

// chooseSettings notes the settings of the fleet that are not given, and are not off.
func (p *problem) chooseSettings() {
	for _, s := range sdk.Settings() {
		var value any
		switch x := s.In(p.fleet).(type) {
		case *int:
			value = *x
		case *uint64:
			value = *x
		case *float64:
			value = *x
		case *admm.Schedule:
			value = (*x)[0]
		case fmt.Stringer:
			value = x.String()
		}
		hidden := s.Flag == "" || s.Name == "privacy.accounting" || strings.HasPrefix(s.Name, "wire.")
		if !hidden && value != nil && !reflect.ValueOf(value).IsZero() {
			p.choose(s.Flag, value)
		}
	}
}

func (p *problem) chosenValues() map[string]any {
	values := make(map[string]any)
	for _, c := range p.chosen {
		values[c.name] = c.value
	}
	return values
}

// makeFleet fills in the method: what is not given is suggested. dim is the length of the parameter vector.
func (p *problem) makeFleet(name string, dim int) error {
	o := &p.opt
	f := &sdk.Fleet{Run: name, Dim: dim, X0: p.x0, Members: o.names}
	for i := len(f.Members); i < o.nodes; i++ {
		f.Members = append(f.Members, "node-"+strconv.Itoa(i))
	}
	for _, e := range p.graph.Edges() {
		f.Edges = append(f.Edges, [2]string{f.Members[e[0]], f.Members[e[1]]})
	}
	known := o.known(dim, p.samples)
	err := p.shareNoise(&known, f.Members)
	if err != nil {
		return err
	}
	f.Method, f.Privacy, err = sdk.Suggest(known)
	if err == nil && o.linear() && !o.given["mu"] {
		known.Method.Mu = []float64{f.Method.Mu[0] / 2}
		f.Method, f.Privacy, err = sdk.Suggest(known)
	}
	if err != nil {
		return asUsage(err)
	}
	if o.given["directions"] {
		f.Method.Directions = o.asked.Method.Directions
	}
	if err := p.coversAll(f); err != nil {
		return err
	}
	if !o.limited {
		f.Privacy.EpsilonLimit, f.Privacy.LimitAll = 0, 0
	}
	f.Wire = o.asked.Wire
	p.fleet = f
	if o.hiddenLayer() {
		p.choose("hidden", o.modelSpec().Hidden)
	}
	if !f.Privacy.NonPrivate && !o.given["sigma"] {
		p.choose("epsilon", o.asked.Privacy.EpsilonLimit)
	}
	p.chooseSettings()
	return asUsage(f.Validate())
}

// asUsage makes an error a usageError that names the flags of what is wrong: all of a fleet here comes from them. A spent
// budget stays one.
func asUsage(err error) error {
	if err == nil || errors.Is(err, dpmech.ErrBudget) {
		return err
	}
	return asUsageError(withFlags(err))
}

// withFlags names the flag in place of the field of each [sdk.FieldError] and [task.FieldError].
func withFlags(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var faults []error
		for _, e := range all.Unwrap() {
			faults = append(faults, withFlags(e))
		}
		return errors.Join(faults...)
	}
	var f *sdk.FieldError
	var data *task.FieldError
	switch {
	case errors.As(err, &data):
		return fmt.Errorf("-%s %s", strings.ReplaceAll(data.Field, "_", "-"), data.Fault)
	case !errors.As(err, &f):
		return err
	}
	name := f.Field
	if slices.Contains([]string{"run", "dim", "queries"}, name) {
		name = "-" + name
	}
	for _, s := range sdk.Settings() {
		if s.Name == f.Field && s.Flag != "" {
			name = "-" + s.Flag
		}
	}
	return fmt.Errorf("%s is %s, want %s", name, f.Found, f.Want)
}

// network returns a simulation of clients with these oracles.
func (p *problem) network(cfgs []admm.Config, oracles ...*task.Model) (*sim.Sim, error) {
	clients := make([]sim.Client, len(cfgs))
	for i, c := range cfgs {
		c.Estimator.Seeded, c.Average = p.opt.table == "seeded", p.opt.average
		clients[i] = sim.Client{Config: c, Oracle: oracles[i]}
	}
	return sim.New(clients)
}

// alone trains one client by itself, without noise and with the same method and number of rounds, and returns its
// model.
func (p *problem) alone(ctx context.Context, oracle *task.Model) ([]float32, error) {
	single := *p.fleet
	single.Members, single.Edges = single.Members[:1], nil
	known := sdk.Known{
		Dim: single.Dim, Samples: []int{oracle.Len()}, Hidden: p.opt.hiddenLayer(), Method: single.Method,
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	known.Method.Cooldown, known.Method.Eta = 0, nil
	var err error
	if single.Method, single.Privacy, err = sdk.Suggest(known); err != nil {
		return nil, err
	}
	cfgs, err := single.Machines(known.Samples, nil)
	if err != nil {
		return nil, err
	}
	network, err := p.network(cfgs, oracle)
	if err != nil {
		return nil, err
	}
	if err := network.Run(ctx, nil); err != nil {
		return nil, err
	}
	return network.Models()[0], nil
}

// mean returns the average of models, summed in float64 in their order.
func mean(models [][]float32) []float32 {
	sums := make([]float64, len(models[0]))
	for _, x := range models {
		for j, v := range x {
			sums[j] += float64(v)
		}
	}
	out := make([]float32, len(sums))
	for j, sum := range sums {
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

// scores judges models on the test data: accuracy in percent, or the RMSE where a number is predicted.
func (p *problem) scores(models ...[]float32) []float64 {
	out := make([]float64, len(models))
	shared(len(models), func(i int) {
		out[i] = 100 * p.test.Accuracy(models[i])
		if p.train.Target != nil {
			out[i] = p.errors(models[i]).RMSE.Value
		}
	})
	return out
}

// worth says in a few words what a model is worth on the test data.
func (p *problem) worth(x []float32, digits int) string {
	if p.train.Target == nil {
		return fmt.Sprintf("%.*f %%", digits, 100*p.test.Accuracy(x))
	}
	return fmt.Sprintf("RMSE %.4g", p.errors(x).RMSE.Value)
}

// average returns the mean of numbers and their minimum.
func average(xs []float64) (mean, lowest float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	return mean, slices.Min(xs)
}
