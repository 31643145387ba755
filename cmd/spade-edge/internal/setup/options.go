package setup

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// Options has the values of the flags that commands share.
type Options struct {
	*cli.Cmdline
	Collude, colludeOf int       // Collude of colludeOf members collude; -1: see plan.MostColluders; 0: see Asked
	Asked              sdk.Fleet // requested method, privacy and wire; zero values are unset
	AnyDelta           bool      // accept a delta at which no epsilon says anything
	Curve              bool      // keep the curve of the run in Result.Curve
	// These fields describe the data and the model.
	Spec      task.Spec  // if Whole is true and the test fraction is 0, no samples are held back
	Once      *task.Once // of the files of Spec, shared by runs that differ in the seed only; may be nil
	TestOnce  *task.Once // the same, of Tests
	Partition string
	Model     task.ModelSpec
	Recipe    *task.Recipe // from -task, in demo and simulate; nil for none
	Tests     []string     // CSV files to test on, one per client or one for all; nil if samples of Spec.Source are held back
	// These fields describe the network.
	Nodes int
	Names []string // of the members; nil means node-0, node-1 and so on
	Graph string
}

// NewOptions returns options for c with the default seed, epsilon limit and delta. Every other setting is unset.
func NewOptions(c *cli.Cmdline) Options {
	o := Options{Cmdline: c, Spec: task.Spec{TestFraction: 0.2}}
	o.Asked.Method.Seed = 1
	_, p, _ := plan.Suggest(plan.Known{Dim: 1, Samples: []int{1}}) // cannot fail
	o.Asked.Privacy.EpsilonLimit, o.Asked.Privacy.Delta = p.EpsilonLimit, p.Delta
	return o
}

// HiddenLayer reports whether the model has a hidden layer.
func (o *Options) HiddenLayer() bool { return o.Model.Name == task.PerceptronModel }

// Known returns the input for plan.Suggest, which suggests a method. samples has each client's number of samples.
func (o *Options) Known(dim int, samples []int) plan.Known {
	k := plan.Known{
		Dim: dim, Samples: samples, Hidden: o.HiddenLayer(),
		Method: o.Asked.Method, Privacy: o.Asked.Privacy, Open: !o.Given["estimator"],
	}
	for _, s := range Settings(&o.Asked) {
		if o.Given[s.Flag] {
			k.Fixed = append(k.Fixed, s.Name)
		}
	}
	if !o.Given["directions"] && k.Method.Estimator == zoest.Tracking {
		k.Method.Directions = zoest.Walsh
	}
	switch {
	case k.Privacy.NonPrivate:
		k.Privacy = sdk.Privacy{NonPrivate: true}
	case o.Given["sigma"]: // -epsilon is not given then, see Conflicts
		k.Privacy.EpsilonLimit = 0
	}
	return k
}

// SettingFlags adds the flags with the given names. If no names are given, it adds the flags for all settings.
func (o *Options) SettingFlags(c *cli.Cmdline, only ...string) {
	for _, s := range Settings(&o.Asked) {
		if len(only) > 0 && !slices.Contains(only, s.Flag) {
			continue
		}
		words := s.Words
		if s.Default == "chosen" {
			words += " (default chosen)"
		}
		if s.Flag == "colluders" {
			c.Func(s.Flag, words, o.readColluders)
		} else {
			s.addTo(c, words)
		}
		if s.Default != "" && s.Default != "chosen" && reflect.ValueOf(s.Value).Elem().IsZero() {
			c.Lookup(s.Flag).DefValue = s.Default
		}
	}
}

// readColluders parses a number of colluders: an integer, "half", "auto", or a fraction of all members such as "1/3".
// [Problem.MakeFleet] later replaces the last three with an integer.
func (o *Options) readColluders(text string) (err error) {
	o.Collude = 0
	if text == "half" {
		text = "1/2"
	}
	switch over, under, isShare := strings.Cut(text, "/"); {
	case text == "auto":
		o.Collude = -1
	case isShare:
		a, err := strconv.ParseUint(over, 10, 16)
		b, err2 := strconv.ParseUint(under, 10, 16)
		if o.Collude, o.colludeOf = int(a), int(b); err != nil || err2 != nil || a == 0 || a >= b {
			return errors.New("want a fraction between 0 and 1, such as 1/3")
		}
	default:
		if o.Asked.Privacy.Colluders, err = strconv.Atoi(text); err != nil {
			return errors.New("want a number of members, a fraction such as 1/3, \"half\" or \"auto\"")
		}
	}
	return nil
}

