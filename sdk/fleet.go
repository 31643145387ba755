package sdk

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Fleet is the public definition of a run. It must not change while in use.
type Fleet struct {
	Run     string      `json:"run"`               // identifies the run, 1 to 64 bytes of printable UTF-8
	Dim     int         `json:"dim"`               // d, the length of the parameter vector
	X0      []float32   `json:"x0"`                // x_0, the common start, of length d; nil means zeros
	X0Hash  string      `json:"-"`                 // [ModelHash] of X0 if X0 is not at hand: enough for Hash, not for New
	Members []string    `json:"members"`           // client names, limited like Run; the index is the client's number
	Edges   [][2]string `json:"edges"`             // pairs of members that exchange messages; the graph must be connected
	Records []int       `json:"records,omitempty"` // each member's public number of records, for record-level privacy
	Method  Method      `json:"method"`
	Privacy Privacy     `json:"privacy"`
	Wire    Wire        `json:"wire"`

	// PairKeys has one public key of each member, used in this run only, from which members derive the secrets of
	// pairwise noise; see [Config].PairKeys. It may be nil in simulations, and if all nodes have Config.Secret.
	PairKeys []pair.Public   `json:"pair_keys,omitempty"`
	Task     json.RawMessage `json:"task,omitempty"` // the learning task: a JSON object of at most 8 MiB, or nil
}

// Method holds the parameters of SPADE-DFL. Package plan chooses them.
type Method struct {
	Rounds   int `json:"rounds"`           // K, rounds of learning, at least 1
	Mixing   int `json:"mixing,omitempty"` // consensus rounds after each round of learning; they cost no privacy
	Cooldown int `json:"cooldown"`         // C, additional consensus rounds at the end
	Tau      int `json:"tau"`              // local steps per round, at least 1
	Batch    int `json:"batch"`            // queries per local step; 0, or more than the client has samples, means one per sample

	Rho      float64       `json:"rho"`                // penalty parameter, > 0
	Gain     float64       `json:"gain"`               // tau*beta*eta*mu as a fraction of the stability limit, in (0, 1); determines beta
	Eta      admm.Schedule `json:"eta"`                // step size, > 0: one for all rounds, or one per round
	Mu       admm.Schedule `json:"mu"`                 // smoothing radius, > 0: one for all rounds, or one per round
	Momentum float64       `json:"momentum,omitempty"` // weight of earlier updates, before clipping, in [0, 1): see [zoest.Estimator.Carry]

	Estimator  zoest.Kind         `json:"estimator"`
	Directions zoest.Distribution `json:"directions"` // distribution of the query directions
	Seed       uint64             `json:"seed"`       // of directions and batches

	Shrink float64 `json:"shrink,omitempty"` // shift to X0 in standard deviations of the mean's noise, 0 to 16: see [Fleet.Model]
}

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

// Last returns the index of the final release, K*(1+Mixing) + C.
func (m *Method) Last() int { return m.releases().Last() }

// Data returns how many of the first releases use data and cost privacy.
func (m *Method) Data(releases int) int { return m.releases().Data(releases) }

// Learning returns the last release before the cool-down, K*(1+Mixing).
func (m *Method) Learning() int { return m.releases().Learning() }

func (m *Method) releases() *admm.Config {
	return &admm.Config{Rounds: m.Rounds, Mixing: m.Mixing, Cooldown: m.Cooldown}
}

// unbounded is the cost of any number of releases without noise.
var unbounded = dpmech.Total{Rho: math.Inf(1), All: math.Inf(1)}

// Total returns the zCDP cost of a number of rounds, or +Inf without privacy.
func (f *Fleet) Total(rounds int) dpmech.Total {
	if f.Privacy.NonPrivate {
		return unbounded
	}
	return f.Privacy.Gaussian().Total(min(rounds, f.Method.Rounds))
}

// Model returns the model of a release x with the given number: x itself or, with Method.Shrink, for the last release,
// a copy of x with each coordinate moved toward X0 by Shrink*sigma*sqrt(K/N), but not beyond X0. K is the number of
// rounds and N the number of members. This is soft thresholding (Donoho and Johnstone, Biometrika 1994), a form of
// post-processing, and costs no privacy.
func (f *Fleet) Model(x []float32, release int) []float32 {
	m := f.Method
	if f.Privacy.NonPrivate || m.Shrink == 0 || release != m.Last() {
		return x
	}
	most := float32(m.Shrink * f.Privacy.Sigma / math.Sqrt(float64(len(f.Members))) * math.Sqrt(float64(m.Rounds)))
	model := slices.Clone(x)
	for i := range model {
		start := float32(0)
		if f.X0 != nil {
			start = f.X0[i]
		}
		moved := x[i] - start
		model[i] = start + max(moved-most, min(moved+most, 0))
	}
	return model
}
