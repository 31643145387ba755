package main

import (
	"context"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// ownData is what a node learns from.
type ownData struct {
	oracle  sdk.Oracle
	samples int
	window  int          // how many queries to ask at once; 0 leaves that to the SDK
	test    classifier   // on samples that are held back; nil if there are none, or nobody here can tell right from wrong
	fitted  []string     // what a privacy guarantee is conditional on
	close   func() error // lets go of the oracle; never nil
}

// classifier is a model that can be scored on the samples it was made with.
type classifier interface {
	Accuracy(x []float32) float64 // share in [0, 1]; NaN if there is none
	Len() int
}

// loadOracle makes ready what a node of the fleet learns from.
func loadOracle(ctx context.Context, o fleetfile.Oracle, fleet *fleetfile.File) (*ownData, error) {
	if o.Builtin != nil {
		return prompt(ctx, func() (*ownData, error) { return loadBuiltin(o.Builtin, fleet) })
	}
	return loadScorer(ctx, o, fleet)
}