// RegisterData adds the flags for the data and its partition.
func (o *Options) RegisterData(c *cli.Cmdline) {
	o.RegisterSource(c)
	c.StringVar(&o.Partition, "partition", o.Partition, "who has which samples: iid, dirichlet:A, dirichlet:A,unbalanced or pathological:S")
}

// RegisterSource adds the flags for the data and its preparation.
func (o *Options) RegisterSource(c *cli.Cmdline) {
	list := func(to *[]string, name, usage string) {
		c.Func(name, usage, func(text string) error {
			*to = List(text)
			return nil
		})
	}
	answer := func(to **bool, name, usage string) { // *to stays nil without the flag: the code that reads *to has the default
		c.BoolFunc(name, usage, func(text string) error {
			yes, err := strconv.ParseBool(text)
			if err != nil {
				return errors.New("want true or false")
			}
			*to = &yes
			return nil
		})
	}
	c.StringVar(&o.Spec.Source, "data", o.Spec.Source, "the `source` of samples: idx:DIR, csv:FILE or synthetic:clinical")
	c.StringVar(&o.Spec.Label, "label", o.Spec.Label, "csv: the `column` that holds the class")
	c.StringVar(&o.Spec.Target, "target", o.Spec.Target, "csv: the `column` that holds a number to predict, in place of -label")
	c.StringVar(&o.Spec.Survival, "survival", o.Spec.Survival, "csv: `TIME,EVENT`, in place of -label: the columns of the time to the "+
		"event or to the end of observation, in days (TIME:w, TIME:m or TIME:y: weeks, months, years), and of whether it happened")
	c.StringVar(&o.Spec.Intervals, "intervals", o.Spec.Intervals, "with -survival: the `ends` of intervals of time, such as 90d,6m,1y,2y; "+
		"one end is a horizon, whose intervals are chosen (default "+survival.DefaultIntervals+")")
	c.Float64Var(&o.Spec.Rate, "rate", o.Spec.Rate, "with -survival: a public guess of the events a `year`, to start from (default "+
		fmt.Sprint(survival.DefaultRate)+")")
	list(&o.Spec.Drop, "drop", "csv: `columns` to leave out, separated by commas")
	list(&o.Spec.OneHot, "onehot", "csv: `columns` of categories, each turned into one 0/1 column per value")
	c.StringVar(&o.Spec.Person, "person", o.Spec.Person, "csv: the `column` that says whose a row is: with -unit record the rows of one "+
		"person are protected together")
	c.StringVar(&o.Spec.Missing, "missing", o.Spec.Missing, "csv: how to replace missing cells: mean, median, indicator (the mean, "+
		"and a 0/1 column that marks them; indicator:A,B adds that column for A and B in any case, indicator:* for all columns) or "+
		"drop (leave the row out) (default missing cells are errors)")
	list(&o.Spec.NA, "na", "csv: `texts` that also mark a cell as missing, such as -9,999, separated by commas; with -missing")
	list(&o.Spec.Labels, "labels", "`classes` to keep, in this order, separated by commas (default all)")
	c.IntVar(&o.Spec.PCA, "pca", 0, "project on this many principal components (0 = none)")
	c.Func("scale", "factors for the standardised columns, such as age:1,bmi:1,*:0.1 (default 1): the model learns faster along "+
		"columns with larger factors; choose them from public knowledge, not from the data", o.readScale)
	answer(&o.Spec.Standardize, "standardize", "bring each column to mean 0 and variance 1 (default true, but false for idx)")
	answer(&o.Spec.Bias, "bias", "append a column of ones (default true, but false for idx)")
	c.Float64Var(&o.Spec.TestFraction, "test-fraction", 0.2, "`share` of samples to test on, if the source has no test files")
}

