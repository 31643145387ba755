package sdk

import (
	"cmp"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Unit is what a guarantee protects.
type Unit = dpmech.Unit

// Values and defaults of settings.
const (
	EstimatorPaper    = zoest.Paper    // the estimator of the paper
	EstimatorTracking = zoest.Tracking // keeps a linear model of each loss across rounds

	UnitClient = dpmech.Client // the whole data set of each client
	UnitRecord = dpmech.Record // each record of each client

	DefaultMemoryLimit = 64 << 20 // default of Config.MemoryLimit, in bytes
)

// Wire selects how members encode what they send to each other.
type Wire struct {
	GridBits int `json:"grid_bits"` // W, 2 to 8: private releases lie on a grid of step sigma/2^W; 0: 4 if private
}

func (f *Fleet) wire() Wire {
	w := f.Wire
	if !f.Privacy.NonPrivate {
		w.GridBits = cmp.Or(w.GridBits, 4)
	}
	return w
}
