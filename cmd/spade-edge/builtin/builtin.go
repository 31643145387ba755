package builtin

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

func init() {
	fleetfile.RegisterOracle("builtin", parse)
	fleetfile.RegisterTask(checkTask)
}

// Oracle is a built-in model on a data set.
type Oracle struct {
	// FitOwn ("fit": "own") means that the preprocessing is fitted on this node's own data and that the node file names
	// the model. Otherwise the preprocessing and the model come from the task in the fleet file, and only the fields
	// Source, NA, TestFraction, Whole and Seed of Spec are set.
	FitOwn bool
	Model  task.ModelSpec // empty unless FitOwn
	Spec   task.Spec      // data set, with resolved paths
	Share  *Share         // nil if the whole data set belongs to this node
	// HeldOut is a source of samples to test on, with resolved paths. If it is set, the node trains on all samples of
	// Spec.Source.
	HeldOut string
}

// Share is this node's part of a data set that is divided among several nodes, as in a simulation. Spec.Seed seeds the
// division. Share is for trials in which all nodes have the same files.
type Share struct {
	Partition task.Partition `json:"partition"`
	Of        int            `json:"of"`     // number of parts
	Number    int            `json:"number"` // index of this part, 0 to Of-1
}

// Of returns the built-in model of a node, or nil if the node has another kind of oracle.
func Of(node *fleetfile.Node) *Oracle {
	o, _ := node.Oracle.(*Oracle)
	return o
}

// String returns "a built-in model on " and the source of the data.
func (o *Oracle) String() string { return "a built-in model on " + o.Spec.Source }

type oracleForm struct {
	Builtin struct {
		Fit string `json:"fit"`
		task.ModelSpec
		task.Spec
		TestFraction *float64 `json:"test_fraction"`
		Share        *Share   `json:"share"`
		HeldOut      string   `json:"held_out"`
	} `json:"builtin"`
}

func parse(section json.RawMessage, dir string) (fleetfile.Oracle, error) {
	var form oracleForm
	if err := fleetfile.ReadSection("oracle", section, &form); err != nil {
		return nil, err
	}
	f := &form.Builtin
	o := &Oracle{FitOwn: f.Fit == "own", Model: f.ModelSpec, Spec: f.Spec, Share: f.Share}
	var errs faults
	errs.want(f.Fit == "" || f.Fit == "own", `oracle.builtin.fit is %q, want own`, f.Fit)
	if held := f.TestFraction; held != nil {
		errs.want(*held >= 0 && *held < 1, "oracle.builtin.test_fraction is %v, want a number above 0 and below 1, or 0 to "+
			"train on all", *held)
		o.Spec.TestFraction, o.Spec.Whole = *held, *held == 0
	}
	if f.HeldOut != "" {
		errs.want(!(o.Spec.TestFraction > 0) && f.Share == nil, "oracle.builtin.held_out is %q, want it omitted, or neither test_fraction nor "+
			"share", f.HeldOut)
		errs.at("oracle.builtin.held_out", task.CheckSource(f.HeldOut))
		o.HeldOut, o.Spec.TestFraction, o.Spec.Whole = f.HeldOut, 0, true
	}
	if s := f.Share; s != nil {
		errs.want(s.Number >= 0 && s.Number < s.Of, "oracle.builtin.share has number %d and of %d, want of 1 or more, and number from 0 "+
			"to of-1", s.Number, s.Of)
	}
	switch rest := f.Spec; {
	case len(errs) > 0:
	case o.FitOwn:
		errs.at("oracle.builtin", errors.Join(o.Model.Validate(), o.Spec.Validate()))
	default:
		rest.Source, rest.NA, rest.Seed = "", nil, 0
		errs.want(reflect.DeepEqual(rest, task.Spec{}) && o.Model == task.ModelSpec{}, "oracle.builtin has a model or preprocessing, "+
			"want only data, na, test_fraction, held_out, seed and share: the task in the fleet file has the rest for all nodes, unless "+
			`"fit" is "own"`)
		errs.at("oracle.builtin", task.CheckSource(o.Spec.Source))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, source := range []*string{&o.Spec.Source, &o.HeldOut} {
		if kind, path, found := strings.Cut(*source, ":"); found && kind != "synthetic" {
			*source = kind + ":" + fleetfile.Resolve(dir, path)
		}
	}
	return o, nil
}
