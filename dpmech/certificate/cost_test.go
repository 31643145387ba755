package certificate

import (
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// TestCostZeroOut checks that the zero-out epsilon equals the GDP epsilon of the same releases with half the clip,
// because zero-out adjacency halves the sensitivity.
func TestCostZeroOut(t *testing.T) {
	for _, g := range []dpmech.Gaussian{{Clip: 1, Sigma: 8}, {Clip: 1, Sigma: 1}, {Clip: 0.3, Sigma: 40}} {
		whole, half := dpmech.Spend{First: 1, Rounds: 50, Gaussian: dpmech.Gaussian{Clip: g.Clip, Sigma: g.Sigma}}, dpmech.Spend{First: 1, Rounds: 50, Gaussian: dpmech.Gaussian{Clip: g.Clip / 2, Sigma: g.Sigma}}
		c := CostOf(whole.Total(), 1e-5)
		if want := CostOf(half.Total(), 1e-5).EpsilonGDP; math.Abs(c.EpsilonZeroOut/want-1) > 1e-9 {
			t.Errorf("%v: zero-out epsilon is %v, want %v", g, c.EpsilonZeroOut, want)
		}
		if !(c.EpsilonZeroOut < c.EpsilonGDP) {
			t.Errorf("%v: zero-out epsilon is %v, want less than %v", g, c.EpsilonZeroOut, c.EpsilonGDP)
		}
	}
}
