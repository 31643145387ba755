package method

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// The references below restate each method's equations in float64, with dense matrices and plain loops. From the
// package, they use only the addresses of its random streams (purpose, client, round and step), so that a method and
// its reference draw the same random numbers.

// referenceADMM computes LT-ADMM as published, with separate beta and rho.
func referenceADMM(t *testing.T, w tinyWorld, s Setting, gradient func(phi vector, i, k, t int) vector) [][]vector {
	tau, gamma := int(s["tau"]), s["gamma"]
	const rho = 0.7
	beta := s["gain"] * 8 / 3 / (rho * float64(tau) * w.Graph.LambdaMax())
	sigma := w.sigma(t, s["clip"], w.Rounds*tau)
	x := w.starts()
	z := map[[2]int]vector{}
	for i := range x {
		for _, j := range w.Graph.Neighbors(i) {
			z[[2]int{i, j}] = make(vector, w.Dim).plus(rho, x[i])
		}
	}
	var all [][]vector
	for k := range w.Rounds {
		next := make([]vector, len(x))
		for i := range x {
			p := make(vector, w.Dim)
			for _, j := range w.Graph.Neighbors(i) {
				p = p.plus(rho, x[i]).plus(-1, z[[2]int{i, j}])
			}
			phi := x[i]
			for step := range tau {
				g := w.protect(gradient(phi, i, k, step), s["clip"], sigma, i, k, step)
				phi = phi.plus(-gamma, g).plus(-beta, p)
			}
			next[i] = phi
		}
		old := z
		z = map[[2]int]vector{}
		for edge, zij := range old {
			i, j := edge[0], edge[1]
			message := old[[2]int{j, i}].plus(-2*rho, next[j])
			z[edge] = make(vector, w.Dim).plus(0.5, zij).plus(-0.5, message)
		}
		x = next
		all = append(all, x)
	}
	return all
}

func referenceDP(t *testing.T, w tinyWorld, s Setting, perSample bool) [][]vector {
	return referenceADMM(t, w, s, func(phi vector, i, k, step int) vector {
		n := w.budget(i) / (2 * int(s["tau"]))
		if !perSample {
			return w.stochastic(n, i, k, step, phi, s["mu"])
		}
		dirs := min(int(s["dirs"]), n)
		g, next := make(vector, w.Dim), w.directions(rng.Step, i, k, step)
		for _, h := range w.samples(n/dirs, i, k, step) {
			g = g.plus(1/float64(n/dirs), w.several(i, h, phi, next, dirs, s["mu"]).clipped(s["clip"]))
		}
		return g
	})
}

func referenceVR(t *testing.T, w tinyWorld, s Setting) [][]vector {
	type memory struct{ r, gradient vector }
	memories := make([][]memory, len(w.Clients))
	tau, price := int(s["tau"]), 2
	if s["paired"] == 1 {
		price = 4
	}
	return referenceADMM(t, w, s, func(phi vector, i, k, step int) vector {
		m := w.Clients[i].Samples
		fills := k == 0 || s["reset"] == 1
		if fills && step == 0 {
			memories[i] = nil
			next := w.directions(rng.Table, i, k, 0)
			for h := range m {
				memories[i] = append(memories[i], memory{phi, w.twoPoint(i, h, phi, next(), s["mu"])})
			}
		}
		mean := make(vector, w.Dim)
		for _, one := range memories[i] {
			mean = mean.plus(1/float64(m), one.gradient)
		}
		if fills && step == 0 {
			return mean
		}
		b := min(m, w.budget(i)/(tau*price))
		if fills {
			b = min(m, (w.budget(i)-2*m)/((tau-1)*price))
		}
		g, next := mean, w.directions(rng.Step, i, k, step)
		for _, h := range w.samples(b, i, k, step) {
			u := next()
			fresh := w.twoPoint(i, h, phi, u, s["mu"])
			stale := memories[i][h].gradient
			if s["paired"] == 1 {
				stale = w.twoPoint(i, h, memories[i][h].r, u, s["mu"])
			}
			g = g.plus(1/float64(b), fresh).plus(-1/float64(b), stale)
			memories[i][h] = memory{phi, fresh}
		}
		return g
	})
}