// readScale parses -scale: names of columns, each followed by a colon and a factor. A name may contain colons.
func (o *Options) readScale(text string) error {
	o.Spec.Scale = map[string]float64{}
	for _, one := range List(text) {
		at := strings.LastIndex(one, ":")
		by, err := strconv.ParseFloat(one[at+1:], 64)
		if err != nil || at < 0 {
			return fmt.Errorf("found %q, want a column and a number, such as age:2", one)
		}
		name := one[:at]
		if _, again := o.Spec.Scale[name]; again {
			return fmt.Errorf("%q is given twice", name)
		}
		o.Spec.Scale[name] = by
	}
	return nil
}

// RegisterModel adds the flags for a built-in model.
func (o *Options) RegisterModel(c *cli.Cmdline) {
	c.StringVar(&o.Model.Name, "model", task.SoftmaxModel, "softmax, a linear model, or perceptron, with one hidden "+
		"layer; with -target linear or perceptron (default then linear); with -survival hazards")
	c.IntVar(&o.Model.Hidden, "hidden", 0, "hidden `units` of a perceptron (default 8)")
}

// RegisterRun adds the flags for a run.
func (o *Options) RegisterRun(c *cli.Cmdline) {
	c.StringVar(&o.Graph, "graph", o.Graph, "who talks to whom: ring, complete, star, path, grid:RxC, er:P, regular:K or file:F "+
		"(a text file with one edge on each line: two members, by name or by number from 0; # begins a comment)")
	o.SettingFlags(c)
	c.BoolVar(&o.AnyDelta, "any-delta", false, AnyDeltaUsage)
	c.JSONFlag()
}

// AnyDeltaUsage describes the flag -any-delta of every command.
const AnyDeltaUsage = "accept a delta of 1/2 or more, at which no epsilon says anything"

// CheckDelta reports a delta at which no epsilon says anything, unless any is set.
func CheckDelta(f *cli.Faults, delta float64, any bool) {
	f.When(delta >= plan.MostDelta && delta < 1 && !any, "-delta is %v, want less than %v, and far less than 1 over the number of records "+
		"(-unit record) or nodes: at this delta, publishing half of them counts as private; -any-delta accepts it", delta, plan.MostDelta)
}

// Read adds the shared flags to the command line and parses it into o.
func (o *Options) Read(c *cli.Cmdline) error {
	o.RegisterData(c)
	o.RegisterModel(c)
	c.IntVar(&o.Nodes, "nodes", o.Nodes, "number of clients")
	o.RegisterRun(c)
	c.Lookup("data").Usage += "; csv: also several files, separated by commas or with a star in the name, one per client"
	file := c.String("task", "", "the `file` that fit wrote: the preprocessing of -data, and the model")
	if err := c.ParseArgs(); err != nil {
		return err
	}
	if err := o.ReadTask(*file); err != nil {
		return cli.AsUsageError(err)
	}
	var f cli.Faults
	o.clientFiles(&f)
	o.Conflicts(&f)
	return f.Usage()
}

// CheckSettings reports flags whose values no fleet may have, or 0 if 0 would mean that the setting is unset. What the
// flags leave open does not count.
func (o *Options) CheckSettings(f *cli.Faults) {
	asked := o.Asked
	p := &asked.Privacy
	if p.PairSigma == 0 {
		p.PairSigma = 1 // chosen later, with colluders
	}
	if p.Unit != dpmech.Record {
		p.Places = 0 // see Conflicts
	}
	if p.NonPrivate {
		*p = sdk.Privacy{NonPrivate: true}
	}
	_, err := asked.Plan()
	for _, e := range fleetfile.Each(err) {
		var field *setting.FieldError
		given := func(s Setting) bool { return s.Name == field.Field && o.Given[s.Flag] }
		f.When(errors.As(e, &field) && slices.ContainsFunc(Settings(&asked), given), "%w", WithFlags(e))
	}
	positive := func(flag string, x float64) { f.When(o.Given[flag] && x == 0, "-%s is 0, want more than 0", flag) } // 0 would count as unset
	positive("epsilon", o.Asked.Privacy.EpsilonLimit)
	positive("pair-sigma", o.Asked.Privacy.PairSigma)
	positive("limit-all", o.Asked.Privacy.LimitAll)
}

