package method

import (
	"context"
	"errors"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// DPFedAvg is DP-FedAvg by McMahan, Ramage, Talwar and Zhang, "Learning differentially private recurrent language
// models", ICLR 2018, Algorithm 1 with flat clipping. A server sends the model theta to all clients. Each client
// computes
//
//	phi <- theta;  tau times:  phi <- phi - eta g_i(phi);  phi <- theta + clip_R(phi - theta)
//
// and returns phi - theta. The server adds the mean of these differences to theta. g_i is the mean of as many two-point
// estimates over a mini-batch as the budget allows. All clients take part in every round with the same weight: the
// objective is the mean of the clients' own objectives, and there is no amplification by sampling of clients.
//
// Where the noise is added determines whom a client must trust:
//
//   - In the main form, the device adds noise before it sends the update, so a client need not trust anyone, as with
//     SPADE-DFL. There are K releases of sensitivity 2R for each client.
//   - With Central, the published form, a server adds noise once, to the mean, and every client trusts the server with
//     its update. There are K releases of sensitivity 2R/N.
type DPFedAvg struct {
	Central bool // a trusted server adds the noise
}

// Name returns "DP-FedAvg", or "DP-FedAvg (central)".
func (m DPFedAvg) Name() string {
	if m.Central {
		return "DP-FedAvg (central)"
	}
	return "DP-FedAvg"
}

// Space lists tau, the local step size eta, the smoothing radius mu and the clipping norm.
func (DPFedAvg) Space(w *World) []Param {
	return append([]Param{
		w.steps(),
		{Name: "eta", Low: 1e-2, High: 30, Log: true},
		{Name: "mu", Low: 1e-2, High: 1, Log: true},
	}, w.clips(3e-3, 3)...)
}

// Run implements [Method].
func (m DPFedAvg) Run(ctx context.Context, w *World, s Setting, each func(int, [][]float32) error) (Spent, error) {
	if err := errors.Join(w.check(false), s.check(m.Name(), m.Space(w))); err != nil {
		return Spent{}, err
	}
	n := len(w.Clients)
	tau, eta, mu := int(s["tau"]), float32(s["eta"]), float32(s["mu"])
	pairs, err := w.pairs(tau)
	if err != nil {
		return Spent{}, err
	}
	radius := s["clip"]
	if m.Central {
		radius /= float64(n)
	}
	rel, err := newRelease(w.Privacy, s["clip"], radius, w.Rounds)
	if err != nil {
		return Spent{}, err
	}
	e := newEstimator(ctx, w)
	theta := w.replicas(1)
	phi, g, update, mean := make([]float32, w.Dim), make([]float32, w.Dim), make([]float32, w.Dim), make([]float32, w.Dim)
	var spent Spent
	for k := range w.Rounds {
		clear(mean)
		for i := range n {
			clear(update)
			for t := range tau {
				copy(phi, theta[0])
				vec.Axpy(phi, 1, update)
				if err := e.gradient(g, phi, mu, pairs[i], i, k, t); err != nil {
					return spent, err
				}
				vec.Axpy(update, -eta, g)
				rel.bound(update)
			}
			if !m.Central {
				rel.blur(update, w.Seed, i, k, 0)
			}
			vec.Axpy(mean, float32(1/float64(n)), update)
		}
		if m.Central {
			rel.blur(mean, w.Seed, 0, k, 0)
		}
		vec.Axpy(theta[0], 1, mean)
		spent.Queries = e.queries
		spent.Scalars += 2 * int64(n) * int64(w.Dim) // the model to every client, and its update back
		if err := each(k+1, theta); err != nil {
			return spent, err
		}
	}
	return spent, nil
}
