// Package setup builds a fleet, its data, oracles and forecast from the flags that commands share. It also prints
// results.
package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/verdict"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/topology"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// Problem is a fleet to train, together with the data of its clients. The plan and init commands may have no data; then
// Set, Train, Test, Oracles and Labels are nil.
type Problem struct {
	Opt     Options
	Fleet   *sdk.Fleet
	Plan    *sdk.Plan // of Fleet
	Graph   *graph.Graph
	Set     *task.Set
	Train   *task.Data
	Test    *task.Model
	held    []*task.Data  // what each client holds back of its own file; nil if all clients share one file
	Oracles []*task.Model // one per client
	Samples []int         // number of samples of each client, m_i
	Labels  [][]int       // the classes of each client's samples

	Chosen map[string]any // values that the program chose because the user did not set them, by flag name
	order  []string       // names in Chosen, in the order in which they were chosen
	X0     []float32      // the common start; nil means zeros
}

// ParseGraph returns the graph that the flag -graph specifies.
func (o *Options) ParseGraph() (*graph.Graph, error) {
	g, err := topology.ParseNamed(o.Graph, o.members(), o.Asked.Method.Seed)
	if err != nil {
		return nil, fmt.Errorf("-graph: %w", err)
	}
	return g, nil
}

// Build loads the data and creates the fleet, the graph and the oracles. name is the run ID.
func (o *Options) Build(name string) (*Problem, error) {
	p := &Problem{Opt: *o}
	var err error
	if p.Graph, err = o.ParseGraph(); err != nil {
		return nil, AsUsage(err)
	}
	set, own, held, err := o.load()
	if err != nil {
		return nil, err
	}
	model := o.ModelSpec()
	p.Set, p.Train, p.Test, p.held = set, set.Train, model.New(set.Test), held
	if places := o.Asked.Privacy.Places; places > 1 && set.Train.Person == nil {
		return nil, cli.Usage("-places needs -person: without -person, no column identifies the person in each row")
	}
	places := p.places()
	for _, d := range own {
		oracle := model.New(d)
		if places > 1 {
			oracle = oracle.InPlaces(places)
		}
		p.Oracles = append(p.Oracles, oracle)
		p.Labels = append(p.Labels, d.Y)
		p.Samples = append(p.Samples, oracle.Len())
	}
	s := set.Spec
	p.Choose("data", o.Spec.Source)
	switch {
	case o.Recipe != nil:
	case s.Kind() == task.OfSurvival:
		h := p.Train.Horizon
		p.Choose("model", model.Name, "intervals", h.Intervals, "rate", h.Rate, "standardize", *s.Standardize)
	case s.Target == "":
		p.Choose("labels", s.Labels, "standardize", *s.Standardize, "bias", *s.Bias)
	default:
		p.Choose("model", model.Name, "standardize", *s.Standardize, "bias", *s.Bias)
	}
	if o.Spec.Files != nil {
		p.Choose("nodes", o.Nodes, "graph", o.Graph)
	}
	if s.TestFraction > 0 {
		p.Choose("test-fraction", s.TestFraction)
	}
	recipe, err := p.Recipe("the training data")
	if err != nil {
		return nil, WithFlags(err)
	}
	p.X0 = recipe.Start(o.Asked.Method.Seed)
	return p, p.MakeFleet(name, p.Oracles[0].Dim())
}

// Recipe returns the preprocessing of the data. In a simulation without -task, fittedOn names the data to which the
// preprocessing was fitted.
func (p *Problem) Recipe(fittedOn string) (*task.Recipe, error) { return p.Opt.recipe(p.Set, fittedOn) }

func (o *Options) recipe(set *task.Set, fittedOn string) (*task.Recipe, error) {
	if o.Recipe != nil {
		return o.Recipe, nil
	}
	return set.Recipe(o.ModelSpec(), fittedOn)
}

// places returns the maximum number of records per person under person-level privacy. Unless the user sets this number,
// it is the number of records of the person with the most records, but at least 2. Without person-level privacy, places
// returns 0.
func (p *Problem) places() int {
	o, s := &p.Opt, p.Set
	private := &o.Asked.Privacy
	if s.Train.Person == nil || private.NonPrivate || private.Unit != dpmech.Record {
		return 0
	}
	if private.Places == 0 {
		private.Places = max(2, s.Train.Places())
		s.Fitted = append(s.Fitted, "the largest number of records of one person, taken from the training split")
	}
	private.Person = cmp.Or(o.Spec.Person, s.Spec.Person)
	return private.Places
}

// Choose records values that the program chose. Its arguments alternate between flag names and values. Choose ignores a
// flag that the user set or that already has a recorded value.
func (p *Problem) Choose(choices ...any) {
	if p.Chosen == nil {
		p.Chosen = make(map[string]any)
	}
	for pair := range slices.Chunk(choices, 2) {
		name := pair[0].(string)
		_, told := p.Chosen[name]
		named := p.Opt.Given[name] && (name != "labels" || p.Opt.Spec.Labels != nil) && (name != "colluders" || p.Opt.Collude == 0)
		if !told && !named {
			p.Chosen[name], p.order = pair[1], append(p.order, name)
		}
	}
}

