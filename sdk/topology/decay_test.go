package topology

import (
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// covariance is the covariance of one mode of the Laplacian under the noise, in units of the noise's variance, for the
// state (x, a*dual, flow). It is computed from eq. (modal-dynamics) of the paper, without random numbers.
type covariance [3][3]float64

// transition is the matrix by which a round multiplies the state. With g = a*rho*lambda, a round of learning has
// [[1-g, -1], [g/2, 1]] for x and a*dual.
type transition [3][3]float64

// round returns the covariance after a round that adds noise of the given variance to the model.
func (s covariance) round(by transition, noise float64) (to covariance) {
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				for l := range 3 {
					to[i][j] += by[i][k] * s[k][l] * by[j][l]
				}
			}
		}
	}
	to[0][0] += noise
	return to
}

// decayOfModes returns what DecayOf should measure: steps has Decay.Step and then the numbers of Decay.Mix, and left is
// Decay.Left. decayOfModes adds up the modes exactly instead of drawing noise.
func decayOfModes(lambdas []float64, a, rho float64, cheb graph.Chebyshev, s Schedule) (steps, left []float64) {
	modes, logs := make([]covariance, len(lambdas)), make([]float64, 1+s.Mixing)
	learning, last := s.Rounds*(1+s.Mixing), 0.0
	for release := range learning + s.Cooldown + 1 {
		j, noise := release%(1+s.Mixing), 0.0
		if release >= learning {
			j = 1
		} else if j == 0 {
			noise = 1
		}
		step, sum := noise, 0.0 // the mean of all nodes has only the noise
		for i, m := range modes {
			g, own := a*rho*lambdas[i], noise*(1+s.Shared*s.Shared*lambdas[i])
			by := transition{{1 - g, -1, 0}, {g / 2, 1, 0}, {0, 0, 0}}
			if j > 0 {
				carry, weight := cheb.Mixing(j-1, s.Mixing)
				if release >= learning {
					carry, weight = cheb.Cooldown(release - learning)
				}
				w := weight * lambdas[i]
				by = transition{{1 - w, 0, carry}, {0, 1, 0}, {-w, 0, carry}}
			}
			moved := by
			moved[0][0]--
			step += m.round(moved, own)[0][0]
			modes[i] = m.round(by, own)
			sum += m[0][0]
		}
		if release == (s.Rounds-1)*(1+s.Mixing)+1 {
			last = math.Sqrt(sum) // after the last noise
		}
		if release >= learning {
			left = append(left, math.Sqrt(sum)/last)
		} else {
			logs[j] += math.Log(step/float64(len(modes)+1)) / 2
		}
	}
	for _, l := range logs {
		steps = append(steps, math.Exp(l/float64(s.Rounds)))
	}
	return steps, left
}

// TestDecayAgainstModes compares DecayOf, with pairwise noise, mixing and a cool-down, with the exact sum over all modes
// of graphs with known eigenvalues. With ten nodes, only 200 random numbers determine the slowest mode, so the
// simulation is accurate to 5 %.
func TestDecayAgainstModes(t *testing.T) {
	eigenvalues := map[string][]float64{
		"complete": {10, 10, 10, 10, 10, 10, 10, 10, 10}, "star": {1, 1, 1, 1, 1, 1, 1, 1, 10},
	}
	for k := 1; k < 10; k++ {
		eigenvalues["ring"] = append(eigenvalues["ring"], 2-2*math.Cos(2*math.Pi*float64(k)/10))
		eigenvalues["path"] = append(eigenvalues["path"], 2-2*math.Cos(math.Pi*float64(k)/10))
	}
	plain := Schedule{Rounds: 60, Cooldown: 100}
	check := func(spec string, gain float64, s Schedule, share, stepOff, leftOff float64) {
		g := mustParse(t, spec, 10, 1)
		const rho = 2
		a := g.Gain(gain, rho)
		steps, left := decayOfModes(eigenvalues[spec], a, rho, g.Chebyshev(), s)
		got := DecayOf(g, a, rho, s, share, 1)
		for j, step := range append([]float64{got.Step}, got.Mix...) {
			if math.Abs(step/steps[j]-1) > stepOff {
				t.Errorf("%s at %v: release %d of a round has a step of %.4f, want %.4f", spec, gain, j+1, step, steps[j])
			}
		}
		above := 0
		for c, want := range left {
			if math.Abs(got.Left[c]-want) > leftOff*want+1e-9 {
				t.Errorf("%s at %v: %.4f left after %d rounds, want %.4f", spec, gain, got.Left[c], c, want)
				break
			}
			if want >= share {
				above = c
			}
		}
		off := got.Needed - (above + 1)
		if above > s.Cooldown/2 || max(off, -off) > 1+above/10 || len(got.Mix) != s.Mixing || got.Left[got.Needed] >= share {
			t.Errorf("%s at %v: %d rounds needed, want %d", spec, gain, got.Needed, above+1)
		}
	}
	for spec := range eigenvalues {
		for _, gain := range []float64{0.3, 0.75, 0.9} {
			check(spec, gain, plain, 0.1, 0.02, 0.1)
		}
	}
	check("ring", 0.75, Schedule{Rounds: 60, Mixing: 4, Cooldown: 60, Shared: 2}, 0.05, 0.05, 0.12)
}
