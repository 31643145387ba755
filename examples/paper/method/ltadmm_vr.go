package method

import (
	"context"
	"errors"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// LTADMMVR is LT-ADMM-VR by Ren, Bastianello, Johansson and Parisini, "Communication-efficient stochastic distributed
// learning", IEEE TAC 71(9), 2026 (arXiv 2501.13516). It is LT-ADMM (see the equations at type ltadmm) with the
// variance-reduced gradient of SAGA
//
//	g_i(phi^t) = 1/b sum_{h in B} (grad f_ih(phi^t) - grad f_ih(r_ih)) + 1/m_i sum_h grad f_ih(r_ih)
//
// after which the sampled r_ih move to the local model. Every grad f_ih is a symmetric two-point estimate. Some choices
// are fixed, and others are left to the search:
//
//   - reset = 1 sets every r_ih to x_i,k at the beginning of a round, which costs 2 m_i losses. The first step then
//     needs no further losses, because both terms of each difference are the same gradient. reset = 0 fills the memory
//     once and keeps it over rounds. The two values correspond to the variants of the class LT_ADMM_VR in decent-bench,
//     the library of the authors' group (v2 is False and True).
//   - r_ih moves to phi^t, where its gradient has just been estimated, as in SAGA (Defazio, Bach and Lacoste-Julien
//     2014). decent-bench moves r_ih to phi^t+1 with a second gradient. Under a budget of losses, this would halve the
//     batch.
//   - paired = 0 subtracts the remembered estimate from a fresh estimate, which costs 2 losses per sample. The two
//     estimates have independent directions, so most of the variance remains. paired = 1 estimates the gradient at
//     r_ih again along the fresh direction, which costs 4 losses per sample. The difference then vanishes as phi
//     approaches r_ih, which is the purpose of variance reduction (as in ZO-SVRG, Liu et al. 2018). With either value,
//     the last term is the mean of the stored estimates.
//   - tau, gamma, and the gain (which fixes beta and rho; see type ltadmm) are the authors' own parameters. The batch
//     is as large as the budget allows.
//
// The published method has no privacy. In a private world, g_i is clipped to R and gets noise in every local step, as
// in [LTADMMDP], which makes K*tau releases of sensitivity 2R. The memory holds estimates without noise, but they leave
// the client only through g_i.
type LTADMMVR struct{}

// Name returns "LT-ADMM-VR".
func (LTADMMVR) Name() string { return "LT-ADMM-VR" }

// Space lists tau, gamma, the gain, the smoothing radius mu, reset, paired, and the clipping norm.
func (LTADMMVR) Space(w *World) []Param {
	// Find the largest number of steps that every client can afford with paired = 1. A step that fills the memory then
	// costs 2 losses per sample, and any other step at least 4 losses.
	steps := 20
	if w.Queries > 0 {
		for i, c := range w.Clients {
			budget := w.allowance(i)
			steps = min(steps, budget/4, 1+max(budget-2*c.Samples, 0)/4)
		}
	}
	return append(ltadmmSpace(w, float64(max(steps, 1))),
		Param{Name: "reset", Low: 0, High: 1, Whole: true},
		Param{Name: "paired", Low: 0, High: 1, Whole: true})
}

// Run implements [Method].
func (m LTADMMVR) Run(ctx context.Context, w *World, s Setting, each func(int, [][]float32) error) (Spent, error) {
	if err := errors.Join(w.check(true), s.check(m.Name(), m.Space(w))); err != nil {
		return Spent{}, err
	}
	tau, reset, paired := int(s["tau"]), s["reset"] == 1, s["paired"] == 1
	memories := make([]*memory, len(w.Clients))
	e := newEstimator(ctx, w)
	for i, c := range w.Clients {
		first, later, err := w.memoryBatches(i, tau, reset, paired)
		if err != nil {
			return Spent{}, err
		}
		memories[i] = newMemory(c.Samples, w.Dim, float32(s["mu"]), paired)
		memories[i].first, memories[i].later = first, later
	}
	return runLTADMM(w, s, e, each, func(g, phi []float32, i, k, t int) error {
		mem := memories[i]
		if t == 0 && (k == 0 || reset) {
			if err := mem.fill(e, phi, i, k); err != nil {
				return err
			}
			copy(g, mem.mean)
			return nil
		}
		size := mem.later
		if k == 0 || reset {
			size = mem.first
		}
		return mem.estimate(e, g, phi, size, i, k, t)
	})
}

// memoryBatches returns two batch sizes for a client. The result named first is for rounds that fill the memory, in
// which the first step needs no batch. The result named later is for all other rounds. Without reset, only one round
// fills the memory, and the size for it may be 0: the other steps of this round then follow the mean of the memory.
func (w *World) memoryBatches(client, tau int, reset, paired bool) (first, later int, err error) {
	m := w.Clients[client].Samples
	if w.Queries == 0 {
		return m, m, nil
	}
	price := 2
	if paired {
		price = 4
	}
	budget := w.allowance(client)
	left := budget - 2*m
	if tau > 1 {
		first = min(max(left, 0)/((tau-1)*price), m)
	}
	later = min(budget/(tau*price), m)
	switch {
	case left < 0:
		return 0, 0, w.overBudget(client, 2*m)
	case reset && tau > 1 && first == 0:
		return 0, 0, w.overBudget(client, 2*m+(tau-1)*price)
	case !reset && later == 0:
		return 0, 0, w.overBudget(client, tau*price)
	}
	return first, later, nil
}

// memory holds the gradient estimates that a client remembers.
type memory struct {
	m, d   int
	mu     float32
	rows   []float32 // m x d: for each sample h, the last estimate at r_h
	points []float32 // m x d: the points r_h; only if paired
	mean   []float32 // mean of the rows
	unused []float32

	first, later int // batch sizes, see memoryBatches
}

func newMemory(m, d int, mu float32, paired bool) *memory {
	mem := &memory{
		m: m, d: d, mu: mu,
		rows:   make([]float32, m*d),
		mean:   make([]float32, d),
		unused: make([]float32, d),
	}
	if paired {
		mem.points = make([]float32, m*d)
	}
	return mem
}

// fill moves the point r_h of every sample h to x and estimates the gradients there.
func (mem *memory) fill(e *estimator, x []float32, i, k int) error {
	if err := e.begin(rng.Table, i, k, 0); err != nil {
		return err
	}
	clear(mem.mean)
	for h := range mem.m {
		e.turn()
		s, err := e.slope(x, mem.mu, h)
		if err != nil {
			return err
		}
		vec.SignScale(mem.row(mem.rows, h), float32(s), e.signs)
		vec.SignAxpy(mem.mean, float32(s/float64(mem.m)), e.signs)
		if mem.points != nil {
			copy(mem.row(mem.points, h), x)
		}
	}
	return nil
}

// estimate stores in g the variance-reduced gradient at phi, and moves the point r_h of each sample h in its batch to
// phi.
func (mem *memory) estimate(e *estimator, g, phi []float32, size, i, k, t int) error {
	copy(g, mem.mean)
	if size == 0 {
		return nil
	}
	if err := e.begin(rng.Step, i, k, t); err != nil {
		return err
	}
	byB, byM := float32(1/float64(size)), float32(1/float64(mem.m))
	return e.each(size, k, t, func(h int) error {
		e.turn()
		s, err := e.slope(phi, mem.mu, h)
		if err != nil {
			return err
		}
		if mem.points == nil {
			vec.SignReplace(mem.row(mem.rows, h), g, mem.mean, float32(s), e.signs, byB, byM)
			return nil
		}
		old, err := e.slope(mem.row(mem.points, h), mem.mu, h)
		if err != nil {
			return err
		}
		vec.SignAxpy(g, float32((s-old)/float64(size)), e.signs)
		vec.SignReplace(mem.row(mem.rows, h), mem.unused, mem.mean, float32(s), e.signs, 0, byM)
		copy(mem.row(mem.points, h), phi)
		return nil
	})
}

func (mem *memory) row(table []float32, h int) []float32 { return table[h*mem.d : (h+1)*mem.d] }
