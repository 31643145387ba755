package admm

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Influence reports how far a neighbor moved this client since the machine was made, and how much of that was clipped.
type Influence struct {
	Peer    int
	Clipped int // rounds in which Config.Robust clipped the neighbor's influence
	Last    int // the release of the last such round; 0: none

	// Distance is how far the neighbor's total move after the last round would be from the median if that round had
	// clipped nothing. Bound is the largest allowed distance.
	Distance, Bound float64

	// Aside is true if the total distance that was clipped over all rounds exceeds four times Bound. The client then
	// replaces the neighbor's total move with the median. This is decided anew in each round.
	Aside bool

	Still int // the release that proved that the neighbor's releases have less noise than an honest member's; 0: none
	// Outside is the number of the neighbor's first release that was clipped to the public bound, or 0. No honest
	// member makes a release outside the bound. Such a release is detected only if messages carry releases.
	Outside int
}

// Suspicion returns a description of the neighbor's suspicious behavior, or "" if no behavior is suspicious. Occasional
// clipping is not suspicious, because it also happens to honest neighbors.
func (in *Influence) Suspicion() string {
	switch {
	case in.Outside > 0:
		return fmt.Sprintf("release %d is farther from the start than any honest member goes", in.Outside)
	case in.Still > 0:
		return fmt.Sprintf("excluded: its releases up to %d have less noise than an honest member's", in.Still)
	case in.Aside:
		return fmt.Sprintf("excluded: it keeps exceeding its bound, and was clipped in %d rounds", in.Clipped)
	}
	return ""
}

// Influence returns the influence of the i-th neighbor in Config.Neighbors; zero without Config.Robust. Calling
// Influence does not affect the run.
func (m *Machine) Influence(i int) Influence {
	if m.robust == nil {
		return Influence{}
	}
	return m.robust.seen[i]
}

// robust is the state of Config.Robust. sdk/ROBUST.md has the proofs.
//
// Eq. (8) moves the client by gain*(z_ij - rho*x_i) for each neighbor j. The sum of these moves so far is the
// neighbor's total move (the field named moved). If the neighbor follows the method, the total move grows like the
// square root of the number of rounds. An attacker makes it grow in proportion to the number of rounds, with releases
// that each look normal. So the bound is on the total move, not on a message: the total move must stay in a ball. The
// center of the ball is the coordinate-wise median of all neighbors' total moves and one zero vector, which stands for
// the client itself. The radius is Config.Robust times the upper median of the distances from the center. The part of a
// total move beyond the ball is clipped, in the penalty only.
//
// If the distance clipped from a neighbor's moves, summed over all rounds, exceeds insistence times the radius, the
// center replaces the neighbor's total move. If a neighbor's releases have too little noise (see look), the client
// ignores the neighbor, as if it had never been one.
//
// Clipping leaves the updates of z_ij and z_ji by eq. (10) unchanged: z_ij + z_ji = rho*(x_i + x_j) holds, and a lost
// device can be restored. All of this is a function of earlier received and released data, and costs no privacy:
// dpmech/PROOF.md, step 5.
type robust struct {
	moved    []float32 // d numbers per edge, concatenated, see part
	center   []float32
	cut      []float32 // by edge: the total distance clipped
	quiet    []float32 // by edge: evidence, in bits, that the neighbor's releases have too little noise; see look
	distance []float64 // by edge, in the round in progress
	sorted   []float64 // scratch space
	seen     []Influence
}

// insistence is the factor of the radius in [Influence].Aside. Of the values 1, 2, 4 and 8 that were tried, 4 disturbs
// an honest run on a sparse graph least while still stopping every attacker that drags the model away.
const insistence = 4

func newRobust(cfg Config) *robust {
	n, d := len(cfg.Neighbors), cfg.Estimator.Dim
	r := &robust{moved: make([]float32, n*d), center: make([]float32, d), cut: make([]float32, n),
		quiet: make([]float32, n), distance: make([]float64, n), sorted: make([]float64, n+1), seen: make([]Influence, n)}
	for i, j := range cfg.Neighbors {
		r.seen[i].Peer = j
	}
	return r
}

