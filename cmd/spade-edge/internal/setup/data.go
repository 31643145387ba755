package setup

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
)

// clientFiles sets Spec.Files if -data names several files, one per client.
func (o *Options) clientFiles(f *cli.Faults) {
	files, err := task.ClientFiles(o.Spec.Source)
	f.When(err != nil, "%w", WithFlags(err))
	if files == nil {
		return
	}
	o.Spec.Files = files
	f.When(o.Given["nodes"] && o.Nodes != len(files), "-nodes is %d, but -data has %d files, one per client: leave -nodes out",
		o.Nodes, len(files))
	f.When(o.Given["partition"], "-partition cannot be combined with several -data files: each file has the data of one client")
	if o.Nodes = len(files); !o.Given["graph"] {
		o.Graph = "complete" // a random graph of so few members may be disconnected
	}
}

// ReadTests sets Tests to the files that the flag -test names, separated by commas or with a star in the name.
func (o *Options) ReadTests(f *cli.Faults, text string) {
	source := "csv:" + strings.TrimPrefix(text, "csv:")
	tests, err := task.ClientFiles(source)
	var field *task.FieldError
	if errors.As(err, &field) {
		err = fmt.Errorf("-test %s", field.Fault)
	}
	f.When(err != nil, "%w", err)
	if o.Tests = tests; tests == nil {
		o.Tests = []string{strings.TrimPrefix(source, "csv:")}
	}
	f.When(o.Given["test-fraction"], "-test and -test-fraction cannot be combined: with -test, no samples of -data are held back")
	f.When(!strings.HasPrefix(o.Spec.Source, "csv:"), "-test needs -data csv:FILE, not %q", o.Spec.Source)
	f.When(len(o.Tests) > 1 && len(o.Tests) != len(o.Spec.Files), "-test names %d files, want one for all clients, or %d, one for each file of "+
		"-data in the same order", len(o.Tests), len(o.Spec.Files))
	o.Spec.Whole, o.Spec.TestFraction = true, 0
}

// tests reads the files in Tests, prepared like the training samples. each is nil if one file is for all clients.
func (o *Options) tests(set *task.Set) (all *task.Data, each []*task.Data, err error) {
	recipe, err := o.recipe(set, "the training data")
	if err != nil {
		return nil, nil, err
	}
	held, err := recipe.Apply(task.Spec{Files: o.Tests, NA: o.Spec.NA, Whole: true, Once: o.TestOnce})
	if err != nil {
		return nil, nil, fmt.Errorf("-test: %w", err)
	}
	for _, part := range held.Each() {
		each = append(each, part.Train)
	}
	if len(each) == 1 {
		each = nil
	}
	return held.Train, each, nil
}

// load reads and prepares the data. own has each client's training samples. If clients have their own files, held has
// each client's held-out samples.
func (o *Options) load() (set *task.Set, own, held []*task.Data, err error) {
	partition, err := task.ParsePartition(o.Partition)
	if err != nil {
		return nil, nil, nil, AsUsage(err)
	}
	spec := o.DataSpec()
	spec.Once = o.Once
	if o.Recipe != nil {
		spec.Whole = o.Tests != nil // with a recipe, some samples are always held back
		set, err = o.Recipe.Apply(spec)
	} else if err = spec.Validate(); err != nil {
		return nil, nil, nil, AsUsage(err)
	} else {
		set, err = task.Load(spec)
	}
	if err != nil {
		return nil, nil, nil, WithFlags(err)
	}
	if o.Recipe != nil {
		set.Fitted = append(set.Fitted, "preprocessing fitted on "+o.Recipe.FittedOn)
	}
	for _, one := range set.Each() {
		own, held = append(own, one.Train), append(held, one.Test)
	}
	if o.Tests != nil {
		if set.Test, held, err = o.tests(set); err != nil {
			return nil, nil, nil, WithFlags(err)
		}
	}
	if own != nil {
		set.Fitted = append(set.Fitted, fmt.Sprintf("%d files, each the samples of one client", len(own)))
		return set, own, held, nil
	}
	parts, err := partition.Deal(set.Train, o.Nodes, o.Asked.Method.Seed)
	if err != nil {
		return nil, nil, nil, cli.AsUsageError(err)
	}
	for _, idx := range parts {
		own = append(own, set.Train.Select(idx))
	}
	dealt := "samples dealt to clients by their labels, as -partition " + partition.String() + " says"
	if partition == (task.Partition{}) {
		dealt = "samples dealt to clients at random, in equal numbers"
	}
	set.Fitted = append(set.Fitted, dealt)
	return set, own, held, nil
}
