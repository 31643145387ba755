package method

import (
	"context"
	"errors"
)

// LTADMMDP is LT-ADMM-DP by Ren, Ma, Bastianello, Johansson, Parisini and Malikopoulos, "Communication-efficient
// distributed learning with differential privacy", arXiv 2604.02558, 2026. It is LT-ADMM (see the equations at type
// ltadmm) with
//
//	g_i(phi^t) = clip_C(stochastic gradient of f_i at phi^t) + N(0, sigma^2 I),   clip_C(v) = v min(1, C/|v|)
//
// in every local step, and with one exchange per round. As published, this makes K*tau releases. The stochastic
// gradient is the mean of as many two-point estimates over a mini-batch as the budget allows. The free parameters are
// the same as the authors': tau, the step size gamma, the gain (which fixes beta and rho; see type ltadmm) and the
// clipping norm C.
//
// Only the abstract and summaries of the text were available. According to these, the authors measure privacy between
// mini-batches that differ in one sample, with sensitivity 2C/|B|, which suggests that each sample's gradient is
// clipped. Here a client's whole data set is replaced, so the sensitivity is 2C whether each sample's gradient or their
// mean is clipped. Clipping the mean keeps far more of the signal, because one sample's two-point estimate is sqrt(d)
// times longer than the gradient that it estimates. The main column therefore clips the mean. PerSample selects
// clipping of each sample's estimate, with a searched number of directions per estimate, as in [DPSGD].
//
// At record-level privacy, the method requires PerSample: every step uses all records of the client and has sensitivity
// 2C/m_i.
//
// Without privacy, there is neither clipping nor noise, and the method is LT-ADMM with plain stochastic gradients.
type LTADMMDP struct {
	PerSample bool // clip the estimate of every sample, instead of their mean
}

// Name returns "LT-ADMM-DP", or "LT-ADMM-DP (clip per sample)".
func (m LTADMMDP) Name() string {
	if m.PerSample {
		return "LT-ADMM-DP (clip per sample)"
	}
	return "LT-ADMM-DP"
}

// Space lists tau, gamma, the gain, the smoothing radius mu, the clipping norm and, with PerSample, dirs.
func (m LTADMMDP) Space(w *World) []Param {
	space := ltadmmSpace(w, w.affordable(20, 2))
	if m.PerSample {
		space = append(space, w.dirs()...)
	}
	return space
}

func ltadmmSpace(w *World, mostSteps float64) []Param {
	return append([]Param{
		{Name: "tau", Low: 1, High: mostSteps, Log: true, Whole: true},
		{Name: "gamma", Low: 1e-3, High: 10, Log: true},
		{Name: "gain", Low: 0.02, High: 0.98},
		{Name: "mu", Low: 1e-2, High: 1, Log: true},
	}, w.clips(1e-3, 1)...)
}

// Run implements [Method].
func (m LTADMMDP) Run(ctx context.Context, w *World, s Setting, each func(int, [][]float32) error) (Spent, error) {
	check := w.check
	if m.PerSample {
		check = w.checkEither
	}
	if err := errors.Join(check(true), s.check(m.Name(), m.Space(w))); err != nil {
		return Spent{}, err
	}
	tau, mu := int(s["tau"]), float32(s["mu"])
	pairs, err := w.pairs(tau)
	if err != nil {
		return Spent{}, err
	}
	sample := release{}
	if m.PerSample {
		sample.clip = s["clip"]
	}
	e := newEstimator(ctx, w)
	return runLTADMM(w, s, e, each, func(g, phi []float32, i, k, t int) error {
		clear(g)
		n, dirs, err := w.samples(i, pairs[i], s.dirs())
		if err != nil {
			return err
		}
		return e.add(g, phi, mu, n, dirs, n, sample, i, k, t)
	})
}

// runLTADMM runs LT-ADMM with a given function that computes the stochastic gradient of client i at phi in step t of
// round k.
func runLTADMM(w *World, s Setting, e *estimator, each func(int, [][]float32) error,
	gradient func(g, phi []float32, i, k, t int) error) (Spent, error) {
	tau, gamma := int(s["tau"]), float32(s["gamma"])
	rels := make([]release, len(w.Clients))
	for i, c := range w.Clients {
		clip, radius := s["clip"], s["clip"]
		if w.records() { // the estimate of each record is already clipped
			clip, radius = 0, radius/float64(c.Samples)
		}
		var err error
		if rels[i], err = newRelease(w.Privacy, clip, radius, w.Rounds*tau); err != nil {
			return Spent{}, err
		}
	}
	a := newLTADMM(w, tau, s["gain"])
	g, p := make([]float32, w.Dim), make([]float32, w.Dim)
	var spent Spent
	for k := range w.Rounds {
		for i := range w.Clients {
			a.penalty(p, i)
			phi := a.x[i] // may change: p already has the part of the round's x_i
			for t := range tau {
				if err := gradient(g, phi, i, k, t); err != nil {
					return spent, err
				}
				rels[i].bound(g)
				rels[i].blur(g, w.Seed, i, k, t)
				a.step(phi, gamma, g, p)
			}
		}
		spent.Queries = e.queries
		spent.Scalars += a.exchange()
		if err := each(k+1, a.x); err != nil {
			return spent, err
		}
	}
	return spent, nil
}