// look compares a neighbor's release with the neighbor's previous release. It excludes the neighbor permanently if one
// release has too little noise (see still), or if all its releases together have too little noise. In the second test,
// the evidence in bits starts at c = start, never falls below 0, and excludes the neighbor when it reaches h + c
// (sdk/ROBUST.md, Lemma 1). The constant h is so large that, with probability at least 1 - 2^-20, the evidence excludes
// no honest member of the run.
func (m *Machine) look(i int, steps []int32) {
	r, seen := m.robust, &m.robust.seen[i]
	if y, n := m.shown(steps); n > 0 {
		start := bits.Len(uint(m.cfg.Rounds))
		if m.round == 1 {
			r.quiet[i] = float32(start)
		}
		quiet := max(0, float64(r.quiet[i])+float64(n/2)-float64(y/(2*math.Ln2)))
		r.quiet[i] = float32(quiet)
		if still(y, n) || quiet >= float64(21+2*bits.Len(uint(max(m.cfg.Members, len(m.edges)+1)))+start) {
			r.cut[i] = limit
			if seen.Still == 0 {
				seen.Still = m.round
			}
		}
	}
}

// shown returns an upper bound y on the squared distance between a neighbor's release and its previous release, in
// units of the noise variance, and the number of coordinates, n. Both are 0 if the release needs no noise. steps is the
// change on the grid.
//
// Whatever the public part of the change is, the true squared distance is stochastically at least a chi-square variable
// with n degrees of freedom. y is at least the true distance, because y adds the half grid step per coordinate that
// rounding may have removed. With pairwise noise the variance is the part that the run's assumed colluders do not know.
func (m *Machine) shown(steps []int32) (y, n float64) {
	c := m.cfg
	if c.NonPrivate || len(steps) == 0 || c.Data(m.round) == c.Data(m.round-1) {
		return 0, 0
	}
	n = float64(len(steps))
	for _, s := range steps {
		y += float64(float64(s) * float64(s))
	}
	g := c.Privacy
	y = float64(math.Sqrt(y)+float64(0.5*math.Sqrt(n))) * c.GridStep / max(g.Sigma, g.Shared.Effective)
	return float64(y * y), n
}

// still reports whether a release has less noise than a release of an honest member would have, given the results y and
// n of shown. For t < 1, a chi-square variable with n degrees of freedom is at most n*t with probability at most
// exp(-(n/2)(t-1-ln t)). The result is true if this bound, for t = y/n, is below exp(-17). A bound with the same bits
// on every processor replaces the logarithm: -ln t >= 32(1-s)/(1+s), where s is the sixteenth root of t.
func still(y, n float64) bool {
	t := y / n
	root := math.Sqrt(math.Sqrt(math.Sqrt(math.Sqrt(t))))
	return t < 1 && float64(n*(32*(1-root)/(1+root)-(1-t))) > 34
}

// gain returns tau*eta*mu*beta of the round in progress: the step of the release along the penalty.
func (m *Machine) gain() float64 {
	return float64(m.cfg.Tau) * m.cfg.Eta.At(m.k()) * m.cfg.Mu.At(m.k()) * m.cfg.Beta
}

// pull returns z_ij - rho*x_i in one coordinate.
func (m *Machine) pull(z []float32, c int) float32 { return z[c] - float32(float32(m.cfg.Rho)*m.x[c]) }

// absent reports whether the next release is made as if the i-th edge had never existed.
func (m *Machine) absent(i int) bool { return m.gone(i) || m.robust.cut[i] >= limit }

