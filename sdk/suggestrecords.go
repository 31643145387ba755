package sdk

import (
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/unit"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// suggestRecords is what [Suggest] does where each record is protected, once estimator, Rho, Gain and Delta are chosen.
func (k Known) suggestRecords(m Method, p Privacy) (Method, Privacy, error) {
	if k.Open && m.Estimator == EstimatorPaper { // the table does not fit, and fresh slopes are too noisy
		m.Estimator = EstimatorCentered
	}
	def(&m.Tau, unit.Tau(k.Dim))
	switch {
	case k.Steps > 0:
		m.Rounds = k.Steps / m.Tau
	case k.Queries > 0:
		m.Rounds = int(min(k.Queries/(int64(slices.Max(k.Samples))*int64(m.Tau)), math.MaxInt32))
	}
	def(&m.Rounds, unit.Rounds)
	err := setting.Rounds.Check("sdk: suggest", "method.rounds", float64(m.Rounds))
	if len(m.Mu) == 0 {
		m.Mu = admm.Schedule{round3(unit.Mu(k.Dim, k.Hidden))}
	}
	open := p.Sigma == 0
	if open {
		def(&p.EpsilonLimit, 8)
	}
	if k.Columns {
		def(&m.Shrink, 0.5) // of 0.5, 0.75, 1 and 1.5 the one that costs dense models least, see DEFAULTS.md
	}
	mean, radius := admm.NewRecords(k.Samples, 1).Mean/float64(max(1, p.Places)), unit.Radius(m.Mu[0], k.Dim)
	if len(m.Eta) == 0 && err == nil {
		one := p
		if open {
			one.Clip = 1
			err = one.spend(m.Rounds, k.Graph)
		}
		signal := unit.Signal(mean, len(k.Samples), k.Dim, m.Rounds, one.Clip/one.Sigma)
		m.Eta = admm.Schedule{round3(unit.Far(signal) / (radius * float64(m.Rounds)))}
	}
	if err != nil {
		return m, p, err
	}
	def(&p.Clip, round3(radius*m.Eta[0]/mean))
	if open {
		err = p.spend(m.Rounds, k.Graph)
	}
	if k.Graph != nil {
		m.settle(p, k.Graph)
	}
	m.Mixing, m.Cooldown, m.Shrink = max(0, m.Mixing), max(0, m.Cooldown), max(0, m.Shrink)
	return m, p, err
}
