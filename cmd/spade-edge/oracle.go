package main

import (
	"context"
	"errors"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// loadOracle makes ready what a node of the fleet learns from.
func loadOracle(ctx context.Context, o fleetfile.Oracle, fleet *fleetfile.File) (*fleetfile.Source, error) {
	source, err := o.Open(ctx, fleet)
	if errors.Is(err, fleetfile.ErrMismatch) {
		err = usageError{err}
	}
	return source, err
}
