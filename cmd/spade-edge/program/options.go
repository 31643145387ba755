package program

import (
	"encoding"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/zoest"
)

// options are the flags that the commands share: one vocabulary for all.
type options struct {
	*cmdline
	asked   sdk.Fleet // its method, privacy and wire: what was asked for; what is zero is open
	steps   int       // of a client in all rounds, in place of rounds; 0 for none
	queries int64     // likewise
	table   string
	average bool
	several *epsilonList // of -epsilon, if the command takes several
	limited bool         // what the noise is made for bounds what may be spent
	// data
	spec      task.Spec // with a test fraction of 0 nothing is set aside if Whole is set, in fit
	partition string
	model     task.ModelSpec
	number    bool         // the task of a file has a linear model
	recipe    *task.Recipe // of -task, in demo and simulate; nil for none
	files     []string     // of the clients, one for each; nil if there is one for all
	// network
	nodes int
	names []string // of the members; nil: node-0, node-1 and so on
	graph string
}

// newOptions returns options in which every setting is open.
func newOptions(c *cmdline) options {
	o := options{cmdline: c, table: "dense", spec: task.Spec{TestFraction: 0.2}}
	o.asked.Method.Seed = 1
	_, p, _ := sdk.Suggest(sdk.Known{Dim: 1, Samples: []int{1}}) // which does not fail
	o.asked.Privacy.EpsilonLimit, o.asked.Privacy.Delta = p.EpsilonLimit, p.Delta
	return o
}

func (o *options) hiddenLayer() bool { return o.model.Name == task.PerceptronModel }

// linear says whether the model is the linear one for a target. The radius is then half of what classes take: a wider one
// lets predictions run to the ends of the range, which costs no accuracy where there are classes, but is an error here.
func (o *options) linear() bool { return o.number || o.modelSpec().Name == task.LinearModel }

// known returns what the method is suggested from, for a parameter vector of length dim and so many samples of each
// client.
func (o *options) known(dim int, samples []int) sdk.Known {
	k := sdk.Known{
		Dim: dim, Samples: samples, Hidden: o.hiddenLayer(), Steps: o.steps, Queries: o.queries,
		Method: o.asked.Method, Privacy: o.asked.Privacy, Open: !o.given["estimator"] && o.table == "dense",
	}
	if !o.given["directions"] && k.Method.Estimator == sdk.EstimatorTracking {
		k.Method.Directions = zoest.Walsh
	}
	if o.given["cooldown"] && k.Method.Cooldown == 0 {
		k.Method.Cooldown = -1
	}
	if o.given["mixing"] && k.Method.Mixing == 0 {
		k.Method.Mixing = -1
	}
	switch {
	case k.Privacy.NonPrivate:
		k.Privacy = sdk.Privacy{NonPrivate: true}
	case o.given["sigma"] && !o.given["epsilon"]:
		k.Privacy.EpsilonLimit = 0
	}
	return k
}

// settingFlags adds the flags of settings, or of those alone that are named.
func (o *options) settingFlags(c *cmdline, only ...string) {
	for _, s := range sdk.Settings() {
		if s.Flag == "" || len(only) > 0 && !slices.Contains(only, s.Flag) {
			continue
		}
		place, words := s.In(&o.asked), s.Words
		if s.Default == "chosen" {
			words += " (default chosen)"
		}
		if s.Flag == "epsilon" && o.several != nil {
			place, words = o.several, words+", or several `budgets` with commas between them: a run for each"
		}
		switch x := place.(type) {
		case flag.Value:
			c.Var(x, s.Flag, words)
		case *int:
			c.IntVar(x, s.Flag, *x, words)
		case *uint64:
			c.Uint64Var(x, s.Flag, *x, words)
		case *bool:
			c.BoolVar(x, s.Flag, *x, words)
		case *float64:
			c.Float64Var(x, s.Flag, *x, words)
		case *admm.Schedule:
			c.Var((*constant)(x), s.Flag, words)
		case interface {
			encoding.TextMarshaler
			encoding.TextUnmarshaler
		}:
			c.TextVar(x, s.Flag, x, words)
		}
		if s.Default != "" && s.Default != "chosen" {
			c.Lookup(s.Flag).DefValue = s.Default
		}
	}
}

