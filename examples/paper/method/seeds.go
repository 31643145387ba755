package method

import (
	"context"
	"errors"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// FedKSeed is FedKSeed by Qin et al., "Federated full-parameter tuning of billion-sized language models with
// communication cost under 18 kilobytes", ICML 2024 (arXiv 2312.06353). All directions u_j come from a pool of public
// seeds. For each direction, a server keeps the sum a_j of the steps along it. It sends these sums in each round. A
// client computes x = x_0 - eta sum_j a_j u_j and makes tau local steps:
//
//	tau times:  draw j;  s <- mini-batch slope of f_i along u_j at x;  x <- x - eta s u_j
//
// and returns the tau pairs (j, s). For each pair, the server adds s/N to a_j. A slope is a symmetric two-point
// difference.
//
// The following choices were made for all three methods that send only scalars: u is a Rademacher vector; all clients
// take part in each round with the same weight; and the mini-batch is as large as the budget allows. The published
// methods have no noise, so all three refuse a world with privacy.
type FedKSeed struct{}

// DeComFL is DeComFL by Li et al., "Achieving dimension-free communication in federated learning via zeroth-order
// optimization", ICLR 2025 (arXiv 2405.15861). In each round, every client makes tau local steps. A step uses dirs
// directions, which follow from the server's seeds and are the same for all clients, and forward differences of the
// mini-batch loss:
//
//	x <- x - eta/dirs sum_p s_p u_p,    s_p = (f_i(x + mu u_p) - f_i(x)) / mu
//
// The clients return the tau*dirs numbers s_p, the server sends back their means over the clients, and all clients
// repeat the steps with the means.
type DeComFL struct{}

// SeedFlood is SeedFlood by Kim and Lee, "SeedFlood: a step toward scalable decentralized training of LLMs" (arXiv
// 2602.18181). It has no server. In each round, client i draws its own direction u_i, and floods the seed of u_i and
// its mini-batch slope s_i through the graph. Then all clients compute
//
//	x <- x - eta/N sum_j s_j u_j
//
// so that all clients have the same model. A message makes as many hops as are needed to reach the most distant client.
// The authors use coordinates in a low-rank subspace to make steps cheap to compute; this package does not.
type SeedFlood struct{}

// Name returns "FedKSeed".
func (FedKSeed) Name() string { return "FedKSeed" }

// Name returns "DeComFL".
func (DeComFL) Name() string { return "DeComFL" }

// Name returns "SeedFlood".
func (SeedFlood) Name() string { return "SeedFlood" }

// pool is the number of seeds that FedKSeed uses, as in the authors' examples.
const pool = 1024

var along = []Param{{Name: "eta", Low: 1e-5, High: 1, Log: true}, {Name: "mu", Low: 1e-3, High: 1, Log: true}}

// Space lists tau, eta and mu.
func (FedKSeed) Space(w *World) []Param { return append([]Param{w.steps()}, along...) }

// Space lists tau, eta, mu and the number of directions per step.
func (DeComFL) Space(w *World) []Param {
	return append([]Param{
		{Name: "tau", Low: 1, High: w.affordable(4, 11), Log: true, Whole: true},
		{Name: "dirs", Low: 1, High: min(10, max(1, w.affordable(11, 1)-1)), Log: true, Whole: true},
	}, along...)
}

// Space lists eta and mu.
func (SeedFlood) Space(*World) []Param { return along }

// batches returns, for each client, the number of samples that the client can afford in each local step. The arguments
// are the number of steps in a round, and the number of losses per sample in a step.
func (w *World) batches(steps, losses int) ([]int, error) {
	n := make([]int, len(w.Clients))
	for i, c := range w.Clients {
		n[i] = c.Samples
		if w.Queries == 0 {
			continue
		}
		if n[i] = min(w.allowance(i)/(losses*steps), maxSamples); n[i] < 1 {
			return nil, w.overBudget(i, losses*steps)
		}
	}
	return n, nil
}

// checkOpen is like check, but also refuses a world with privacy, because the methods that call it add no noise.
func (w *World) checkOpen(network bool) error {
	err := w.check(network)
	if w.Privacy != nil {
		err = errors.Join(err, errors.New("method: Privacy is set, want nil: the method adds no noise"))
	}
	return err
}

// mean returns the mean loss at x + mu*u over the n samples that the method batch draws for a step. Here, u is the last
// direction drawn.
func (e *estimator) mean(x []float32, mu float32, n, round, step int) (float64, error) {
	vec.SignPerturb(e.point, x, mu, e.signs)
	sum := 0.0
	err := e.each(n, round, step, func(h int) error {
		f, err := e.ask(h)
		sum += f
		return err
	})
	return sum / float64(n), err
}

// meanSlope is like slope, but uses the mean loss of n samples.
func (e *estimator) meanSlope(x []float32, mu float32, n, round, step int) (float64, error) {
	up, err := e.mean(x, mu, n, round, step)
	if err != nil {
		return 0, err
	}
	down, err := e.mean(x, -mu, n, round, step)
	return (up - down) / (2 * float64(mu)), err
}

// Run implements [Method].
func (m FedKSeed) Run(ctx context.Context, w *World, s Setting, each func(int, [][]float32) error) (Spent, error) {
	if err := errors.Join(w.checkOpen(false), s.check(m.Name(), m.Space(w))); err != nil {
		return Spent{}, err
	}
	tau, eta, mu, n := int(s["tau"]), s["eta"], float32(s["mu"]), len(w.Clients)
	batch, err := w.batches(tau, 2)
	if err != nil {
		return Spent{}, err
	}
	e, x, next, phi := newEstimator(ctx, w), w.replicas(1), make([]float32, w.Dim), make([]float32, w.Dim)
	var spent Spent
	for k := range w.Rounds {
		copy(next, x[0])
		for i := range n {
			copy(phi, x[0])
			draw := rng.New(w.Seed, rng.Address{Purpose: rng.Batch, Client: uint32(i), Round: uint32(k), Component: 1})
			for t := range tau {
				if err := e.begin(rng.Step, 0, draw.IntN(pool), 0); err != nil {
					return spent, err
				}
				e.client = i
				e.turn()
				slope, err := e.meanSlope(phi, mu, batch[i], k, t)
				if err != nil {
					return spent, err
				}
				vec.SignAxpy(phi, float32(-eta*slope), e.signs)
				vec.SignAxpy(next, float32(-eta*slope/float64(n)), e.signs)
			}
		}
		copy(x[0], next)
		spent.Queries = e.queries
		spent.Scalars += int64(n) * int64(2*tau+pool)
		spent.Served += int64(n) * pool
		if err := each(k+1, x); err != nil {
			return spent, err
		}
	}
	return spent, nil
}

// Run implements [Method].
func (m DeComFL) Run(ctx context.Context, w *World, s Setting, each func(int, [][]float32) error) (Spent, error) {
	if err := errors.Join(w.checkOpen(false), s.check(m.Name(), m.Space(w))); err != nil {
		return Spent{}, err
	}
	tau, dirs, eta, mu, n := int(s["tau"]), int(s["dirs"]), s["eta"], float32(s["mu"]), len(w.Clients)
	batch, err := w.batches(tau, 1+dirs)
	if err != nil {
		return Spent{}, err
	}
	e, x, phi, step := newEstimator(ctx, w), w.replicas(1), make([]float32, w.Dim), make([]float32, w.Dim)
	mean := make([]float64, tau*dirs)
	var spent Spent
	for k := range w.Rounds {
		clear(mean)
		for i := range n {
			copy(phi, x[0])
			for t := range tau {
				if err := e.begin(rng.Step, 0, k, t); err != nil {
					return spent, err
				}
				e.client = i
				clear(step)
				level, err := e.mean(phi, 0, batch[i], k, t)
				if err != nil {
					return spent, err
				}
				for p := range dirs {
					e.turn()
					f, err := e.mean(phi, mu, batch[i], k, t)
					if err != nil {
						return spent, err
					}
					slope := (f - level) / float64(mu)
					mean[t*dirs+p] += slope / float64(n)
					vec.SignAxpy(step, float32(-eta*slope/float64(dirs)), e.signs)
				}
				vec.Axpy(phi, 1, step)
			}
		}
		for t := range tau {
			if err := e.begin(rng.Step, 0, k, t); err != nil {
				return spent, err
			}
			for _, slope := range mean[t*dirs:][:dirs] {
				e.turn()
				vec.SignAxpy(x[0], float32(-eta*slope/float64(dirs)), e.signs)
			}
		}
		spent.Queries = e.queries
		spent.Scalars += int64(n) * int64(3*tau*dirs) // seeds and means to each client, and the client's numbers back
		spent.Served += int64(n) * int64(2*tau*dirs)
		if err := each(k+1, x); err != nil {
			return spent, err
		}
	}
	return spent, nil
}

// Run implements [Method].
func (m SeedFlood) Run(ctx context.Context, w *World, s Setting, each func(int, [][]float32) error) (Spent, error) {
	if err := errors.Join(w.checkOpen(true), s.check(m.Name(), m.Space(w))); err != nil {
		return Spent{}, err
	}
	eta, mu, n := s["eta"], float32(s["mu"]), len(w.Clients)
	batch, err := w.batches(1, 2)
	if err != nil {
		return Spent{}, err
	}
	sends := w.floods()
	e, x, next := newEstimator(ctx, w), w.replicas(1), make([]float32, w.Dim)
	var spent Spent
	for k := range w.Rounds {
		copy(next, x[0])
		for i := range n {
			if err := e.begin(rng.Step, i, k, 0); err != nil {
				return spent, err
			}
			e.turn()
			slope, err := e.meanSlope(x[0], mu, batch[i], k, 0)
			if err != nil {
				return spent, err
			}
			vec.SignAxpy(next, float32(-eta*slope/float64(n)), e.signs)
		}
		copy(x[0], next)
		spent.Queries = e.queries
		spent.Scalars += 2 * sends
		if err := each(k+1, x); err != nil {
			return spent, err
		}
	}
	return spent, nil
}

// floods returns the number of messages sent when each client floods one message through the graph. The author and
// every client that receives the message, except the clients farthest from the author, send it once to each of their
// neighbors.
func (w *World) floods() (sends int64) {
	for i := range w.Clients {
		distance, queue := map[int]int{i: 0}, []int{i} // reaches all clients, as the graph is connected
		for at := 0; at < len(queue); at++ {
			for _, j := range w.Graph.Neighbors(queue[at]) {
				if _, known := distance[j]; !known {
					distance[j] = distance[queue[at]] + 1
					queue = append(queue, j)
				}
			}
		}
		for _, j := range queue {
			if distance[j] < distance[queue[len(queue)-1]] {
				sends += int64(len(w.Graph.Neighbors(j)))
			}
		}
	}
	return sends
}
