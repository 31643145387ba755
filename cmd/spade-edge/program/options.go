package program

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/zoest"
)

// options are the flags that the commands share: one vocabulary for all.
type options struct {
	*cmdline
	// data
	data, label, target, drop, onehot string
	missing, labels                   string
	pca                               int
	standardize, bias                 bool
	testFraction                      float64
	whole                             bool // with a testFraction of 0 nothing is set aside, in fit
	partition                         string
	model                             string
	number                            bool         // the task of a file has a linear model
	recipe                            *task.Recipe // of -task, in demo and simulate; nil for none
	files                             []string     // of the clients, one for each; nil if there is one for all
	hidden                            int
	// network
	nodes int
	names []string // of the members; nil: node-0, node-1 and so on
	graph string
	// method
	rounds, cooldown, tau, batch int
	mixing                       int
	eta, momentum                float64
	mu, rho, gain                float64
	robust                       float64
	estimator                    sdk.Estimator
	directions                   zoest.Distribution
	table                        string
	average                      bool
	seed                         uint64
	steps                        int   // of a client in all rounds, in place of rounds; 0 for none
	queries                      int64 // likewise
	// privacy
	nonPrivate                  bool
	clip, sigma, epsilon, delta float64
	several                     *epsilonList // of -epsilon, if the command takes several
	limited                     bool         // what the noise is made for bounds what may be spent
	accounting                  dpmech.Accounting
	// noise that neighbors share: if colluders is given
	colluders           int
	pairSigma, limitAll float64
	// wire
	payload  sdk.Payload
	gridBits int
}

// newOptions returns options with the suggested method as their defaults.
func newOptions(c *cmdline) options {
	m, p, _ := sdk.Suggest(sdk.Known{Dim: 1, Samples: []int{1}, Open: true}) // which does not fail
	return options{
		cmdline: c, rounds: m.Rounds, tau: m.Tau, rho: m.Rho, gain: m.Gain, epsilon: p.EpsilonLimit, delta: p.Delta,
		estimator: m.Estimator, directions: m.Directions, table: "dense",
	}
}

func (o *options) hiddenLayer() bool { return o.model == task.PerceptronModel }

// linear says whether the model is the linear one for a target. The radius is then half of what classes take: a wider one
// lets predictions run to the ends of the range, which costs no accuracy where there are classes, but is an error here.
func (o *options) linear() bool { return o.number || o.modelSpec().Name == task.LinearModel }

