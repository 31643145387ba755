package sdk

import (
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest"
)

// suggestRecords is [Suggest] for a run that protects each record.
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
	def(&m.Rounds, 20)
	def(&m.Tau, 16)
	root := math.Sqrt(float64(k.Dim))
	if len(m.Mu) == 0 {
		m.Mu = admm.Schedule{round3(1.5 / root)}
	}
	sum := 0
	for _, n := range k.Samples {
		sum += n
	}
	mean := float64(sum) / float64(len(k.Samples))
	far, radius := 2.0, 0.2*m.Mu[0]*root/1.5
	if len(m.Eta) == 0 {
		m.Eta = admm.Schedule{round3(far / (radius * float64(m.Rounds)))}
	}
	def(&p.Clip, round3(radius*m.Eta[0]/mean))
	def(&m.Cooldown, 30)
	var err error
	if p.Sigma == 0 {
		def(&p.EpsilonLimit, 8)
		err = p.spend(m.Rounds, k.Graph)
	}
	if err == nil && k.Graph != nil {
		m.settle(p, k.Graph)
	}
	m.Mixing, m.Cooldown = max(0, m.Mixing), max(0, m.Cooldown)
	return m, p, err
}