// chooseSettings records each nonzero setting of the fleet that the user did not set.
func (p *Problem) chooseSettings() {
	for _, s := range Settings(p.Fleet) {
		value := reflect.ValueOf(s.Value).Elem().Interface()
		switch x := s.Value.(type) {
		case *bool, *dpmech.Accounting, *dpmech.Unit:
			continue
		case *admm.Schedule:
			value = (*x)[0]
		case fmt.Stringer:
			value = x.String()
		}
		if s.Flag != "grid-bits" && !reflect.ValueOf(value).IsZero() {
			p.Choose(s.Flag, value)
		}
	}
}

// AsUsage converts an error about a fleet to a usage error that names flags, because the user described the fleet with
// flags. It returns an error about an exhausted budget unchanged.
func AsUsage(err error) error {
	if err == nil || errors.Is(err, dpmech.ErrBudget) {
		return err
	}
	return cli.AsUsageError(WithFlags(err))
}

// WithFlags replaces the field name in each [setting.FieldError] and [task.FieldError] with the name of its flag.
func WithFlags(err error) error {
	all := fleetfile.Each(err)
	for i, e := range all {
		var f *setting.FieldError
		var data *task.FieldError
		switch {
		case errors.As(e, &data):
			all[i] = fmt.Errorf("%s %s", flagOf(data.Field), data.Fault)
		case errors.As(e, &f):
			all[i] = fmt.Errorf("%s is %s, want %s", flagOf(f.Field), f.Found, f.Want)
		}
	}
	return errors.Join(all...)
}

// flagOf returns the flag for a field, or the field itself if it has no flag.
func flagOf(field string) string {
	for _, s := range Settings(new(sdk.Fleet)) {
		if s.Name == field {
			return "-" + s.Flag
		}
	}
	name := strings.ReplaceAll(field, "_", "-")
	if slices.Contains(Preparation, name) || slices.Contains([]string{"run", "dim", "data", "na", "test-fraction", "partition"}, name) {
		return "-" + name
	}
	return field
}

// Alone trains one client without neighbors and without noise, with the fleet's method and number of rounds.
func (p *Problem) Alone(ctx context.Context, oracle *task.Model) ([]float32, error) {
	_, uneven := p.features()
	known := plan.Known{Hidden: p.Opt.HiddenLayer(), Uneven: uneven, Method: p.Fleet.Method}
	known.Method.Cooldown, known.Method.Eta = 0, nil
	return verdict.Learn(ctx, oracle, p.Fleet, known)
}

// Mean returns the mean of the models. It adds them in the given order, in float64.
func Mean(models [][]float32) []float32 {
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

// ConsensusError returns (1/N) sum |x_i - xbar|^2, where xbar is the mean of the models x_i.
func ConsensusError(xbar []float32, models [][]float32) float64 {
	var sum float64
	for _, x := range models {
		for j, v := range x {
			diff := float64(v) - float64(xbar[j])
			sum += float64(diff * diff)
		}
	}
	return sum / float64(len(models))
}

// Scores returns the score of each model on the test data; NaN without one.
func (p *Problem) Scores(models ...[]float32) []float64 {
	out := make([]float64, len(models))
	Each(len(models), func(i int) { out[i], _ = worthOf(p.Test, models[i]) })
	return out
}

// worthOf returns the measure of the model x on the test data. A C-index is NaN if no two samples can be compared.
func worthOf(test *task.Model, x []float32) (float64, error) {
	marks, err := test.Marks(x)
	if err != nil {
		return math.NaN(), err
	}
	return test.Worth(marks), nil
}

// Worth formats a model's score on the test data.
func (p *Problem) Worth(x []float32, digits int) string {
	return p.Train.Kind().Measure().Named(p.Scores(x)[0], digits)
}

// Each calls do(0), ..., do(n-1) in parallel and waits for all calls.
func Each(n int, do func(i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// Average returns the mean of xs.
func Average(xs []float64) (mean float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	return mean
}

// ReadTask reads the file given with -task, which has the preprocessing and the model.
func (o *Options) ReadTask(file string) (err error) {
	if file == "" {
		return nil
	}
	if o.Recipe, err = builtin.ReadTask(file); err != nil {
		return err
	}
	o.Model.Name, o.Model.Hidden = o.Recipe.Model.Name, o.Recipe.Model.Hidden
	if o.Recipe.Target != nil {
		o.Spec.Target = o.Recipe.Label
	} else if h := o.Recipe.Survival; h != nil {
		o.Spec.Survival = h.Time + "," + o.Recipe.Label
	}
	return nil
}