// known returns what the method is suggested from, for a parameter vector of length dim and so many samples of each
// client.
func (o *options) known(dim int, samples []int) sdk.Known {
	k := sdk.Known{
		Dim: dim, Samples: samples, Hidden: o.hiddenLayer(), Steps: o.steps, Queries: o.queries,
		Method: sdk.Method{
			Rounds: o.rounds, Mixing: o.mixing, Cooldown: o.cooldown, Tau: o.tau, Batch: o.batch, Rho: o.rho, Gain: o.gain,
			Momentum: o.momentum, Estimator: o.estimator, Directions: o.directions, Seed: o.seed,
			Robust: o.robust,
		},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	switch {
	case !o.given["estimator"] && o.table == "dense":
		k.Open = true
	case !o.given["estimator"]:
		k.Method.Estimator = sdk.EstimatorPaper
	}
	if !o.given["directions"] && k.Method.Estimator != sdk.EstimatorTracking {
		k.Method.Directions = zoest.Rademacher
	}
	if o.given["cooldown"] && o.cooldown == 0 {
		k.Method.Cooldown = -1
	}
	if o.given["mu"] {
		k.Method.Mu = []float64{o.mu}
	}
	if o.given["eta"] {
		k.Method.Eta = []float64{o.eta}
	}
	if !o.given["tau"] {
		k.Method.Tau = 0
	}
	if o.given["mixing"] && o.mixing == 0 {
		k.Method.Mixing = -1
	}
	if o.nonPrivate {
		return k
	}
	k.Privacy = sdk.Privacy{Clip: o.clip, Sigma: o.sigma, Delta: o.delta, Accounting: o.accounting,
		EpsilonLimit: o.epsilon, Colluders: o.colluders, PairSigma: o.pairSigma, LimitAll: o.limitAll}
	switch {
	case o.given["sigma"] && o.given["epsilon"]:
		k.Method.Rounds = 0 // follows from the two
	case o.given["sigma"]:
		k.Privacy.EpsilonLimit = 0
	}
	return k
}

// The values of o are the defaults of its flags; a zero of eta, mu, clip or sigma is filled in later.

// registerData adds the flags that say what is learned from, and who has it.
func (o *options) registerData(c *cmdline) {
	o.registerSource(c)
	c.StringVar(&o.partition, "partition", o.partition,
		"who has which samples: iid, dirichlet:A, dirichlet:A,unbalanced or pathological:S")
}

// registerSource adds the flags that say what data there are and how they are prepared.
func (o *options) registerSource(c *cmdline) {
	c.StringVar(&o.data, "data", o.data, "the `source` of samples: idx:DIR, csv:FILE or synthetic:clinical")
	c.StringVar(&o.label, "label", o.label, "csv: the `column` that holds the class")
	c.StringVar(&o.target, "target", o.target, "csv: the `column` that holds a number to predict, in place of -label")
	c.StringVar(&o.drop, "drop", o.drop, "csv: `columns` to leave out, separated by commas")
	c.StringVar(&o.onehot, "onehot", o.onehot, "csv: `columns` of categories, each turned into one 0/1 column a value")
	c.StringVar(&o.missing, "missing", o.missing, "csv: what becomes of missing cells: mean, median, indicator (the mean, "+
		"and a column that tells where; indicator:A,B for A and B without a gap here, too, and indicator:* for all) or drop (the row) "+
		"(default they are errors)")
	c.StringVar(&o.labels, "labels", o.labels, "`classes` to keep, in this order, separated by commas (default all)")
	c.IntVar(&o.pca, "pca", o.pca, "project on this many principal components (0 = none)")
	c.BoolVar(&o.standardize, "standardize", o.standardize,
		"bring each column to mean 0 and variance 1 (default true, but false for idx)")
	c.BoolVar(&o.bias, "bias", o.bias, "append a column of ones (default true, but false for idx)")
	c.Float64Var(&o.testFraction, "test-fraction", 0.2,
		"`share` of samples to test on, where the source has no test files")
}

func (o *options) registerModel(c *cmdline) {
	c.StringVar(&o.model, "model", task.SoftmaxModel, "softmax, a linear model, or perceptron, with one hidden "+
		"layer; with -target linear or perceptron (default then linear)")
	c.IntVar(&o.hidden, "hidden", 0, "hidden `units` of a perceptron (default 8)")
}

func (o *options) registerRun(c *cmdline) {
	c.StringVar(&o.graph, "graph", o.graph, "who talks to whom: ring, complete, star, path, grid:RxC, er:P or file:F")

	c.IntVar(&o.rounds, "rounds", o.rounds, "rounds of learning, K")
	c.IntVar(&o.cooldown, "cooldown", o.cooldown, "rounds of pure consensus after them, "+
		"free of privacy cost (with noise 30 unless given)")
	c.IntVar(&o.mixing, "mixing", 0, "rounds of pure consensus after each round of learning, "+
		"free of privacy cost, in which shared noise cancels")
	c.IntVar(&o.tau, "tau", o.tau, "local steps a round (2 unless given with another -estimator)")
	c.IntVar(&o.batch, "batch", o.batch, "queries a local step; a client "+
		"with fewer samples asks one for each (0 = all do)")
	c.Float64Var(&o.eta, "eta", 0, "step size (default chosen)")
	c.Float64Var(&o.momentum, "momentum", 0, "`share` of earlier rounds in what a member learns in a round, before it is clipped: "+
		"0.8 or 0.9 for few queries a round, less than 1")
	c.Float64Var(&o.mu, "mu", 0, "smoothing radius: how far from the model the loss is asked for (default chosen)")
	c.Float64Var(&o.rho, "rho", o.rho, "penalty parameter")
	c.Float64Var(&o.gain, "gain", o.gain, "how hard disagreement is corrected, as a "+
		"`share` of the limit of stability: above 0, below 1")
	c.Float64Var(&o.robust, "robust", 0, "bound what a neighbor can do: it moves a member, over the whole run, no farther "+
		"from the median of its neighbors than so many `times` the median of their distances, such as 2 (0 = no bound)")
	c.TextVar(&o.estimator, "estimator", o.estimator,
		"paper (one query in so many fills a table); centered: each loss less the last one of its sample; or tracking: less a "+
			"linear model of it, which lasts over rounds, in the state, up to 64 MiB unless given")
	c.StringVar(&o.table, "table", o.table, "memory table: dense, or seeded (8 bytes a sample, same results)")
	c.TextVar(&o.directions, "directions", o.directions,
		"law of the query directions: rademacher (unless given with another -estimator), or walsh (which together cover all "+
			"axes)")
	c.BoolVar(&o.average, "average", o.average, "also score each client's running mean of its released models")
	c.Uint64Var(&o.seed, "seed", 1, "of data split, partition, graph, directions "+
		"and batches; in a simulation also of the noise")

	c.BoolVar(&o.nonPrivate, "non-private", o.nonPrivate,
		"no clipping and no noise: what a node sends may reveal its data")
	c.Float64Var(&o.clip, "clip", 0, "radius to which each round's update is clipped (default chosen)")
	c.Float64Var(&o.sigma, "sigma", 0, "standard deviation of the release noise (instead of -epsilon)")
	const budget = "privacy budget of each client for the whole run"
	if o.several != nil {
		c.Var(o.several, "epsilon", budget+", or several `budgets` with commas between them: a run for each")
	} else {
		c.Float64Var(&o.epsilon, "epsilon", o.epsilon, budget)
	}
	c.Float64Var(&o.delta, "delta", o.delta, "at which epsilon is stated")
	c.IntVar(&o.colluders, "colluders", 0, "share noise with neighbors that cancels in the mean: -epsilon then holds "+
		"against whoever sees all releases, together with any `c` members (default no noise is shared)")
	c.Float64Var(&o.pairSigma, "pair-sigma", 0, "standard deviation of what two neighbors share, with -sigma and "+
		"-colluders: -sigma times a power of two (default chosen)")
	c.Float64Var(&o.limitAll, "limit-all", 0, "with -colluders: the most that epsilon may be against all other members "+
		"together (default no limit)")
	o.registerAccounting(c)

	c.TextVar(&o.payload, "payload", sdk.PayloadAuto, "what crosses the wire: message (the paper's, one for each "+
		"neighbor) or release (one for all; same results) (default release, or message with -non-private)")
	c.IntVar(&o.gridBits, "grid-bits", 0, "put releases on a grid of noise/2^`W`, W of 2 to 8, so that they are short "+
		"integers (default 4 with noise, unless -payload is given)")
	c.jsonFlag("")
}

func (o *options) registerAccounting(c *cmdline) {
	c.TextVar(&o.accounting, "accounting", dpmech.GDP,
		"what -epsilon means: gdp (exact), zcdp or paper")
}

// read adds the shared flags, and reads a command line into o.
func (o *options) read(c *cmdline) error {
	o.registerData(c)
	o.registerModel(c)
	c.IntVar(&o.nodes, "nodes", o.nodes, "number of clients")
	o.registerRun(c)
	c.Lookup("data").Usage += "; csv: also several files, with commas between them or a star in the name, each one client's"
	file := c.String("task", "", "the `file` that fit has written: how -data are prepared, and the model")
	if err := c.parse(); err != nil {
		return err
	}
	if err := o.readTask(*file); err != nil {
		return usageError{err}
	}
	var f faults
	for _, name := range preparation {
		f.when(o.recipe != nil && o.given[name], "-%s does not go with -task, which says so already", name)
	}
	o.clientFiles(&f)
	o.conflicts(&f)
	return f.usage()
}

// checkSizes reports flags with a value outside 1e-9..1e9, and a delta outside (0, 1).
func (o *options) checkSizes(f *faults) {
	for _, c := range []struct {
		name  string
		value float64
	}{
		{"eta", o.eta}, {"mu", o.mu}, {"clip", o.clip}, {"sigma", o.sigma}, {"epsilon", o.epsilon}, {"rho", o.rho},
		{"pair-sigma", o.pairSigma}, {"limit-all", o.limitAll},
	} {
		f.when(o.given[c.name] && !(c.value >= 1e-9 && c.value <= 1e9), "-%s is %v, want 1e-9..1e9", c.name, c.value)
	}
	f.when(!(o.delta > 0 && o.delta < 1), "-delta is %v, want a number above 0 and below 1", o.delta)
}

// modelSpec returns the model that is asked for: a perceptron has eight hidden units unless the flag says otherwise.
func (o *options) modelSpec() task.ModelSpec {
	m := task.ModelSpec{Name: o.model, Hidden: o.hidden}
	if o.hiddenLayer() && !o.given["hidden"] && o.recipe == nil {
		m.Hidden = 8
	}
	if o.target != "" && !o.given["model"] && o.recipe == nil {
		m.Name = task.LinearModel
	}
	return m
}

// conflicts reports flags that exclude each other, and numbers that a zero default would hide.
func (o *options) conflicts(f *faults) {
	for _, name := range []string{
		"clip", "sigma", "epsilon", "delta", "accounting", "colluders", "pair-sigma", "limit-all",
	} {
		f.when(o.nonPrivate && o.given[name], "-non-private and -%s exclude each other", name)
	}
	if !o.nonPrivate {
		o.sharingConflicts(f)
	}
	f.when(o.given["sigma"] && (o.given["epsilon"] || o.given["accounting"]),
		"-sigma and -epsilon (or -accounting) exclude each other: one follows from the other")
	o.checkSizes(f)
	f.when(!(o.gain >= 1e-6 && o.gain < 1),
		"-gain is %v, want a share of the limit of stability: 1e-6 or more, and below 1", o.gain)
	f.when(!(o.momentum >= 0 && o.momentum < 1), "-momentum is %v, want 0..1 and less than 1", o.momentum)
	f.when(o.given["test-fraction"] && !(o.testFraction > 0 && o.testFraction < 1) && !(o.whole && o.testFraction == 0),
		"-test-fraction is %v, want a number above 0 and below 1", o.testFraction)
	if err := o.modelSpec().Validate(); err != nil {
		f.add("-model %s, -hidden %d: %w", o.model, o.hidden, err)
	} else if err := o.modelSpec().Fits(o.target != ""); err != nil && o.Lookup("target") != nil && o.data != "" {
		f.add("-model %s, -target %q: %w", o.model, o.target, err)
	}
	f.when(o.robust != 0 && !(o.robust >= 1 && o.robust <= 1e6), "-robust is %v, want 0, or 1..1e6", o.robust)
	f.when(o.table != "dense" && o.table != "seeded", "-table %q, want dense or seeded", o.table)
	for _, c := range []struct {
		name       string
		value, min int
	}{
		{"nodes", o.nodes, 1}, {"rounds", o.rounds, 1}, {"cooldown", o.cooldown, 0}, {"tau", o.tau, 1}, {"batch", o.batch, 0},
		{"mixing", o.mixing, 0}, {"colluders", o.colluders, 0},
	} {
		f.when(c.value < c.min, "-%s is %d, want at least %d", c.name, c.value, c.min)
	}
}

// spec returns what the data flags ask for.
func (o *options) spec() task.Spec {
	s := task.Spec{
		Source: o.data, Label: o.label, Target: o.target, Missing: o.missing, Drop: list(o.drop), OneHot: list(o.onehot), Labels: list(o.labels),
		PCA: o.pca, TestFraction: o.testFraction, Seed: o.seed, Whole: o.whole && o.testFraction == 0,
	}
	if o.given["standardize"] {
		s.Standardize = &o.standardize
	}
	if o.given["bias"] {
		s.Bias = &o.bias
	}
	return s
}

// dataFlags names the flag in each fault of a setting that package task reports.
func dataFlags(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var faults []error
		for _, e := range all.Unwrap() {
			faults = append(faults, dataFlags(e))
		}
		return errors.Join(faults...)
	}
	var f *task.FieldError
	if errors.As(err, &f) {
		return fmt.Errorf("-%s %s", strings.ReplaceAll(f.Field, "_", "-"), f.Fault)
	}
	return err
}

// list splits a flag's value at commas; an empty one is no list.
func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
