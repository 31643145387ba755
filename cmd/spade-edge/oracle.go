package main

import (
	"context"
	"errors"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// loadOracle makes ready what a node of the fleet learns from.
func loadOracle(ctx context.Context, o fleetfile.Oracle, fleet *fleetfile.File) (*fleetfile.Source, error) {
	open := func() (*fleetfile.Source, error) { return o.Open(ctx, fleet) }
	var source *fleetfile.Source
	var err error
	if o.Builtin != nil { // that takes its time, and does not hear of the end
		source, err = prompt(ctx, open)
	} else {
		source, err = open()
	}
	if errors.Is(err, fleetfile.ErrMismatch) {
		err = usageError{err}
	}
	return source, err
}
