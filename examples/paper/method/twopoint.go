package method

import (
	"context"
	"errors"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// TwoPointDSG is decentralized averaging of local updates: [DPFedAvg] with a mean over neighbors instead of the server's
// mean. In each round, client i computes
//
//	phi <- x_i;  tau times:  phi <- phi - eta g_i(phi);  phi <- x_i + clip_R(phi - x_i)
//	sends phi plus noise, and sets x_i to the mean of its own and its neighbors' noisy phi, by Metropolis weights
//
// where g_i is the mean of as many two-point estimates over a mini-batch as the budget allows. It is not one of the
// paper's methods. It shows what a rival without a server achieves if it spends its queries on two-point estimates and
// local steps. There are K releases of sensitivity 2R for each client.
type TwoPointDSG struct{}

// Name returns "2P-DSG".
func (TwoPointDSG) Name() string { return "2P-DSG" }

// Space returns the same parameters as the Space method of [DPFedAvg].
func (TwoPointDSG) Space(w *World) []Param { return DPFedAvg{}.Space(w) }

// Run implements [Method].
func (m TwoPointDSG) Run(ctx context.Context, w *World, s Setting, each func(int, [][]float32) error) (Spent, error) {
	if err := errors.Join(w.check(true), s.check(m.Name(), m.Space(w))); err != nil {
		return Spent{}, err
	}
	tau, eta, mu := int(s["tau"]), float32(s["eta"]), float32(s["mu"])
	pairs, err := w.pairs(tau)
	if err != nil {
		return Spent{}, err
	}
	rel, err := newRelease(w.Privacy, s["clip"], s["clip"], w.Rounds)
	if err != nil {
		return Spent{}, err
	}
	e, net := newEstimator(ctx, w), newMixing(w.Graph)
	n := len(w.Clients)
	x, sent := w.replicas(n), vectors(n, w.Dim)
	g, phi, update := make([]float32, w.Dim), make([]float32, w.Dim), make([]float32, w.Dim)
	var spent Spent
	for k := range w.Rounds {
		for i := range n {
			clear(update)
			for t := range tau {
				copy(phi, x[i])
				vec.Axpy(phi, 1, update)
				if err := e.gradient(g, phi, mu, pairs[i], i, k, t); err != nil {
					return spent, err
				}
				vec.Axpy(update, -eta, g)
				rel.bound(update)
			}
			rel.blur(update, w.Seed, i, k, 0)
			copy(sent[i], x[i])
			vec.Axpy(sent[i], 1, update)
		}
		net.mix(x, sent)
		spent.Queries = e.queries
		spent.Scalars += int64(2*len(w.Graph.Edges())) * int64(w.Dim)
		if err := each(k+1, x); err != nil {
			return spent, err
		}
	}
	return spent, nil
}
