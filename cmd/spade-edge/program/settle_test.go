package program

import (
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// covariance is that of one mode of the Laplacian under the noise, in units of the noise's variance, for the state (x,
// a*dual): eq. (modal-dynamics) of the paper, computed without random numbers. With g = a*rho*lambda the matrix is
// [[1-g, -1], [g/2, 1]].
type covariance struct{ xx, xy, yy float64 }

func (s covariance) round(g, noise float64) covariance {
	a, b, c, d := 1-g, -1.0, g/2, 1.0
	return covariance{
		a*a*s.xx + 2*a*b*s.xy + b*b*s.yy + noise,
		a*c*s.xx + (a*d+b*c)*s.xy + b*d*s.yy,
		c*c*s.xx + 2*c*d*s.xy + d*d*s.yy,
	}
}

// The predicted effect of noise on a network, and of a cool-down, matches the sum over all modes of graphs with known
// eigenvalues. The slowest mode of ten nodes has 200 numbers, so it is known to 5 %.
func TestDecayAgainstModes(t *testing.T) {
	t.Parallel()
	arithmetic(t)
	eigenvalues := map[string][]float64{
		"complete": {10, 10, 10, 10, 10, 10, 10, 10, 10}, "star": {1, 1, 1, 1, 1, 1, 1, 1, 10},
	}
	for k := 1; k < 10; k++ {
		eigenvalues["ring"] = append(eigenvalues["ring"], 2-2*math.Cos(2*math.Pi*float64(k)/10))
		eigenvalues["path"] = append(eigenvalues["path"], 2-2*math.Cos(math.Pi*float64(k)/10))
	}
	for spec, lambdas := range eigenvalues {
		g, err := graph.Parse(spec, 10, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, gain := range []float64{0.3, 0.75, 0.9} {
			const rho, rounds, cooldown, share = 2, 60, 900, 0.1
			a := g.Gain(gain, rho)
			modes := make([]covariance, len(lambdas))
			var logs float64
			var left []float64
			for k := range rounds + cooldown + 1 {
				if k >= rounds {
					var sum float64
					for _, s := range modes {
						sum += s.xx
					}
					left = append(left, math.Sqrt(sum))
				}
				step, noise := 1.0, 0.0 // the mean of all nodes has only the noise
				if k < rounds {
					noise = 1
				}
				for i, s := range modes {
					g := a * rho * lambdas[i]
					step += g*g*s.xx + 2*g*s.xy + s.yy + 1
					modes[i] = s.round(g, noise)
				}
				if k < rounds {
					logs += math.Log(step/10) / 2
				}
			}
			got := g.Decay(a, rho, graph.Schedule{Rounds: rounds, Cooldown: cooldown}, share, 1)
			if want := math.Exp(logs / rounds); math.Abs(got.Step/want-1) > 0.02 {
				t.Errorf("%s at %v: a step of %.4f, want %.4f", spec, gain, got.Step, want)
			}
			above := 0
			for c := range left {
				want := left[c] / left[0]
				if math.Abs(got.Left[c]-want) > 0.1*want+1e-9 {
					t.Errorf("%s at %v: %.4f left after %d rounds, want %.4f", spec, gain, got.Left[c], c, want)
					break
				}
				if want >= share {
					above = c
				}
			}
			if off := got.Needed - (above + 1); above > cooldown/2 || max(off, -off) > 1+above/10 {
				t.Errorf("%s at %v: %d rounds needed, want %d", spec, gain, got.Needed, above+1)
			}
		}
	}
}

// The same with mixing rounds and pairwise noise, whose part in a mode grows with the mode's eigenvalue.
func TestSettleWithMixing(t *testing.T) {
	t.Parallel()
	arithmetic(t)
	const nodes, rho, rounds, mixing, cooldown, shared = 10, 2.0, 60, 4, 30, 2.0
	g, err := graph.Parse("ring", nodes, 1)
	if err != nil {
		t.Fatal(err)
	}
	a := g.Gain(0.75, rho)
	modes := make([]covariance, nodes-1)
	var logs [1 + mixing]float64
	var last float64
	var left []float64
	for release := range rounds*(1+mixing) + cooldown + 1 {
		learning, noise := release < rounds*(1+mixing), 0.0
		if learning && release%(1+mixing) == 0 {
			noise = 1
		}
		step, sum := noise, 0.0 // the mean of all nodes has only the noise
		for i, s := range modes {
			lambda := 2 - 2*math.Cos(2*math.Pi*float64(i+1)/nodes)
			g := a * rho * lambda
			own := noise * (1 + shared*shared*lambda)
			step += g*g*s.xx + 2*g*s.xy + s.yy + own
			modes[i] = s.round(g, own)
			sum += s.xx
		}
		switch {
		case learning:
			logs[release%(1+mixing)] += math.Log(step/nodes) / 2
		default:
			left = append(left, math.Sqrt(sum))
		}
		if release == (rounds-1)*(1+mixing)+1 {
			last = math.Sqrt(sum) // after the last noise
		}
	}
	got := g.Decay(a, rho, graph.Schedule{Rounds: rounds, Mixing: mixing, Cooldown: cooldown, Shared: shared}, 0.05, 1)
	for j, step := range append([]float64{got.Step}, got.Mix...) {
		if want := math.Exp(logs[j] / rounds); math.Abs(step/want-1) > 0.05 {
			t.Errorf("release %d of a round: a step of %.4f, want %.4f", j+1, step, want)
		}
	}
	for c := range left {
		if want := left[c] / last; math.Abs(got.Left[c]-want) > 0.12*want+1e-9 {
			t.Errorf("%.4f left after %d rounds, want %.4f", got.Left[c], c, want)
			break
		}
	}
	if len(got.Mix) != mixing || got.Needed < 0 || got.Left[got.Needed] >= 0.05 {
		t.Errorf("%+v", got)
	}
}
