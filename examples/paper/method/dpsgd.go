package method

import (
	"context"
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// DPSGD is DP-SGD by Abadi et al., "Deep learning with differential privacy", CCS 2016, on the pooled data of all
// clients. With one model, it makes tau steps per round:
//
//	g_h = estimate of grad f_h(x), clipped to length R
//	x  <- x - eta ( 1/b sum_{h in B} g_h + N(0, sigma^2 I) )
//
// The lot B is as large as the budget allows. Each g_h is the mean of two-point estimates along dirs directions. A
// single estimate is sqrt(d) times longer than the gradient, and clipping would leave little of it, so a smaller lot of
// better estimates may work better. The lot holds the same share of each client's samples, drawn without replacement
// (if the budget exceeds the number of samples, each sample is drawn equally often and some once more), so that a
// client's part in the lot is constant. The method claims no amplification by sampling, because neighboring inputs
// replace a client, not a sample.
//
// In the comparison, neighboring inputs differ in all samples of one client. With pooled data, this has two readings:
//
//   - In the main form, all N clients trust a curator with the raw data. The b_i samples of a client in the lot move
//     the mean by at most 2R b_i/b. Among the other methods, only central DP-FedAvg requires such trust. The noise is N
//     times smaller than the noise of a client that trusts no one.
//   - With OneClient, the paper's N = 1, the whole pool belongs to one client. Replacing the pool moves the mean by at
//     most 2R.
//
// At record-level privacy, every step uses each record exactly once (no sampling), and one record moves the mean by at
// most 2R/b.
//
// With Local, no one is trusted: each client adds noise to its own part of every sum, as in noisy distributed SGD with
// a guarantee for each silo's records (Lowy and Razaviyayn, "Private federated learning without a trusted server", ICLR
// 2023). This form is named DP-FedSGD. The noise of the sum is then sqrt(N) times the curator's noise.
//
// Without Local, Spent counts no numbers as sent, because the curator would receive the data itself.
type DPSGD struct {
	OneClient bool // neighboring inputs replace the whole pool
	Local     bool // each client adds the noise
	Exact     bool // gradients instead of estimates from losses
}

// Name returns "DP-SGD" or "DP-FedSGD", followed by the selected options.
func (m DPSGD) Name() string {
	name := "DP-SGD"
	if m.Local {
		name = "DP-FedSGD"
	}
	if m.OneClient {
		name += " (one client)"
	}
	if m.Exact {
		name += " (exact gradients)"
	}
	return name
}

// Space lists tau, the step size eta, the smoothing radius mu, the clipping norm and dirs. A client that cannot afford
// dirs directions uses as many as it can.
func (m DPSGD) Space(w *World) []Param {
	space := append([]Param{w.steps(), {Name: "eta", Low: 1e-2, High: 30, Log: true}}, w.clips(1e-3, 1)...)
	if m.Exact {
		return space
	}
	return append(append(space, Param{Name: "mu", Low: 1e-2, High: 1, Log: true}), w.dirs()...)
}

// Run implements [Method].
func (m DPSGD) Run(ctx context.Context, w *World, s Setting, each func(int, [][]float32) error) (Spent, error) {
	if err := errors.Join(w.checkEither(false), m.check(w), s.check(m.Name(), m.Space(w))); err != nil {
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
		if shares[i], dirs[i], err = w.samples(i, n, s.dirs()); err != nil {
			return Spent{}, err
		}
		lot += shares[i]
		largest = max(largest, shares[i])
	}
	radius := s["clip"]
	switch {
	case w.records():
		radius /= float64(lot)
	case !m.OneClient:
		radius = radius * float64(largest) / float64(lot)
	}
	rel, err := newRelease(w.Privacy, s["clip"], radius, w.Rounds*tau)
	if err != nil {
		return Spent{}, err
	}
	e := newEstimator(ctx, w)
	e.exact = m.Exact
	x, g := w.replicas(1), make([]float32, w.Dim)
	var spent Spent
	for k := range w.Rounds {
		for t := range tau {
			clear(g)
			for i, n := range shares {
				if err := e.add(g, x[0], mu, n, dirs[i], lot, rel, i, k, t); err != nil {
					return spent, err
				}
				if m.Local {
					rel.blur(g, w.Seed, i, k, t)
					spent.Scalars += 2 * int64(w.Dim) // the model to the client, and its part back
				}
			}
			if !m.Local {
				rel.blur(g, w.Seed, 0, k, t)
			}
			vec.Axpy(x[0], -eta, g)
		}
		spent.Queries = e.queries
		if err := each(k+1, x); err != nil {
			return spent, err
		}
	}
	return spent, nil
}

func (m DPSGD) check(w *World) error {
	if m.OneClient && (m.Local || w.records()) {
		return errors.New("method: DP-SGD: OneClient cannot be combined with Local or record-level privacy")
	}
	if m.Exact {
		for i, c := range w.Clients {
			if c.Gradient == nil {
				return fmt.Errorf("method: Clients[%d].Gradient is nil, but %s needs it", i, m.Name())
			}
		}
		if w.Queries != 0 {
			return fmt.Errorf("method: Queries is %v, want 0: %s queries no losses", w.Queries, m.Name())
		}
	}
	return nil
}