// bound adds this round's move to each neighbor's total. If a neighbor exceeds its bound, bound recomputes the penalty.
func (m *Machine) bound() {
	d, gain := len(m.x), m.gain()
	radius := m.spreadOut(gain)
	if m.cutBack(radius) {
		m.boundedPenalty(radius, gain)
		return
	}
	for i := range m.edges {
		for c := 0; c < d && !m.absent(i); c++ {
			m.robust.moved[i*d+c] = float32(m.movedNext(i, c, gain))
		}
	}
}

// movedNext returns coordinate c of the i-th neighbor's total move, including this round, before clipping.
func (m *Machine) movedNext(i, c int, gain float64) float64 {
	d := len(m.x)
	return float64(m.robust.moved[i*d+c]) + float64(gain*float64(m.pull(part(m.z, i, d), c)))
}

// spreadOut computes the median of the neighbors' total moves and the distance of each neighbor's total move from this
// median. It returns the radius, which is the largest allowed distance.
func (m *Machine) spreadOut(gain float64) (radius float64) {
	r, d := m.robust, len(m.x)
	clear(r.distance)
	own := 0.0 // squared distance of the client itself
	for c := range d {
		r.sorted = r.sorted[:0]
		for i := range m.edges {
			if !m.absent(i) {
				r.sorted = append(r.sorted, m.movedNext(i, c, gain))
			}
		}
		r.sorted = append(r.sorted, 0)
		slices.Sort(r.sorted)
		n := len(r.sorted)
		center := (r.sorted[(n-1)/2] + r.sorted[n/2]) / 2
		r.center[c] = float32(center)
		for i := range m.edges {
			if !m.absent(i) {
				off := m.movedNext(i, c, gain) - center
				r.distance[i] += float64(off * off)
			}
		}
		own += float64(center * center)
	}
	r.sorted = append(r.sorted[:0], math.Sqrt(own))
	for i, square := range r.distance {
		r.distance[i] = math.Sqrt(square)
		if !m.absent(i) {
			r.sorted = append(r.sorted, r.distance[i])
		}
	}
	slices.Sort(r.sorted)
	return m.cfg.Robust * r.sorted[len(r.sorted)/2]
}

// cutBack records which neighbors exceed the radius, and reports whether the penalty must change.
func (m *Machine) cutBack(radius float64) (clipped bool) {
	r, d := m.robust, len(m.x)
	for i, distance := range r.distance {
		seen := &r.seen[i]
		if m.absent(i) { // its total move is removed from the penalty, once
			seen.Distance, seen.Bound, seen.Aside = 0, 0, !m.gone(i)
			clipped = clipped || seen.Aside || slices.ContainsFunc(part(r.moved, i, d), func(x float32) bool { return x != 0 })
			continue
		}
		seen.Distance, seen.Bound = distance, radius
		if distance > radius {
			clipped = true
			seen.Clipped++
			seen.Last = m.round + 1
			r.cut[i] = min(limit, r.cut[i]+float32(distance-radius))
		}
		seen.Aside = float64(r.cut[i]) > float64(insistence*radius)
		clipped = clipped || seen.Aside
	}
	return clipped
}

// boundedPenalty recomputes the penalty with each neighbor's total move clipped to the radius.
func (m *Machine) boundedPenalty(radius, gain float64) {
	r, d := m.robust, len(m.x)
	clear(m.p)
	for i := range m.edges {
		z, moved := part(m.z, i, d), part(r.moved, i, d)
		inside, scale := r.distance[i] <= radius, radius/r.distance[i]
		if r.seen[i].Aside {
			inside, scale = false, 0
		}
		for c, before := range moved {
			if m.absent(i) {
				m.p[c] += float32(float64(before) / gain)
				moved[c] = 0
				continue
			}
			to := m.movedNext(i, c, gain)
			if inside {
				m.p[c] -= m.pull(z, c)
			} else {
				center := float64(r.center[c])
				to = center + float64(scale*(to-center))
				m.p[c] -= float32((to - float64(before)) / gain)
			}
			moved[c] = float32(to)
		}
	}
}
