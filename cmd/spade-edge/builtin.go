package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// loadBuiltin builds a built-in model over a node's data.
func loadBuiltin(b *fleetfile.Builtin, fleet *fleetfile.File) (*ownData, error) {
	recipe, err := fleet.Task()
	if err != nil {
		return nil, usageError{err}
	}
	spec, model := b.Spec, b.Model
	var set *task.Set
	var fitted []string
	switch {
	case recipe == nil && !b.FitOwn:
		return nil, usageError{errors.New(`oracle.builtin.fit is missing, and the fleet file has no task that says how to prepare data: ` +
			`"fit": "own" would fit that on this node's own data, which the certificate lists as uncharged`)}
	case recipe != nil && b.FitOwn:
		return nil, usageError{errors.New(`oracle.builtin.fit is "own", want it and all else but data, test_fraction, seed and share left out: ` +
			`the task in the fleet file says for all nodes how to prepare data`)}
	case recipe != nil && !strings.HasPrefix(spec.Source, recipe.Source+":"):
		return nil, usageError{fmt.Errorf("oracle.builtin.data is %q, want data from %s, as the task in the fleet file has it", spec.Source, recipe.Source)}
	case recipe != nil:
		model = recipe.Model
		fitted = append(fitted, "preprocessing given in the fleet file, fitted on "+recipe.FittedOn)
		set, err = recipe.Apply(spec.Source, spec.TestFraction, spec.Seed)
	default:
		set, err = task.Load(spec)
	}
	if err != nil {
		return nil, err
	}
	for _, what := range set.Fitted {
		fitted = append(fitted, "uncharged, by own data: "+what)
	}
	train := set.Train
	if s := b.Share; s != nil {
		parts, err := s.Partition.Assign(train.Y, train.Classes, s.Of, spec.Seed)
		if err != nil {
			return nil, usageError{fmt.Errorf("oracle.builtin.share: %w", err)}
		}
		train = train.Select(parts[s.Number])
		fitted = append(fitted, fmt.Sprintf("part %d of %d of a common data set, dealt out as %s", s.Number, s.Of, s.Partition))
	}
	oracle := model.New(train)
	if dim := fleet.Fleet.Dim; oracle.Dim() != dim {
		return nil, usageError{fmt.Errorf("oracle.builtin has %d parameters (%s: %d classes, %d columns), but dim of the fleet is %d",
			oracle.Dim(), modelText(model), train.Classes, train.Dim, dim)}
	}
	if moves := func(x float32) bool { return x != 0 }; model.Name == task.PerceptronModel && !slices.ContainsFunc(fleet.Fleet.X0, moves) {
		return nil, usageError{errors.New("oracle.builtin.model is perceptron, but x0 of the fleet is zeros, where its gradient is zero: want a start such as spade-edge fit -x0 writes")}
	}
	return &ownData{
		oracle: oracle, samples: oracle.Len(), test: model.New(set.Test), fitted: fitted,
		close: func() error { return nil },
	}, nil
}

// modelText names a model for people.
func modelText(m task.ModelSpec) string {
	if m.Hidden > 0 {
		return fmt.Sprintf("%s of %d hidden units", m.Name, m.Hidden)
	}
	return m.Name
}
