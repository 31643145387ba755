package sdk

import (
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// suggestRecords is [Suggest] for a run that protects each record. All of it follows from public numbers: Dim, the
// numbers of records, the graph and the budget. sdk/DEFAULTS.md says what was tried.
//
// What noise leaves of all updates in a row depends on neither the rounds nor the step, but on the mean number of
// records, the members and the budget alone: few rounds with a good slope of each record, from many queries, do best.
func (k Known) suggestRecords() (Method, Privacy, error) {
	m, p := k.Method, k.Privacy
	if k.Open {
		m.Estimator, m.Directions = EstimatorCentered, zoest.Walsh
		if memory := int64(slices.Max(k.Samples)) * int64(k.Dim+2); memory <= DefaultMemoryLimit/4 {
			m.Estimator = EstimatorTracking
		}
	}
	def(&m.Rho, 1)
	def(&m.Gain, 0.75)
	def(&p.Delta, 1e-5)
	if k.Graph == nil {
		def(&m.Cooldown, 30)
	}
	k.lengthOfRecords(&m)
	mean := 0.0
	for _, n := range k.Samples {
		mean += float64(n) / float64(len(k.Samples))
	}
	// Slopes are about reach/4 long at the start, with unit features: nearly all records are clipped, and weigh the same.
	reach := 1.0
	if k.Hidden { // see Suggest
		reach = 2
	}
	root := math.Sqrt(float64(k.Dim))
	if len(m.Mu) == 0 {
		m.Mu = admm.Schedule{round3(reach / root)}
	}
	radius := m.Mu[0] * root / 15 // R
	if p.Sigma == 0 {
		def(&p.EpsilonLimit, 8)
	}
	if len(m.Eta) == 0 {
		far, err := k.farOfRecords(m, p, mean)
		if err != nil {
			return m, p, err
		}
		m.Eta = admm.Schedule{round3(far / (radius * float64(m.Rounds)))}
	}
	def(&p.Clip, round3(radius*m.Eta[0]/mean))
	var err error
	if p.Sigma == 0 {
		err = p.spend(m.Rounds, k.Graph)
	}
	if err == nil && k.Graph != nil {
		m.settle(p, k.Graph)
	}
	m.Mixing, m.Cooldown = max(0, m.Mixing), max(0, m.Cooldown)
	return m, p, errors.Join(err, setting.Rounds.Check("sdk: suggest", "method.rounds", float64(m.Rounds)))
}

// lengthOfRecords sets the rounds and the queries of each record in one: each row of the Hadamard matrix twice, from 16
// to 64.
func (k Known) lengthOfRecords(m *Method) {
	def(&m.Tau, min(max(16, 2<<bits.Len(uint(k.Dim-1))), 64))
	switch each := int64(slices.Max(k.Samples)) * int64(m.Tau); {
	case k.Steps > 0:
		m.Rounds = k.Steps / m.Tau
	case k.Queries > 0:
		m.Rounds = int(min(k.Queries/each, math.MaxInt32))
	default:
		def(&m.Rounds, 10)
	}
}

// farOfRecords returns how far all clipped updates in a row should reach, from 2 to 12: it grows with the square of what
// they are in the noise of the members' mean.
func (k Known) farOfRecords(m Method, p Privacy, mean float64) (float64, error) {
	if p.Sigma == 0 {
		p.Clip = 1
		if err := p.spend(m.Rounds, k.Graph); err != nil {
			return 0, err
		}
	}
	if p.Clip == 0 { // a sigma by hand: the clip follows from far
		return 2, nil
	}
	members := float64(len(k.Samples))
	if k.Graph != nil {
		members = float64(k.Graph.N())
	}
	signal := mean * math.Sqrt(float64(m.Rounds)*members/float64(k.Dim)) * p.Clip / p.Sigma
	return min(max(2, signal*signal/40), 12), nil
}