// constant is the flag of a schedule that is the same in all rounds.
type constant admm.Schedule

func (s *constant) String() string { return "" }

func (s *constant) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return errors.New("want a number")
	}
	*s = constant{x}
	return nil
}

// columns is the flag of a list, separated by commas.
type columns []string

func (l *columns) String() string { return strings.Join(*l, ",") }

func (l *columns) Set(text string) error {
	*l = list(text)
	return nil
}

// answer is a flag of yes or no that has a default of its own if it is not given.
type answer struct{ to **bool }

func (a answer) String() string   { return "" }
func (a answer) IsBoolFlag() bool { return true }

func (a answer) Set(text string) error {
	yes, err := strconv.ParseBool(text)
	if err != nil {
		return errors.New("want true or false")
	}
	*a.to = &yes
	return nil
}

// registerData adds the flags that say what is learned from, and who has it.
func (o *options) registerData(c *cmdline) {
	o.registerSource(c)
	c.StringVar(&o.partition, "partition", o.partition,
		"who has which samples: iid, dirichlet:A, dirichlet:A,unbalanced or pathological:S")
}

// registerSource adds the flags that say what data there are and how they are prepared.
func (o *options) registerSource(c *cmdline) {
	c.StringVar(&o.spec.Source, "data", o.spec.Source, "the `source` of samples: idx:DIR, csv:FILE or synthetic:clinical")
	c.StringVar(&o.spec.Label, "label", o.spec.Label, "csv: the `column` that holds the class")
	c.StringVar(&o.spec.Target, "target", o.spec.Target, "csv: the `column` that holds a number to predict, in place of -label")
	c.Var((*columns)(&o.spec.Drop), "drop", "csv: `columns` to leave out, separated by commas")
	c.Var((*columns)(&o.spec.OneHot), "onehot", "csv: `columns` of categories, each turned into one 0/1 column a value")
	c.StringVar(&o.spec.Missing, "missing", o.spec.Missing, "csv: what becomes of missing cells: mean, median, indicator (the mean, "+
		"and a column that tells where; indicator:A,B for A and B without a gap here, too, and indicator:* for all) or drop (the row) "+
		"(default they are errors)")
	c.Var((*columns)(&o.spec.Labels), "labels", "`classes` to keep, in this order, separated by commas (default all)")
	c.IntVar(&o.spec.PCA, "pca", 0, "project on this many principal components (0 = none)")
	c.Var(answer{&o.spec.Standardize}, "standardize",
		"bring each column to mean 0 and variance 1 (default true, but false for idx)")
	c.Var(answer{&o.spec.Bias}, "bias", "append a column of ones (default true, but false for idx)")
	c.Float64Var(&o.spec.TestFraction, "test-fraction", 0.2,
		"`share` of samples to test on, where the source has no test files")
}

func (o *options) registerModel(c *cmdline) {
	c.StringVar(&o.model.Name, "model", task.SoftmaxModel, "softmax, a linear model, or perceptron, with one hidden "+
		"layer; with -target linear or perceptron (default then linear)")
	c.IntVar(&o.model.Hidden, "hidden", 0, "hidden `units` of a perceptron (default 8)")
}

func (o *options) registerRun(c *cmdline) {
	c.StringVar(&o.graph, "graph", o.graph, "who talks to whom: ring, complete, star, path, grid:RxC, er:P or file:F")

	o.settingFlags(c)
	c.StringVar(&o.table, "table", o.table, "memory table: dense, or seeded (8 bytes a sample, same results)")
	c.BoolVar(&o.average, "average", o.average, "also score each client's running mean of its released models")
	c.jsonFlag("")
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
		return asUsageError(err)
	}
	var f faults
	for _, name := range preparation {
		f.when(o.recipe != nil && o.given[name], "-%s does not go with -task, which says so already", name)
	}
	o.clientFiles(&f)
	o.conflicts(&f)
	return f.usage()
}