// ModelSpec returns the specification of the requested model. A perceptron has eight hidden units by default.
func (o *Options) ModelSpec() task.ModelSpec {
	m := o.Model
	if o.HiddenLayer() && !o.Given["hidden"] && o.Recipe == nil {
		m.Hidden = 8
	}
	if !o.Given["model"] && o.Recipe == nil {
		switch o.Spec.Kind() {
		case task.OfTarget:
			m.Name = task.LinearModel
		case task.OfSurvival:
			m.Name = task.HazardsModel
		}
	}
	return m
}

// Conflicts reports flags that cannot be combined, and flags whose values are out of range.
func (o *Options) Conflicts(f *cli.Faults) {
	for _, name := range Preparation {
		f.When(o.Recipe != nil && o.Given[name], "-%s cannot be combined with -task, which already sets it", name)
	}
	for _, s := range Settings(&o.Asked) {
		f.When(o.Asked.Privacy.NonPrivate && o.Given[s.Flag] && s.Flag != "non-private" && strings.HasPrefix(s.Name, "privacy."),
			"-non-private and -%s cannot be combined", s.Flag)
	}
	if !o.Asked.Privacy.NonPrivate {
		o.sharingConflicts(f)
	}
	f.When(o.Given["sigma"] && (o.Given["epsilon"] || o.Given["accounting"]),
		"-sigma cannot be combined with -epsilon or -accounting: sigma already determines epsilon")
	o.CheckSettings(f)
	each := o.Asked.Privacy.Unit == dpmech.Record
	protects := o.Lookup("unit") != nil && !o.Asked.Privacy.NonPrivate // fit has no -unit
	for _, name := range []string{"person", "places"} {
		f.When(protects && !each && o.Given[name], "-%s needs -unit record: with -unit client, each client's whole data set is protected, "+
			"no matter which persons its rows belong to", name)
	}
	CheckDelta(f, o.Asked.Privacy.Delta, o.AnyDelta)
	fraction := o.Spec.TestFraction
	f.When(o.Given["test-fraction"] && !(fraction > 0 && fraction < 1) && !(o.Spec.Whole && fraction == 0),
		"-test-fraction is %v, want a number above 0 and below 1", fraction)
	if err := o.ModelSpec().Validate(); err != nil {
		f.Add("-model %s, -hidden %d: %w", o.Model.Name, o.Model.Hidden, err)
	} else if err := o.ModelSpec().Fits(o.Spec.Kind()); err != nil && o.Lookup("target") != nil && o.Spec.Source != "" {
		flag, value := "-target", o.Spec.Target
		if o.Spec.Kind() == task.OfSurvival {
			flag, value = "-survival", o.Spec.Survival
		}
		f.Add("-model %s, %s %q: %w", o.Model.Name, flag, value, err)
	}
	f.When(o.Nodes < 1, "-nodes is %d, want at least 1", o.Nodes)
}

// DataSpec returns the specification of the requested data.
func (o *Options) DataSpec() task.Spec {
	s := o.Spec
	s.Seed, s.Whole = o.Asked.Method.Seed, s.Whole && s.TestFraction == 0
	s.Records = o.Asked.Privacy.Unit == dpmech.Record && !o.Asked.Privacy.NonPrivate
	return s
}

// List splits a flag's value at commas. It returns an empty list for an empty value.
func List(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// Preparation lists the flags that cannot be combined with -task, because the task file already sets their values.
var Preparation = []string{
	"label", "target", "survival", "intervals", "rate", "person", "drop", "onehot", "missing", "labels", "pca", "scale", "standardize", "bias", "model", "hidden",
}

// Gap is a placeholder in a new node file. The user must replace it with the name of a program.
const Gap = "FILL-IN-THE-ORACLE"

// Filled returns an error if the oracle of a node file still is the placeholder [Gap].
func Filled(o fleetfile.Oracle) error {
	if s, stream := o.(*fleetfile.Stream); !stream || s.Command[0] != Gap {
		return nil
	}
	return cli.Usage("the node file is incomplete: \"oracle\" has no source of losses; give it a \"stream\" " +
		"or a \"builtin\" (see sdk/fleetfile/FORMAT.md)")
}
