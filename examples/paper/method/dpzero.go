package method

import (
	"context"
	"errors"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// DPZero is DPZero by Zhang, Li, Thekumparampil, Oh and He, "DPZero: Private fine-tuning of language models without
// backpropagation", ICML 2024 (arXiv 2310.09639), on the pooled data of all clients. Each round queries losses of all
// samples along one public direction u, and clips and releases one number:
//
//	s_h = clip_C( (f_h(x + mu*u) - f_h(x - mu*u)) / (2 mu) )
//	x  <- x - eta ( 1/m sum_h s_h + N(0, sigma^2) ) u
//
// There are K releases of one number each. Their sensitivity is 2C/m if a record is replaced, and 2C m_i/m if all data
// of client i is replaced. Each round takes two losses per sample. Two choices differ from the publication: u is a
// Rademacher vector, as in all methods of this package, instead of a vector drawn from the sphere; and every round uses
// all samples, without amplification by sampling.
//
// In the published form, a curator has all data. With Local, each client adds noise to its own part of the sum and
// sends one number per round: no one is trusted, and the noise of the sum is sqrt(N) times larger.
type DPZero struct {
	Local bool // each client adds the noise
}

// Name returns "DPZero", or "DPZero (local noise)".
func (m DPZero) Name() string {
	if m.Local {
		return "DPZero (local noise)"
	}
	return "DPZero"
}

// Space lists the step size eta, the smoothing radius mu and the clipping bound.
func (DPZero) Space(w *World) []Param {
	return append([]Param{
		{Name: "eta", Low: 1e-2, High: 30, Log: true},
		{Name: "mu", Low: 1e-2, High: 1, Log: true},
	}, w.clips(1e-3, 1)...)
}

// Run implements [Method].
func (m DPZero) Run(ctx context.Context, w *World, s Setting, each func(int, [][]float32) error) (Spent, error) {
	if err := errors.Join(w.checkEither(false), s.check(m.Name(), m.Space(w))); err != nil {
		return Spent{}, err
	}
	all, largest := 0, 0
	for i, c := range w.Clients {
		if w.Queries > 0 && w.allowance(i) < 2*c.Samples {
			return Spent{}, w.overBudget(i, 2*c.Samples)
		}
		all, largest = all+c.Samples, max(largest, c.Samples)
	}
	if w.records() {
		largest = 1
	}
	rel, err := newRelease(w.Privacy, s["clip"], s["clip"]*float64(largest)/float64(all), w.Rounds)
	if err != nil {
		return Spent{}, err
	}
	e, mu := newEstimator(ctx, w), float32(s["mu"])
	x, part := w.replicas(1), make([]float32, 1)
	var spent Spent
	for k := range w.Rounds {
		if err := e.begin(rng.Step, 0, k, 0); err != nil {
			return spent, err
		}
		e.turn()
		step := 0.0
		for i, c := range w.Clients {
			e.client = i
			sum := 0.0
			for h := range c.Samples {
				slope, err := e.slope(x[0], mu, h)
				if err != nil {
					return spent, err
				}
				if rel.clip > 0 {
					slope = min(max(slope, -rel.clip), rel.clip)
				}
				sum += slope
			}
			part[0] = float32(sum / float64(all))
			if m.Local {
				rel.blur(part, w.Seed, i, k, 0)
				spent.Scalars += 2 // the size of the last step to the client, and the client's part of the sum back
			}
			step += float64(part[0])
		}
		part[0] = float32(step)
		if !m.Local {
			rel.blur(part, w.Seed, 0, k, 0)
		}
		vec.SignAxpy(x[0], -float32(s["eta"])*part[0], e.signs)
		spent.Queries = e.queries
		if err := each(k+1, x); err != nil {
			return spent, err
		}
	}
	return spent, nil
}
