package method

import (
	"context"
	"errors"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// OnePointDSG is 1P-DSG, distributed stochastic gradient descent with one-point estimates, by Mhanna and Assaad,
// "Zero-order one-point gradient estimate in consensus-based distributed stochastic optimization", TMLR 2024. With a
// doubly stochastic W, client i computes in round k = 0, 1, ...
//
//	g_i,k   = Phi_i,k * f_i(x_i,k + gamma_k Phi_i,k; xi_i,k)      one noisy loss at one point, not divided by gamma_k
//	x_i,k+1 = sum_j w_ij (x_j,k - alpha_k g_j,k)
//	alpha_k = alpha (k+1)^-v1,  gamma_k = gamma (k+1)^-v2
//
// Only the publication's abstract and descriptions in other papers were available. The following choices were made
// here: the order of descent and mixing in Pu and Nedic, "Distributed stochastic gradient tracking methods" (2021), on
// which both 1P methods build; Metropolis weights; and Phi with independent coordinates +1 or -1, which differs from
// the authors' +-1/sqrt(d) only by a factor in alpha and gamma. The search varies what the authors tune: alpha, gamma
// and both exponents, from constant steps (0, 0) to beyond (1/2, 1/6) and (3/4, 1/4), the orders of the proven rates
// O(k^-1/3) for nonconvex and O(k^-1/2) for strongly convex objectives.
//
// The published method uses one loss per round, but the budget allows many: g is the mean of that many one-point
// estimates at x_i,k, each with its own direction and sample. (Using one direction for several samples would cost the
// same and leave more variance.)
//
// For privacy, g is clipped to R and noise is added before any use. Everything that a client sends is a function of
// these releases and of what its neighbors sent, so there are K releases of sensitivity 2R.
type OnePointDSG struct{}

// OnePointDSGT is 1P-DSGT, 1P-DSG with gradient tracking, by Mhanna and Assaad, "Single point-based distributed
// zeroth-order optimization with a non-convex stochastic objective function", ICML 2023:
//
//	x_i,k+1 = sum_j w_ij (x_j,k - alpha_k y_j,k)
//	y_i,k+1 = sum_j w_ij y_j,k + g_i,k+1 - g_i,k,    y_i,0 = g_i,0
//
// with g, alpha_k, gamma_k and all choices as in [OnePointDSG]. A client sends both x - alpha y and y in one message
// per round: it computes y_k, sends the message, and mixes the arriving messages into x_k+1 and into the first term of
// y_k+1.
//
// For privacy, noise is added to each g before it enters y. x and y are linear in the clients' estimates, so both parts
// of a message are functions of the releases. The differences g_k+1 - g_k reuse two releases without using the data
// again, so there are K releases of sensitivity 2R.
type OnePointDSGT struct{}

// Name returns "1P-DSG".
func (OnePointDSG) Name() string { return "1P-DSG" }

// Name returns "1P-DSGT".
func (OnePointDSGT) Name() string { return "1P-DSGT" }

// Space lists alpha and gamma with their exponents, and the clipping norm.
func (OnePointDSG) Space(w *World) []Param { return onePointSpace(w) }

// Space lists alpha and gamma with their exponents, and the clipping norm.
func (OnePointDSGT) Space(w *World) []Param { return onePointSpace(w) }

func onePointSpace(w *World) []Param {
	return append([]Param{
		{Name: "alpha", Low: 1, High: 1e3, Log: true},
		{Name: "alpha_decay", Low: 0, High: 1},
		{Name: "gamma", Low: 5e-2, High: 5, Log: true},
		{Name: "gamma_decay", Low: 0, High: 0.5},
	}, w.clips(1e-3, 0.3)...)
}

// Run implements [Method].
func (m OnePointDSG) Run(ctx context.Context, w *World, s Setting, each func(int, [][]float32) error) (Spent, error) {
	return runOnePoint(ctx, w, s, m, false, each)
}

// Run implements [Method].
func (m OnePointDSGT) Run(ctx context.Context, w *World, s Setting, each func(int, [][]float32) error) (Spent, error) {
	return runOnePoint(ctx, w, s, m, true, each)
}

func runOnePoint(ctx context.Context, w *World, s Setting, m Method, track bool,
	each func(int, [][]float32) error) (Spent, error) {
	if err := errors.Join(w.check(true), s.check(m.Name(), m.Space(w))); err != nil {
		return Spent{}, err
	}
	n := len(w.Clients)
	counts := make([]int, n)
	for i, c := range w.Clients {
		counts[i] = c.Samples
		if w.Queries == 0 {
			continue
		}
		if counts[i] = w.allowance(i); counts[i] < 1 {
			return Spent{}, w.overBudget(i, 1)
		}
	}
	rel, err := newRelease(w.Privacy, s["clip"], s["clip"], w.Rounds)
	if err != nil {
		return Spent{}, err
	}
	e, net := newEstimator(ctx, w), newMixing(w.Graph)
	x, y, moved := w.replicas(n), vectors(n, w.Dim), vectors(n, w.Dim)
	g := make([]float32, w.Dim)
	var past, mixed [][]float32
	perMessage := w.Dim
	if track {
		past, mixed = vectors(n, w.Dim), vectors(n, w.Dim)
		perMessage = 2 * w.Dim
	}
	var spent Spent
	for k := range w.Rounds {
		alpha := s["alpha"] * power(k+1, -s["alpha_decay"])
		gamma := s["gamma"] * power(k+1, -s["gamma_decay"])
		for i := range n {
			if err := e.onePoint(g, x[i], float32(gamma), counts[i], i, k); err != nil {
				return spent, err
			}
			rel.bound(g)
			rel.blur(g, w.Seed, i, k, 0)
			if track {
				// y is already the weighted mean of the neighbors' trackers from the previous round.
				vec.Axpy(y[i], 1, g)
				vec.Axpy(y[i], -1, past[i])
				copy(past[i], g)
			} else {
				copy(y[i], g)
			}
			copy(moved[i], x[i])
			vec.Axpy(moved[i], float32(-alpha), y[i])
		}
		net.mix(x, moved)
		if track {
			net.mix(mixed, y)
			y, mixed = mixed, y
		}
		spent.Queries = e.queries
		spent.Scalars += int64(2*len(w.Graph.Edges())) * int64(perMessage)
		if err := each(k+1, x); err != nil {
			return spent, err
		}
	}
	return spent, nil
}

// power returns n^x, with the same bits on every processor.
func power(n int, x float64) float64 { return vec.Exp(x * vec.Log(float64(n))) }

func vectors(n, d int) [][]float32 {
	v := make([][]float32, n)
	for i := range v {
		v[i] = make([]float32, d)
	}
	return v
}
