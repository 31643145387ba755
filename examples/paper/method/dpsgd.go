package method

import (
	"context"
	"errors"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// DPSGD is DP-SGD, of Abadi et al., "Deep learning with differential privacy", CCS 2016, on the pooled data of all
// clients
//
//	g_h = estimate of grad f_h(x), clipped to length R
//	x  <- x - eta ( 1/b sum_{h in B} g_h + N(0, sigma^2 I) )
//
// one model, tau such steps a round, with as large a lot B as the budget allows. Each g_h is the mean of two-point
// estimates along dirs directions: one alone is sqrt(d) times longer than the gradient, and the clip would leave little
// of it, so that a smaller lot of better estimates may serve better. The lot holds the same share of each client's
// samples, drawn without replacement (all of them and then some again, if the budget goes that far), so that a client's
// part in it is a constant: no amplification by sampling is claimed, since what is replaced is a client, not a sample.
//
// The comparison's neighboring inputs differ in all samples of one client. Two readings of what that is with pooled
// data:
//
//   - A curator whom everybody trusts with the raw data, and N clients behind it: the samples b_i of a client in the
//     lot move the mean by at most 2R b_i/b. That is the main form. No other method of the comparison but central
//     DP-FedAvg asks for such trust, and its noise is N times smaller than what a client needs that trusts nobody.
//   - OneClient, the paper's N = 1: the pool is the one client, and all of it is replaced: 2R.
//
// Nothing is counted as sent: what would be is the data themselves.
type DPSGD struct {
	OneClient bool // the whole pool is what is replaced
}

// Name returns "DP-SGD", or "DP-SGD (one client)".
func (m DPSGD) Name() string {
	if m.OneClient {
		return "DP-SGD (one client)"
	}
	return "DP-SGD"
}

// Space lists tau, the steps a round, the step size eta, the smoothing radius mu, the clip and dirs. A client that
// cannot pay for so many directions takes what it can.
func (DPSGD) Space(w *World) []Param {
	return append(append([]Param{
		w.steps(),
		{Name: "eta", Low: 1e-2, High: 30, Log: true},
		{Name: "mu", Low: 1e-2, High: 1, Log: true},
	}, w.clips(1e-3, 1)...), w.dirs()...)
}

// Run implements [Method].
func (m DPSGD) Run(ctx context.Context, w *World, s Setting, each func(int, [][]float32) error) (Spent, error) {
	if err := errors.Join(w.check(false), s.check(m.Name(), m.Space(w))); err != nil {
		return Spent{}, err
	}
	tau, eta, mu := int(s["tau"]), float32(s["eta"]), float32(s["mu"])
	pairs, err := w.pairs(tau)
	if err != nil {
		return Spent{}, err
	}
	lot, largest := 0, 0
	dirs, shares := make([]int, len(pairs)), make([]int, len(pairs))
	for i, n := range pairs {
		shares[i], dirs[i] = w.samples(n, s.dirs())
		lot += shares[i]
		largest = max(largest, shares[i])
	}
	radius := s["clip"]
	if !m.OneClient {
		radius = radius * float64(largest) / float64(lot)
	}
	rel, err := newRelease(w.Privacy, s["clip"], radius, w.Rounds*tau)
	if err != nil {
		return Spent{}, err
	}
	e := newEstimator(ctx, w)
	x, g := w.replicas(1), make([]float32, w.Dim)
	for k := range w.Rounds {
		for t := range tau {
			clear(g)
			for i, n := range shares {
				if err := e.add(g, x[0], mu, n, dirs[i], lot, rel, i, k, t); err != nil {
					return Spent{Queries: e.queries}, err
				}
			}
			rel.blur(g, w.Seed, 0, k, t)
			vec.Axpy(x[0], -eta, g)
		}
		if err := each(k+1, x); err != nil {
			return Spent{Queries: e.queries}, err
		}
	}
	return Spent{Queries: e.queries}, nil
}
