package admm

import (
	"math"
	"os"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// study is the paper's comparison of communication and optimization: 20 clients on a cycle with 20 samples each,
// f_ih(x) = (s(a_ih.x) - y_ih)^2 with the logistic function s, d = 20. The function is bounded, smooth and not convex.
// Each client's labels come from its own weights, which lie around common weights.
type study struct {
	a [studyN][studyM][studyD]float64
	y [studyN][studyM]float64
}

const studyN, studyM, studyD = 20, 20, 20

func newStudy(seed uint64) *study {
	s := rng.New(seed, rng.Address{Purpose: rng.Split})
	p := new(study)
	var common, own [studyD]float64
	for c := range common {
		common[c] = s.Normal()
	}
	for i := range p.a {
		for c := range own {
			own[c] = common[c] + s.Normal()/2
		}
		for h := range p.a[i] {
			var z float64
			for c := range own {
				p.a[i][h][c] = s.Normal() / math.Sqrt(studyD)
				z += p.a[i][h][c] * own[c]
			}
			if z > 0 {
				p.y[i][h] = 1
			}
		}
	}
	return p
}

func sigmoid(z float64) float64 { return 1 / (1 + vec.Exp(-z)) }

func (p *study) loss(i int, x []float32, h int) float64 {
	var z float64
	for c, a := range p.a[i][h] {
		z += a * float64(x[c])
	}
	r := sigmoid(z) - p.y[i][h]
	return r * r
}

func (p *study) gradient(x []float64) (square float64) {
	var g [studyD]float64
	for i := range p.a {
		for h := range p.a[i] {
			var z float64
			for c, a := range p.a[i][h] {
				z += a * x[c]
			}
			s := sigmoid(z)
			w := 2 * (s - p.y[i][h]) * s * (1 - s) / (studyN * studyM)
			for c, a := range p.a[i][h] {
				g[c] += w * a
			}
		}
	}
	for _, v := range g {
		square += v * v
	}
	return square
}

// criterion runs the paper's non-private schedule, eq. (nonprivate-schedule). It returns S_K and how many numbers were
// sent. S_K is the mean of |grad F|^2 at the clients' mean iterate over all local steps, plus the mean of the
// disagreement C_k over rounds.
func (p *study) criterion(t *testing.T, steps, tau int, seed uint64) (s float64, sent int) {
	t.Helper()
	g, err := graph.Parse("ring", studyN, 1)
	if err != nil {
		t.Fatal(err)
	}
	const eta0, mu0, batch = 1, 1, 4
	eta, mu := eta0*math.Pow(float64(steps), -0.5), mu0*math.Pow(float64(steps), -1.0/6)
	rounds := steps / tau
	net := newNetwork(t, configs(studyN, g.Edges(), func(i int, c *Config) {
		c.Estimator.Dim, c.Estimator.Samples, c.Estimator.Batch, c.Estimator.Seed = studyD, studyM, batch, seed
		c.Rounds, c.Cooldown, c.Tau, c.Rho = rounds, 0, tau, 1
		c.Eta, c.Mu, c.Beta = Schedule{eta}, Schedule{mu}, g.Gain(0.75, 1)/(float64(tau)*eta*mu)
	}))
	// The test reads the iterates phi^t of a round from the first query of each local step, and computes their mean.
	mean := make([][]float64, tau)
	for t := range mean {
		mean[t] = make([]float64, studyD)
	}
	seen := make([]int, studyN)
	net.loss = func(i int, x []float32, h int) float64 {
		if m := net.machines[i]; m.stage > seen[i] {
			seen[i] = m.stage
			for c, v := range m.phi {
				mean[m.stage-1][c] += float64(v) / studyN
			}
		}
		return p.loss(i, x, h)
	}
	for range rounds {
		clear(seen)
		for t := range mean {
			clear(mean[t])
		}
		x := before(net)
		for c := range studyD {
			var bar float64
			for i := range x {
				bar += x[i][c] / studyN
			}
			for i := range x {
				s += (x[i][c] - bar) * (x[i][c] - bar) / studyN / float64(rounds)
			}
		}
		if err := net.round(); err != nil {
			t.Fatal(err)
		}
		for _, phi := range mean {
			s += p.gradient(phi) / float64(rounds*tau)
		}
		for _, msg := range net.sent {
			sent += len(msg.Vector)
		}
		net.sent = net.sent[:0]
	}
	return s, sent
}

// TestRateOfLocalSteps checks Corollary 1: with the paper's schedule S_K falls as the number T of local steps grows,
// both when clients communicate after every step and when they communicate only every tau = T^(1/3) steps and so send
// 1/tau of the numbers. The test uses the two smallest budgets of the paper's figure. The full figure, with four
// budgets and several seeds, takes minutes:
//
//	SPADE_FIGURES=1 go test -run TestRateOfLocalSteps -v -timeout 30m ./sdk/admm
//
// This command also logs the slope of log S_K over log T next to the bound's -1/3.
func TestRateOfLocalSteps(t *testing.T) {
	budgets, seeds := []int{1000, 3375}, 1
	figure := os.Getenv("SPADE_FIGURES") != ""
	if figure {
		budgets, seeds = []int{1000, 3375, 10648, 29791}, 10
	}
	for _, local := range []bool{false, true} {
		var logT, logS []float64
		for _, steps := range budgets {
			tau := 1
			if local {
				tau = int(math.Round(math.Cbrt(float64(steps))))
			}
			var sum, squares float64
			for seed := range seeds {
				s, sent := newStudy(uint64(seed)).criterion(t, steps, tau, uint64(seed))
				if want := 2 * studyN * studyD * steps / tau; sent != want {
					t.Errorf("T = %d, tau = %d: %d numbers sent, want 2|E|dK = %d", steps, tau, sent, want)
				}
				sum, squares = sum+s, squares+s*s
			}
			mean := sum / float64(seeds)
			logT, logS = append(logT, math.Log(float64(steps))), append(logS, math.Log(mean))
			if figure {
				saved := 100 * (1 - 1/float64(tau))
				t.Logf("T = %5d, tau = %2d: S_K = %.6f +- %.6f over %d seeds, %.1f %% fewer numbers sent", steps, tau, mean,
					math.Sqrt(max(0, squares/float64(seeds)-mean*mean)), seeds, saved)
			}
		}
		for i := 1; i < len(logS); i++ {
			if logS[i] >= logS[i-1] {
				t.Errorf("local steps %v: S_K rises from %.6f to %.6f", local, math.Exp(logS[i-1]), math.Exp(logS[i]))
			}
		}
		if figure {
			t.Logf("tau ~ T^(1/3) %v: slope %.3f, the bound's is -0.333", local, slope(logT, logS))
		}
	}
}

func slope(x, y []float64) float64 {
	var mx, my, xy, xx float64
	for i := range x {
		mx, my = mx+x[i]/float64(len(x)), my+y[i]/float64(len(x))
	}
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
	}
	return xy / xx
}