func referenceSGD(t *testing.T, w tinyWorld, s Setting, oneClient bool) [][]vector {
	tau := int(s["tau"])
	share, dirs := make([]int, len(w.Clients)), make([]int, len(w.Clients))
	lot, largest := 0, 0
	for i := range share {
		n := w.budget(i) / (2 * tau)
		dirs[i] = max(1, min(int(s["dirs"]), n))
		share[i] = n / dirs[i]
		lot, largest = lot+share[i], max(largest, share[i])
	}
	radius := s["clip"]
	if !oneClient {
		radius *= float64(largest) / float64(lot)
	}
	sigma := w.sigma(t, radius, w.Rounds*tau)
	x := w.start()
	var all [][]vector
	for k := range w.Rounds {
		for step := range tau {
			sum := make(vector, w.Dim)
			for i := range w.Clients {
				next := w.directions(rng.Step, i, k, step)
				for _, h := range w.samples(share[i], i, k, step) {
					g := w.several(i, h, x, next, dirs[i], s["mu"])
					if w.Privacy != nil {
						g = g.clipped(s["clip"])
					}
					sum = sum.plus(1, g)
				}
			}
			x = x.plus(-s["eta"]/float64(lot), sum).plus(-s["eta"], w.noise(0, k, step, sigma))
		}
		all = append(all, []vector{x})
	}
	return all
}

func referenceFedAvg(t *testing.T, w tinyWorld, s Setting, central bool) [][]vector {
	n, tau := float64(len(w.Clients)), int(s["tau"])
	sigma := w.sigma(t, s["clip"], w.Rounds)
	if central {
		sigma = w.sigma(t, s["clip"]/n, w.Rounds)
	}
	theta := w.start()
	var all [][]vector
	for k := range w.Rounds {
		sum := make(vector, w.Dim)
		for i := range w.Clients {
			phi := theta
			for step := range tau {
				phi = phi.plus(-s["eta"], w.stochastic(w.budget(i)/(2*tau), i, k, step, phi, s["mu"]))
				if w.Privacy != nil {
					phi = theta.plus(1, phi.plus(-1, theta).clipped(s["clip"]))
				}
			}
			sum = sum.plus(1, phi).plus(-1, theta)
			if !central {
				sum = sum.plus(1, w.noise(i, k, 0, sigma))
			}
		}
		theta = theta.plus(1/n, sum)
		if central {
			theta = theta.plus(1, w.noise(0, k, 0, sigma))
		}
		all = append(all, []vector{theta})
	}
	return all
}

func referenceOnePoint(t *testing.T, w tinyWorld, s Setting, track bool) [][]vector {
	n := len(w.Clients)
	weights := make([][]float64, n)
	for i := range weights {
		weights[i] = make([]float64, n)
		weights[i][i] = 1
		for _, j := range w.Graph.Neighbors(i) {
			weights[i][j] = 1 / (1 + math.Max(float64(len(w.Graph.Neighbors(i))), float64(len(w.Graph.Neighbors(j)))))
			weights[i][i] -= weights[i][j]
		}
	}
	mix := func(v []vector) []vector {
		out := make([]vector, n)
		for i := range out {
			out[i] = make(vector, w.Dim)
			for j := range v {
				out[i] = out[i].plus(weights[i][j], v[j])
			}
		}
		return out
	}
	sigma := w.sigma(t, s["clip"], w.Rounds)
	estimates := func(x []vector, k int) []vector {
		gamma := s["gamma"] * math.Pow(float64(k+1), -s["gamma_decay"])
		g := make([]vector, n)
		for i := range g {
			g[i] = make(vector, w.Dim)
			next := w.directions(rng.Step, i, k, 0)
			for _, h := range w.samples(w.budget(i), i, k, 0) {
				u := next()
				g[i] = g[i].plus(w.loss(i, h, x[i].plus(gamma, u))/float64(w.budget(i)), u)
			}
			g[i] = w.protect(g[i], s["clip"], sigma, i, k, 0)
		}
		return g
	}
	x := w.starts()
	g := estimates(x, 0)
	y := g
	var all [][]vector
	for k := range w.Rounds {
		alpha := s["alpha"] * math.Pow(float64(k+1), -s["alpha_decay"])
		down := make([]vector, n)
		for i := range down {
			if track {
				down[i] = x[i].plus(-alpha, y[i])
			} else {
				down[i] = x[i].plus(-alpha, g[i])
			}
		}
		x = mix(down)
		all = append(all, x)
		next := estimates(x, k+1)
		y = mix(y)
		for i := range y {
			y[i] = y[i].plus(1, next[i]).plus(-1, g[i])
		}
		g = next
	}
	return all
}

type trial struct {
	method    Method
	setting   Setting
	reference func(t *testing.T, w tinyWorld, s Setting) [][]vector
}

