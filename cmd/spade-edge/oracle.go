package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// ownData is what a node learns from.
type ownData struct {
	oracle *task.Softmax
	test   *task.Softmax // samples that are held back
	fitted []string      // what a privacy guarantee is conditional on
}

// loadOracle builds the oracle of a node for a model of dim parameters.
func loadOracle(o fleetfile.Oracle, dim int) (*ownData, error) {
	b := o.Builtin
	if b == nil {
		return nil, usageError{errors.New("oracle: this version has the built-in oracle only, and runs no stream and no oneshot program")}
	}
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
	own := &ownData{oracle: task.NewSoftmax(train), test: task.NewSoftmax(set.Test), fitted: fitted}
	if own.oracle.Dim() != dim {
		return nil, usageError{fmt.Errorf("oracle.builtin has %d parameters (%d classes, %d columns), but dim of the fleet is %d",
			own.oracle.Dim(), train.Classes, train.Dim, dim)}
	}
	return own, nil
}
