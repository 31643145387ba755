package plan

import (
	"math"
	"math/bits"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// This file chooses settings for record-level privacy. The signal (see recordSignal) depends on the records, the members
// and the budget, but not on the number of rounds or the step size. Few rounds with many queries per record therefore
// work best. sdk/DEFAULTS.md lists the alternatives that were tried.

// suggestRecords chooses the remaining settings for record-level privacy after [Suggest] has chosen the estimator, Rho,
// Gain and Delta.
func (k Known) suggestRecords(m sdk.Method, p sdk.Privacy) (sdk.Method, sdk.Privacy, error) {
	def(&m.Tau, RecordTau(k.Dim))
	free := m.Rounds == 0
	def(&m.Rounds, RecordRounds) // temporary, until the signal is known; the signal does not depend on the rounds
	if len(m.Mu) == 0 {
		m.Mu = admm.Schedule{round3(recordMu(k.Dim, k.Hidden))}
	}
	open := p.Sigma == 0
	if open {
		def(&p.EpsilonLimit, 8)
	}
	if k.Columns {
		choose(k, "method.shrink", &m.Shrink, 0.5) // costs dense models less than shrinking by 0.75, 1 or 1.5: DEFAULTS.md
	}
	mean, radius := admm.NewRecords(k.Samples, 1).Mean/float64(max(1, p.Places)), recordRadius(m.Mu[0], k.Dim)
	if len(m.Eta) == 0 {
		one := p
		if open {
			one.Clip = 1
			if err := spend(&one, m.Rounds, k.noise); err != nil {
				return m, p, err
			}
		}
		signal := recordSignal(mean, len(k.Samples), k.Dim, m.Rounds, one.Clip/one.Sigma)
		far := recordFar(signal)
		switch {
		case !free || !open:
		case far > 16: // the steps of 10 rounds would be too long
			m.Rounds = 20
		case k.Rare && far == leastFar:
			m.Rounds = 6
		}
		m.Eta = admm.Schedule{round3(far / (radius * float64(m.Rounds)))}
	}
	def(&p.Clip, round3(radius*m.Eta[0]/mean))
	var err error
	if open {
		err = spend(&p, m.Rounds, k.noise)
	}
	if k.Graph != nil {
		k.settle(&m, p, false)
	}
	return m, p, err
}

// RecordRounds is the number of rounds that [Suggest] chooses for record-level privacy, unless the signal is strong:
// then Suggest chooses 20. With a weak signal of rare events it chooses 6.
const RecordRounds = 10

// RecordTau returns the number of queries per record and round: twice the number of Walsh directions for dim
// parameters, but at least 16 and at most 64.
func RecordTau(dim int) int { return min(max(16, 2<<bits.Len(uint(dim-1))), 64) }

// recordMu returns the smoothing radius, chosen so that a query moves a record's score by about 1 if the features have
// mean square 1. The radius is twice as large with a hidden layer, because a query then splits its movement among the
// layers.
func recordMu(dim int, hidden bool) float64 {
	reach := 1.0
	if hidden {
		reach = 2
	}
	return reach / math.Sqrt(float64(dim))
}

// recordRadius returns R, the bound to which each record's slope is clipped. R is about a quarter of a typical slope at
// the start, so nearly all slopes are clipped and nearly all records have equal weight.
func recordRadius(mu float64, dim int) float64 { return mu * math.Sqrt(float64(dim)) / 15 }

// recordSignal returns the distance by which the clipped slopes of all records in all rounds would move the members'
// mean if they had the same direction, divided by the noise in that mean. mean is the average number of records per
// member. ratio is the radius of one record's share of a release (R_s) divided by the standard deviation of a member's
// local noise.
func recordSignal(mean float64, members, dim, rounds int, ratio float64) float64 {
	return mean * math.Sqrt(float64(rounds)*float64(members)/float64(dim)) * ratio
}

// leastFar is the distance for a weak signal.
const leastFar = 2

// recordFar returns the distance, from leastFar to 50, by which all clipped updates should move the model if they have the
// same direction. signal is the result of recordSignal.
func recordFar(signal float64) float64 { return min(max(leastFar, signal*signal/40), 50) }

// agree is the length of the sum of the records' slopes at the start of a run, divided by the length that the sum would
// have if all slopes had the same direction. The value was measured on real data sets.
const agree = 0.1