func trials() []trial {
	admm := Setting{"tau": 3, "gamma": 0.7, "gain": 0.6, "mu": 0.25, "clip": 0.15}
	vr := func(reset, paired float64) trial {
		s := Setting{"reset": reset, "paired": paired}
		for name, v := range admm {
			s[name] = v
		}
		return trial{LTADMMVR{}, s, referenceVR}
	}
	perSample := Setting{"tau": 2, "dirs": 4, "gamma": 0.7, "gain": 0.6, "mu": 0.25, "clip": 0.3}
	sgd := Setting{"tau": 2, "dirs": 3, "eta": 0.8, "mu": 0.25, "clip": 0.3}
	wide := Setting{"tau": 1, "dirs": 1, "eta": 0.8, "mu": 0.25, "clip": 0.3}
	fed := Setting{"tau": 3, "eta": 0.9, "mu": 0.25, "clip": 0.2}
	one := Setting{"alpha": 0.8, "alpha_decay": 0.75, "gamma": 0.5, "gamma_decay": 0.25, "clip": 0.2}
	return []trial{
		vr(0, 0), vr(0, 1), vr(1, 0), vr(1, 1),
		{LTADMMDP{}, admm, func(t *testing.T, w tinyWorld, s Setting) [][]vector { return referenceDP(t, w, s, false) }},
		{LTADMMDP{PerSample: true}, perSample,
			func(t *testing.T, w tinyWorld, s Setting) [][]vector { return referenceDP(t, w, s, w.Privacy != nil) }},
		{DPSGD{}, sgd, func(t *testing.T, w tinyWorld, s Setting) [][]vector { return referenceSGD(t, w, s, false) }},
		{DPSGD{}, wide, func(t *testing.T, w tinyWorld, s Setting) [][]vector { return referenceSGD(t, w, s, false) }},
		{DPSGD{OneClient: true}, sgd,
			func(t *testing.T, w tinyWorld, s Setting) [][]vector { return referenceSGD(t, w, s, true) }},
		{DPFedAvg{}, fed, func(t *testing.T, w tinyWorld, s Setting) [][]vector { return referenceFedAvg(t, w, s, false) }},
		{DPFedAvg{Central: true}, fed,
			func(t *testing.T, w tinyWorld, s Setting) [][]vector { return referenceFedAvg(t, w, s, true) }},
		{OnePointDSG{}, one,
			func(t *testing.T, w tinyWorld, s Setting) [][]vector { return referenceOnePoint(t, w, s, false) }},
		{OnePointDSGT{}, one,
			func(t *testing.T, w tinyWorld, s Setting) [][]vector { return referenceOnePoint(t, w, s, true) }},
	}
}

// forWorld returns a copy of s. If w has no privacy, the copy omits "clip" and "dirs", because no method has these
// settings without privacy.
func (s Setting) forWorld(w *World) Setting {
	out := Setting{}
	for name, v := range s {
		if name != "clip" && name != "dirs" || w.Privacy != nil {
			out[name] = v
		}
	}
	return out
}

// TestReference checks that every method follows its equations, round by round. The tolerance covers float32 rounding
// over four rounds. The errors that the test should detect, such as a factor, a sign, a stale value or wrong noise, are
// thousands of times larger.
func TestReference(t *testing.T) {
	for _, private := range []bool{false, true} {
		for _, c := range trials() {
			t.Run(fmt.Sprintf("%s/private=%v/%v", c.method.Name(), private, c.setting), func(t *testing.T) {
				w := tiny(t)
				if private {
					w.Privacy = &Privacy{Epsilon: 40, Delta: 1e-3}
				}
				s := c.setting.forWorld(w.World)
				want := c.reference(t, w, s)
				rounds, far := 0, 0.0
				_, err := c.method.Run(context.Background(), w.World, s, func(round int, models [][]float32) error {
					rounds++
					if round != rounds {
						t.Fatalf("round %d is reported as %d", rounds, round)
					}
					if len(models) != len(want[round-1]) {
						t.Fatalf("%d models, want %d", len(models), len(want[round-1]))
					}
					for i, x := range models {
						for c := range x {
							far = max(far, math.Abs(float64(x[c])-float64(w.X0[c])))
							if d := math.Abs(float64(x[c]) - want[round-1][i][c]); !(d <= 2e-5) {
								t.Errorf("round %d, model %d, coordinate %d: %v, want %v", round, i, c, x[c], want[round-1][i][c])
							}
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if rounds != w.Rounds {
					t.Errorf("%d rounds, want %d", rounds, w.Rounds)
				}
				if far < 0.05 {
					t.Errorf("no model moved by more than %v: nothing is tested", far)
				}
			})
		}
	}
}
