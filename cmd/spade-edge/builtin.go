package main

import (
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// loadBuiltin builds the built-in model over a node's data.
func loadBuiltin(b *fleetfile.Builtin, fleet *fleetfile.File) (*ownData, error) {
	set, err := task.Load(b.Spec)
	if err != nil {
		return nil, err
	}
	train, fitted := set.Train, slices.Clone(set.Fitted)
	if s := b.Share; s != nil {
		parts, err := s.Partition.Assign(train.Y, train.Classes, s.Of, b.Spec.Seed)
		if err != nil {
			return nil, usageError{fmt.Errorf("oracle.builtin.share: %w", err)}
		}
		train = train.Select(parts[s.Number])
		fitted = append(fitted, fmt.Sprintf("part %d of %d of a common data set, dealt out as %s", s.Number, s.Of, s.Partition))
	}
	model := task.NewSoftmax(train)
	if dim := fleet.Fleet.Dim; model.Dim() != dim {
		return nil, usageError{fmt.Errorf("oracle.builtin has %d parameters (%d classes, %d columns), but dim of the fleet is %d",
			model.Dim(), train.Classes, train.Dim, dim)}
	}
	return &ownData{
		oracle: model, samples: model.Len(), test: task.NewSoftmax(set.Test), fitted: fitted,
		close: func() error { return nil },
	}, nil
}
