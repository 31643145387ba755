package method

import (
	"context"
	"fmt"

	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// estimator queries the losses of a world's clients, one client at a time, and counts the queries. Directions are
// Rademacher vectors: their coordinates are independent and equal to +1 or -1. A run has a single estimator, so that
// its buffers are allocated only once.
type estimator struct {
	ctx   context.Context
	w     *World
	deals []deal

	exact  bool // use exact gradients instead of estimates
	client int
	dirs   rng.Stream // directions of the current purpose, round and step
	signs  []uint64   // the last direction drawn
	point  []float32
	sample []float32 // estimate of one sample's gradient

	queries int64
}

func newEstimator(ctx context.Context, w *World) *estimator {
	e := &estimator{
		ctx:   ctx,
		w:     w,
		deals: make([]deal, len(w.Clients)),
		signs: make([]uint64, vec.SignWords(w.Dim)),
		point: make([]float32, w.Dim),

		sample: make([]float32, w.Dim),
	}
	for i, c := range w.Clients {
		e.deals[i] = newDeal(c.Samples)
	}
	return e
}

// begin selects a client, and starts the stream of directions for this client and the given purpose, round and step.
func (e *estimator) begin(p rng.Purpose, client, round, step int) error {
	e.client = client
	e.dirs = rng.New(e.w.Seed, rng.Address{Purpose: p, Client: uint32(client), Round: uint32(round), Step: uint32(step)})
	return e.ctx.Err()
}

// batch draws n samples of the selected client, depending on the round and the step. The result passes is the number of
// times that every sample occurs in the batch. The samples in the result rest, a random subset, occur once more.
func (e *estimator) batch(n, round, step int) (passes int, rest []int) {
	m := e.w.Clients[e.client].Samples
	if n%m == 0 {
		return n / m, nil
	}
	s := rng.New(e.w.Seed, rng.Address{Purpose: rng.Batch, Client: uint32(e.client), Round: uint32(round),
		Step: uint32(step)})
	return n / m, e.deals[e.client].draw(&s, n%m)
}

func (e *estimator) turn() { e.dirs.Fill(e.signs) }

// loss queries the loss of a sample at x + mu*u, where u is the last direction drawn.
func (e *estimator) loss(x []float32, mu float32, sample int) (float64, error) {
	vec.SignPerturb(e.point, x, mu, e.signs)
	return e.ask(sample)
}

// ask queries the loss of a sample at e.point.
func (e *estimator) ask(sample int) (float64, error) {
	e.queries++
	f, err := e.w.Clients[e.client].Oracle.Loss(e.ctx, e.point, sample)
	if err != nil {
		return 0, fmt.Errorf("method: client %d, sample %d: %w", e.client, sample, err)
	}
	if !zoest.Usable(f) {
		return 0, fmt.Errorf("method: client %d, sample %d: the loss is %v, want at most 1e30 in absolute value", e.client,
			sample, f)
	}
	return f, nil
}

// slope returns the symmetric two-point difference of a sample along the last direction drawn, u: (f(x + mu*u) - f(x -
// mu*u)) / (2 mu). Because E uu' = I, the slope times u estimates the gradient of the sample's loss.
func (e *estimator) slope(x []float32, mu float32, sample int) (float64, error) {
	up, err := e.loss(x, mu, sample)
	if err != nil {
		return 0, err
	}
	down, err := e.loss(x, -mu, sample)
	if err != nil {
		return 0, err
	}
	return (up - down) / (2 * float64(mu)), nil
}

// gradient stores in g the mean of n two-point estimates at x over a mini-batch, each along a fresh direction. Where
// possible, the batch contains every sample equally often.
func (e *estimator) gradient(g, x []float32, mu float32, n, client, round, step int) error {
	clear(g)
	return e.add(g, x, mu, n, 1, n, release{}, client, round, step)
}

// add adds to g the gradient estimates of the n samples that the method batch draws. Each of these is the mean of dirs
// two-point estimates along fresh directions, clipped by r and then divided by the number whole.
func (e *estimator) add(g, x []float32, mu float32, n, dirs, whole int, r release, client, round, step int) error {
	if err := e.begin(rng.Step, client, round, step); err != nil {
		return err
	}
	if r.clip == 0 {
		return e.each(n, round, step, func(h int) error { return e.addMean(g, x, mu, h, dirs, dirs*whole) })
	}
	return e.each(n, round, step, func(h int) error {
		clear(e.sample)
		if err := e.addMean(e.sample, x, mu, h, dirs, dirs); err != nil {
			return err
		}
		r.bound(e.sample)
		vec.Axpy(g, float32(1/float64(whole)), e.sample)
		return nil
	})
}

// addMean adds to g the sum, divided by whole, of dirs two-point estimates of one sample's gradient at x, each along a
// fresh direction. If e.exact is set, it adds the exact gradient times dirs/whole instead.
func (e *estimator) addMean(g, x []float32, mu float32, sample, dirs, whole int) error {
	if e.exact {
		e.w.Clients[e.client].Gradient(e.point, x, sample)
		vec.Axpy(g, float32(float64(dirs)/float64(whole)), e.point)
		return nil
	}
	for range dirs {
		e.turn()
		s, err := e.slope(x, mu, sample)
		if err != nil {
			return err
		}
		vec.SignAxpy(g, float32(s/float64(whole)), e.signs)
	}
	return nil
}

// onePoint stores in g the mean of n one-point estimates u*f(x + mu*u), each along a fresh direction u.
func (e *estimator) onePoint(g, x []float32, mu float32, n int, client, round int) error {
	clear(g)
	if err := e.begin(rng.Step, client, round, 0); err != nil {
		return err
	}
	return e.each(n, round, 0, func(h int) error {
		e.turn()
		f, err := e.loss(x, mu, h)
		if err != nil {
			return err
		}
		vec.SignAxpy(g, float32(f/float64(n)), e.signs)
		return nil
	})
}

// each calls f for each of the n samples of the selected client that the method batch draws.
func (e *estimator) each(n, round, step int, f func(sample int) error) error {
	passes, rest := e.batch(n, round, step)
	for range passes {
		for h := range e.w.Clients[e.client].Samples {
			if err := f(h); err != nil {
				return err
			}
		}
	}
	for _, h := range rest {
		if err := f(h); err != nil {
			return err
		}
	}
	return nil
}

// deal draws uniformly random subsets of 0..m-1. Each draw is without replacement.
type deal struct {
	items []int // a permutation; between two draws it is the identity
	swaps []int // the position with which each step of the last shuffle swapped
}

func newDeal(m int) deal {
	d := deal{items: make([]int, m), swaps: make([]int, 0, m)}
	for i := range d.items {
		d.items[i] = i
	}
	return d
}

// draw returns n items, which are valid until the next call. Each call first reverts the previous shuffle, so that the
// result depends only on the stream s.
func (d *deal) draw(s *rng.Stream, n int) []int {
	for i := len(d.swaps) - 1; i >= 0; i-- {
		j := d.swaps[i]
		d.items[i], d.items[j] = d.items[j], d.items[i]
	}
	d.swaps = d.swaps[:0]
	for i := range n {
		j := i + s.IntN(len(d.items)-i)
		d.swaps = append(d.swaps, j)
		d.items[i], d.items[j] = d.items[j], d.items[i]
	}
	return d.items[:n]
}
