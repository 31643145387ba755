package sdk_test

import (
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

// TestEffective checks the effective sigma of complete graphs, where it has a closed form: of m members that remain
// without the colluders and the absent, each is hidden by 1/(Sigma^-1)_ii with Sigma = sigma^2 I + pair_sigma^2 L.
// Package graph tests the conductance of all other graphs.
func TestEffective(t *testing.T) {
	for _, n := range []int{2, 8, 31} {
		g := must(topology.Parse("complete", n, 1))(t)
		for _, p := range []sdk.Privacy{
			{Sigma: 0.7, PairSigma: 2.8}, {Sigma: 0.7, PairSigma: 2.8, Colluders: 1}, {Sigma: 3, PairSigma: 3, Colluders: 10, Absent: 2},
			{Sigma: 1, PairSigma: 64, Colluders: n - 1},
		} {
			m, ratio := float64(max(1, n-p.Colluders-p.Absent)), p.PairSigma/p.Sigma
			want := p.Sigma / math.Sqrt(1/m+(1-1/m)/(1+ratio*ratio*m))
			if got, err := plan.Effective(p, g); err != nil || got > want*(1+1e-12) || got < want*(1-1e-4) {
				t.Errorf("%d members, %+v: %v, %v, want %v", n, p, got, err, want)
			}
		}
	}
}
