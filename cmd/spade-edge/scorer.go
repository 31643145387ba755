package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
)

// loadScorer starts the external program that a node's losses come from.
func loadScorer(ctx context.Context, o fleetfile.Oracle, fleet *fleetfile.File) (*ownData, error) {
	dim := fleet.Fleet.Dim
	own := &ownData{fitted: []string{"the losses come from an external program; what else that does with the data is outside the guarantee"}}
	if cfg := o.OneShot; cfg != nil {
		program, err := scorer.OpenOneShot(*cfg, dim)
		if err != nil {
			return nil, fmt.Errorf("oracle.oneshot: %w", err)
		}
		own.oracle, own.samples, own.close, own.window = program, program.Samples(), program.Close, window(cfg.Workers)
		return own, nil
	}
	program, err := scorer.OpenStream(ctx, *o.Stream)
	if err != nil {
		return nil, fmt.Errorf("oracle.stream: %w", err)
	}
	if program.Dim() != dim {
		err := usageError{fmt.Errorf("oracle.stream says that it has %d parameters, but dim of the fleet is %d", program.Dim(), dim)}
		return nil, errors.Join(err, program.Close())
	}
	own.oracle, own.samples, own.close, own.window = program, program.Samples(), program.Close, window(o.Stream.Workers)
	return own, nil
}

// window returns how many queries to ask at once, so that every process has one to work on and another waiting; 0 leaves that to the
// SDK.
func window(workers int) int {
	if 2*workers <= 16 {
		return 0
	}
	return 2 * workers
}
