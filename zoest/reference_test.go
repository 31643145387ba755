package zoest

import (
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// reference implements the estimator as described in the paper, in float64. It makes its own draws at the documented
// addresses.
type reference struct {
	cfg Config

	round, t int
	place    int // index of the next direction in its stage
	mu       float64
	a        [][]float64
	abar     []float64
}

// ask returns the loss of sample h at a point.
type ask func(point []float64, h int) float64

// direction returns the direction u at an address: coordinate i is -1 if bit i%64 of the (i/64)-th Uint64 is set.
func (r *reference) direction(p rng.Purpose, h int) []float64 {
	s := rng.New(r.cfg.Seed, rng.Address{
		Purpose: p, Client: r.cfg.Client, Round: uint32(r.round), Step: uint32(r.t), Component: uint32(h),
	})
	u := make([]float64, r.cfg.Dim)
	var word uint64
	for i := range u {
		if i%64 == 0 {
			word = s.Uint64()
		}
		u[i] = 1
		if word>>(i%64)&1 == 1 {
			u[i] = -1
		}
	}
	return u
}

// walsh returns the k-th direction of the current stage: the signs of the stage, multiplied by the second half of a row
// of the Hadamard matrix of order 2n, where n is the smallest power of two that is at least d. The number of the row
// comes from the code under test; TestWalshOrder checks it.
func (r *reference) walsh(p rng.Purpose, k int) []float64 {
	at := stage{round: uint32(r.round), step: uint32(r.t), filling: p != rng.Step}
	w := newWalsh(r.cfg, 1)
	w.begin(at)
	row, n := rowOf(w, k), uint32(1)<<(w.bits-1)
	s := rng.New(r.cfg.Seed, rng.Address{Purpose: rng.Walsh, Client: r.cfg.Client, Round: uint32(r.round),
		Step: at.number()})
	u := make([]float64, r.cfg.Dim)
	var word uint64
	for i := range u {
		if i%64 == 0 {
			word = s.Uint64()
		}
		u[i] = 1
		parity := word >> (i % 64)
		for both := row & (n | uint32(i)); both > 0; both >>= 1 {
			parity ^= uint64(both)
		}
		if parity&1 == 1 {
			u[i] = -1
		}
	}
	return u
}

// batch returns the first b items of a Fisher-Yates shuffle of 0..m-1.
func (r *reference) batch() []int {
	m, b := r.cfg.Samples, r.cfg.Batch
	p := make([]int, m)
	for i := range p {
		p[i] = i
	}
	if b == 0 || b == m {
		return p
	}
	s := rng.New(r.cfg.Seed, rng.Address{
		Purpose: rng.Batch, Client: r.cfg.Client, Round: uint32(r.round), Step: uint32(r.t),
	})
	for i := range b {
		j := i + s.IntN(m-i)
		p[i], p[j] = p[j], p[i]
	}
	return p[:b]
}

// query returns the vector of eq. (3) (q-generic) with c_u = 1.
func (r *reference) query(p rng.Purpose, x []float64, h int, f ask) []float64 {
	u := r.direction(p, h)
	if r.cfg.Directions == Walsh {
		u = r.walsh(p, r.place)
		r.place++
	}
	point := make([]float64, len(u))
	for i := range u {
		point[i] = x[i] + r.mu*u[i]
	}
	loss := f(point, h)
	for i := range u {
		u[i] *= loss
	}
	return u
}

// fill fills the table as in eq. (4) (memory-initialization).
func (r *reference) fill(round int, x []float64, mu float64, f ask) {
	r.round, r.t, r.mu, r.place = round, 0, mu, 0
	r.a = make([][]float64, r.cfg.Samples)
	for h := range r.a {
		r.a[h] = r.query(rng.Table, x, h, f)
	}
	r.abar = mean(r.a)
}

// step returns the estimate of eq. (5) (memory-estimator) and then replaces the sampled rows.
func (r *reference) step(phi []float64, f ask) []float64 {
	v := make([]float64, r.cfg.Dim)
	r.place = 0
	chosen := r.batch()
	fresh := make([][]float64, len(chosen))
	for k, h := range chosen {
		fresh[k] = r.query(rng.Step, phi, h, f)
		for i := range v {
			v[i] += fresh[k][i] - r.a[h][i]
		}
	}
	for i := range v {
		v[i] = v[i]/float64(len(chosen)) + r.abar[i]
	}
	for k, h := range chosen {
		r.a[h] = fresh[k]
	}
	r.abar = mean(r.a)
	r.t++
	return v
}

func mean(rows [][]float64) []float64 {
	sum := make([]float64, len(rows[0]))
	for _, row := range rows {
		for i, x := range row {
			sum[i] += x
		}
	}
	for i := range sum {
		sum[i] /= float64(len(rows))
	}
	return sum
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = float64(x[i])
	}
	return y
}

func averageOf(e *Estimator) *average {
	if p, ok := e.method.(*paper); ok {
		return &p.average
	}
	return &e.method.(*tracking).average
}

func tableOf(e *Estimator) *table { return &averageOf(e).table }
