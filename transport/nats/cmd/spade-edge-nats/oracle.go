package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// ownData is what a node learns from.
type ownData struct {
	oracle  sdk.Oracle
	samples int
	window  int          // how many queries to ask at once; 0 leaves that to the SDK
	fitted  []string     // what a privacy guarantee is conditional on
	close   func() error // lets go of the oracle; never nil
}

// openOracle makes ready what a node of the fleet learns from.
func openOracle(ctx context.Context, o fleetfile.Oracle, fleet *fleetfile.File) (*ownData, error) {
	if o.Builtin != nil {
		return openBuiltin(o.Builtin, fleet)
	}
	own := &ownData{fitted: []string{"the losses come from an external program; what else that does with the data is outside the guarantee"}}
	dim, workers := fleet.Fleet.Dim, 0
	if o.OneShot != nil {
		program, err := scorer.OpenOneShot(*o.OneShot, dim)
		if err != nil {
			return nil, fmt.Errorf("oracle.oneshot: %w", err)
		}
		own.oracle, own.samples, own.close, workers = program, program.Samples(), program.Close, o.OneShot.Workers
	} else {
		program, err := scorer.OpenStream(ctx, *o.Stream)
		if err != nil {
			return nil, fmt.Errorf("oracle.stream: %w", err)
		}
		if program.Dim() != dim {
			err := usageError{fmt.Errorf("oracle.stream says that it has %d parameters, but dim of the fleet is %d", program.Dim(), dim)}
			return nil, errors.Join(err, program.Close())
		}
		own.oracle, own.samples, own.close, workers = program, program.Samples(), program.Close, o.Stream.Workers
	}
	if 2*workers > 16 { // every process has one query to work on and another waiting
		own.window = 2 * workers
	}
	return own, nil
}

// openBuiltin builds a built-in model over a node's data.
func openBuiltin(b *fleetfile.Builtin, fleet *fleetfile.File) (*ownData, error) {
	recipe, err := fleet.Task()
	if err != nil {
		return nil, usageError{err}
	}
	own := &ownData{close: func() error { return nil }}
	model := b.Model
	var set *task.Set
	switch {
	case (recipe == nil) != b.FitOwn:
		return nil, usageError{errors.New(`oracle.builtin: want "fit": "own" if the fleet file has no task, and only then`)}
	case recipe != nil && !strings.HasPrefix(b.Spec.Source, recipe.Source+":"):
		return nil, usageError{fmt.Errorf("oracle.builtin.data is %q, want data from %s, as the task in the fleet file has it", b.Spec.Source, recipe.Source)}
	case recipe != nil:
		model = recipe.Model
		own.fitted = append(own.fitted, "preprocessing given in the fleet file, fitted on "+recipe.FittedOn)
		set, err = recipe.Apply(b.Spec.Source, b.Spec.TestFraction, b.Spec.Seed)
	default:
		set, err = task.Load(b.Spec)
	}
	if err != nil {
		return nil, err
	}
	for _, what := range set.Fitted {
		own.fitted = append(own.fitted, "uncharged, by own data: "+what)
	}
	train := set.Train
	if s := b.Share; s != nil {
		parts, err := s.Partition.Assign(train.Y, train.Classes, s.Of, b.Spec.Seed)
		if err != nil {
			return nil, usageError{fmt.Errorf("oracle.builtin.share: %w", err)}
		}
		train = train.Select(parts[s.Number])
		own.fitted = append(own.fitted, fmt.Sprintf("part %d of %d of a common data set, dealt out as %s", s.Number, s.Of, s.Partition))
	}
	oracle := model.New(train)
	if dim := fleet.Fleet.Dim; oracle.Dim() != dim {
		return nil, usageError{fmt.Errorf("oracle.builtin has %d parameters (%s: %d classes, %d columns), but dim of the fleet is %d",
			oracle.Dim(), model.Name, train.Classes, train.Dim, dim)}
	}
	if moves := func(x float32) bool { return x != 0 }; model.Name == task.PerceptronModel && !slices.ContainsFunc(fleet.Fleet.X0, moves) {
		return nil, usageError{errors.New("oracle.builtin.model is perceptron, but x0 of the fleet is zeros, where its gradient is zero")}
	}
	own.oracle, own.samples = oracle, oracle.Len()
	return own, nil
}
