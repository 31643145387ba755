package sdk

import (
	"cmp"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/settings"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Unit selects what a guarantee protects.
type Unit = dpmech.Unit

// Consensus selects how members reach agreement in rounds without data.
type Consensus = settings.Consensus

// Payload selects what members send. It does not affect the models.
type Payload = settings.Payload

// Values and defaults of settings.
const (
	EstimatorPaper    = zoest.Paper    // the estimator of the paper
	EstimatorCentered = zoest.Centered // subtracts from each loss the previous loss of the same sample
	EstimatorTracking = zoest.Tracking // keeps a linear model of each loss across rounds

	UnitClient = dpmech.Client // the whole data set of each client
	UnitRecord = dpmech.Record // each record of each client

	ConsensusADMM      = settings.ADMM      // the method's own steps, without an update from data
	ConsensusChebyshev = settings.Chebyshev // [graph.Chebyshev]: far fewer rounds; needs PayloadRelease

	PayloadAuto    = settings.Auto    // PayloadRelease if private or with Chebyshev; else PayloadMessage
	PayloadMessage = settings.Message // m_ij of eq. (message), one per neighbor
	PayloadRelease = settings.Release // the released state itself, the same for all neighbors

	DefaultMemoryLimit = 64 << 20 // default of Config.MemoryLimit, in bytes
)

// Wire selects what members send to each other.
type Wire struct {
	Payload  Payload `json:"payload"`
	GridBits int     `json:"grid_bits"` // W, 2 to 8: private releases on a grid of step sigma/2^W; 0: 4 with PayloadAuto, else no grid
}

func (f *Fleet) wire() Wire {
	w := f.Wire
	if w.Payload == PayloadAuto && !f.Privacy.NonPrivate {
		w.Payload, w.GridBits = PayloadRelease, cmp.Or(w.GridBits, 4)
	}
	if w.Payload == PayloadAuto && f.Method.Consensus == ConsensusChebyshev {
		w.Payload = PayloadRelease
	}
	w.Payload = cmp.Or(w.Payload, PayloadMessage)
	return w
}