// checkSettings reports given settings that are out of range. What is not given is open, and has a zero.
func (o *options) checkSettings(f *faults) {
	for _, s := range sdk.Settings() {
		if o.given[s.Flag] {
			if err := withFlags(s.Check(&o.asked)); err != nil {
				*f = append(*f, err)
			}
		}
	}
	for _, name := range []string{"epsilon", "limit-all", "pair-sigma"} { // zero is what they are without their flags
		zero := o.given[name] && o.Lookup(name).Value.String() == "0"
		f.when(zero, "-%s is 0, want more than 0", name)
	}
}

// modelSpec returns the model that is asked for: a perceptron has eight hidden units unless the flag says otherwise.
func (o *options) modelSpec() task.ModelSpec {
	m := o.model
	if o.hiddenLayer() && !o.given["hidden"] && o.recipe == nil {
		m.Hidden = 8
	}
	if o.spec.Target != "" && !o.given["model"] && o.recipe == nil {
		m.Name = task.LinearModel
	}
	return m
}

// conflicts reports flags that exclude each other, and numbers that a zero default would hide.
func (o *options) conflicts(f *faults) {
	for _, s := range sdk.Settings() {
		f.when(o.asked.Privacy.NonPrivate && o.given[s.Flag] && s.Flag != "non-private" && strings.HasPrefix(s.Name, "privacy."),
			"-non-private and -%s exclude each other", s.Flag)
	}
	if !o.asked.Privacy.NonPrivate {
		o.sharingConflicts(f)
	}
	f.when(o.given["sigma"] && (o.given["epsilon"] || o.given["accounting"]),
		"-sigma and -epsilon (or -accounting) exclude each other: one follows from the other")
	o.checkSettings(f)
	fraction := o.spec.TestFraction
	f.when(o.given["test-fraction"] && !(fraction > 0 && fraction < 1) && !(o.spec.Whole && fraction == 0),
		"-test-fraction is %v, want a number above 0 and below 1", fraction)
	if err := o.modelSpec().Validate(); err != nil {
		f.add("-model %s, -hidden %d: %w", o.model.Name, o.model.Hidden, err)
	} else if err := o.modelSpec().Fits(o.spec.Target != ""); err != nil && o.Lookup("target") != nil && o.spec.Source != "" {
		f.add("-model %s, -target %q: %w", o.model.Name, o.spec.Target, err)
	}
	f.when(o.table != "dense" && o.table != "seeded", "-table %q, want dense or seeded", o.table)
	f.when(o.nodes < 1, "-nodes is %d, want at least 1", o.nodes)
}

// dataSpec returns what the data flags ask for.
func (o *options) dataSpec() task.Spec {
	s := o.spec
	s.Seed, s.Whole = o.asked.Method.Seed, s.Whole && s.TestFraction == 0
	return s
}

// list splits a flag's value at commas; an empty one is no list.
func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// epsilonList is the value of -epsilon where there may be several. The first one goes to the field of a single run.
type epsilonList struct {
	all   []float64
	first *float64
}

func (l *epsilonList) String() string {
	if l.first == nil {
		return ""
	}
	return strconv.FormatFloat(*l.first, 'g', -1, 64)
}

func (l *epsilonList) Set(s string) error {
	l.all = nil
	for _, part := range strings.Split(s, ",") {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return fmt.Errorf("%q, want a number, or several with commas between them", part)
		}
		if slices.Contains(l.all, v) {
			return fmt.Errorf("%v is there twice", v)
		}
		l.all = append(l.all, v)
	}
	*l.first = l.all[0]
	return nil
}

// preparation are the flags that a task takes the place of.
var preparation = []string{
	"label", "target", "drop", "onehot", "missing", "labels", "pca", "standardize", "bias", "model", "hidden",
}

// gap stands in a node file for the program that nobody has named yet.
const gap = "FILL-IN-THE-ORACLE"

var errGap error = asUsageError(errors.New("the node file has a gap: put in what this node learns from, " +
	"a stream, a oneshot or a builtin (sdk/fleetfile/FORMAT.md shows them)"))
