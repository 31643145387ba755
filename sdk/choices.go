package sdk

import (
	"cmp"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// Estimator says how a client estimates its gradient.
type Estimator = zoest.Kind

const (
	EstimatorPaper    = zoest.Paper    // the estimator of the paper
	EstimatorCentered = zoest.Centered // subtracts from each loss the last one of its sample
	EstimatorTracking = zoest.Tracking // keeps a linear model of each loss over rounds
)

// Unit says what a guarantee protects.
type Unit = dpmech.Unit

const (
	UnitClient = dpmech.Client // the whole data set of each client
	UnitRecord = dpmech.Record // each record of each client
)

// Consensus says how the models of members come together in rounds without data.
type Consensus int

const (
	ConsensusADMM      Consensus = iota // the steps of the method, without an update
	ConsensusChebyshev                  // [graph.Chebyshev]: far fewer rounds; needs PayloadRelease, excludes Robust
)

var consensuses = setting.Choice{Of: "sdk: consensus", Names: []string{"admm", "chebyshev"}}

// String returns the name in files: admm or chebyshev.
func (c Consensus) String() string { return consensuses.Name(int(c)) }

// MarshalText returns the name, and an error if c is unknown.
func (c Consensus) MarshalText() ([]byte, error) { return consensuses.Text(int(c)) }

// UnmarshalText reads a name.
func (c *Consensus) UnmarshalText(name []byte) error { return consensuses.Parse((*int)(c), name) }

// Payload says what crosses the wire. The models have the same bits.
type Payload int

const (
	PayloadAuto    Payload = iota // PayloadRelease in a private run, with ConsensusChebyshev and with Robust, else PayloadMessage
	PayloadMessage                // m_ij of eq. (message), one for each neighbor
	PayloadRelease                // the released state itself, the same for all neighbors
)

var payloads = setting.Choice{Of: "sdk: payload", Names: []string{"", "message", "release"}}

// String returns the name in files: message, release, or nothing for Auto.
func (p Payload) String() string { return payloads.Name(int(p)) }

// MarshalText returns the name, and an error if p is unknown.
func (p Payload) MarshalText() ([]byte, error) { return payloads.Text(int(p)) }

// UnmarshalText reads a name.
func (p *Payload) UnmarshalText(name []byte) error { return payloads.Parse((*int)(p), name) }

// Wire says what members send each other.
type Wire struct {
	Payload  Payload `json:"payload"`
	GridBits int     `json:"grid_bits"` // W, 2 to 8: private releases on a grid of sigma/2^W; 0: none, or 4 with PayloadAuto
}

// wire returns what members send each other, with the defaults filled in.
func (f *Fleet) wire() Wire {
	w := f.Wire
	if w.Payload == PayloadAuto && !f.Privacy.NonPrivate {
		w.Payload, w.GridBits = PayloadRelease, cmp.Or(w.GridBits, 4)
	}
	if w.Payload == PayloadAuto && (f.Method.Consensus == ConsensusChebyshev || f.Method.Robust > 0) {
		w.Payload = PayloadRelease
	}
	w.Payload = cmp.Or(w.Payload, PayloadMessage)
	return w
}
