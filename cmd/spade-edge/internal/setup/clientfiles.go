package setup

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

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
	}
	return nil
}

// clientFiles sets Files if -data names several files, one per client.
func (o *Options) clientFiles(f *cli.Faults) {
	files, err := task.ClientFiles(o.Spec.Source)
	f.When(err != nil, "%w", WithFlags(err))
	if files == nil {
		return
	}
	o.Files = files
	f.When(o.Given["nodes"] && o.Nodes != len(files), "-nodes is %d, but -data has %d files, one per client: leave -nodes out",
		o.Nodes, len(files))
	f.When(o.Given["partition"], "-partition cannot be combined with several -data files: each file has the data of one client")
	if o.Nodes = len(files); !o.Given["graph"] {
		o.Graph = "complete" // a random graph of so few members may be disconnected
	}
}

// load reads and prepares the data. own has each client's training samples. If clients have their own files, held has
// each client's held-out samples.
func (o *Options) load() (set *task.Set, own, held []*task.Data, err error) {
	partition, err := task.ParsePartition(o.Partition)
	if err != nil {
		return nil, nil, nil, AsUsage(err)
	}
	spec := o.DataSpec()
	prepared := spec // with a recipe, some samples are always held back
	prepared.Whole = false
	var each []*task.Set
	switch {
	case o.Files != nil && o.Recipe != nil:
		set, each, err = o.Recipe.ApplyFiles(prepared, o.Files)
	case o.Recipe != nil:
		set, err = o.Recipe.Apply(prepared)
	default:
		if err := spec.Validate(); err != nil {
			return nil, nil, nil, AsUsage(err)
		}
		if o.Files != nil {
			set, each, err = task.LoadFiles(spec, o.Files)
		} else {
			set, err = task.Load(spec)
		}
	}
	if err != nil {
		return nil, nil, nil, WithFlags(err)
	}
	if o.Recipe != nil {
		set.Fitted = append(set.Fitted, "preprocessing fitted on "+o.Recipe.FittedOn)
	}
	for _, one := range each {
		own, held = append(own, one.Train), append(held, one.Test)
	}
	if each != nil {
		set.Fitted = append(set.Fitted, fmt.Sprintf("%d files, each the samples of one client", len(each)))
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
	return set, own, nil, nil
}
