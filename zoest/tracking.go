package zoest

import (
	"math"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// tracking remembers a linear model of each component. For each component h it has a level c_h and a slope g_h, which is
// a row of the table, such that f_h is about c_h + <g_h, .> near the current point. Here f_h is the loss minus the
// component's offset, which is 0 unless the loss is large. Let G_h = mu*g_h, let b be the level clipped to the range of 0
// and all losses of earlier stages, and let t in [0, 1] be the trust. For a query at phi + mu*u:
//
//	residuals  r   = f_h(phi + mu*u) - b - t*<G_h, u>, and e with 1 in place of t
//	fresh row  q_h = t*G_h + r*u
//	estimate   v   = t * mean of all G + mean over the batch of r*u, eq. (5) with a_h = t*G_h
//	update     G_h = G_h + kappa*e*u/d, c_h = b + omega*e
//
// The first query of a component sets its level to the loss and leaves its slope at 0. The trust is the coefficient of
// the regression of f - b on <G, u> over earlier stages. It makes bad slopes harmless: slopes are bad if the loss is
// curved or has changed faster than d queries can follow.
//
// Everything except u is known before the query, and E u = 0 and E uu' = I. So q_h has the mean in eq. (3), and v has
// the mean in Lemma 1 (ii). If f_h is linear and phi is constant, r decreases to 0, and so does the variance of v.
//
// The second moment in Lemma 1 (ii) also holds, over all draws. Let B^2 be a bound on E(f_h - b)^2, for example the
// squared length of the range. Let s and s' be the root mean square of |G_h| before and after an update. Because
// |u|^2 = d, s'^2 is at most
//
//	(1 - kappa(2-kappa)/d) s^2 + 2 (kappa(1-kappa)/d) B s + (kappa^2/d) B^2
//
// for kappa in [0, 1], and so s never exceeds B. Then the root mean square of r is at most 2B, and E|v|^2 is at most
// (B + 2 sqrt(d) B)^2 <= 9 Q^2 with Q^2 = d B^2. For losses in [0, B], this is the paper's bound with M_2 = B^2, so the
// theorem holds unchanged; for losses in [-B, B], the bound is 36 Q^2. If the smoothing radius increases between
// rounds, G_h increases with it, and the bound increases temporarily.
type tracking struct {
	average
	offsets
	memory []float32       // the memory of slopes, levels, offsets and tail
	tail   *[tails]float32 // numbers common to all components; the constants below are its indices

	// These are the values of the current stage.
	mu          float32
	bottom, top float64 // the range at the start of the stage
	trust       float64
	both, self  float64 // sums of (f-b)*<G,u> and of <G,u>^2

	keep float64 // the fraction of the earlier sums that a stage keeps
}

// The constants from lowest to sumSelf are the indices of tracking.tail. No coordinate of a slope exceeds tail[grown], the
// sum of all changes, and no level exceeds it by more than its offset changed; if this sum has reached mostGrown, the
// next round clears the memory. So the memory stays finite for any losses and can be stored.
const (
	lowest = iota // the range of the losses and 0
	highest
	grown
	sumBoth // the sums behind the trust
	sumSelf
	tails

	mostGrown = 1e30
)

// kappa is the fraction of a residual that is added to the slope, and omega the fraction that is added to the level.
// renewed is the fraction of the trust's sums that is replaced when all components have been queried once.
const kappa, omega, renewed = 0.25, 0.25, 0.25

func newTracking(cfg Config, a average, memory []float32, o offsets) *tracking {
	return &tracking{
		average: a, offsets: o, memory: memory, tail: (*[tails]float32)(memory[len(memory)-tails:]),
		keep: 1 - float64(renewed*float64(cfg.Batch)/float64(cfg.Samples)),
	}
}

// begin begins a stage. The range and the trust stay fixed during the stage, so that they do not depend on its
// directions.
func (t *tracking) begin(s stage) bool {
	if t.mu = s.mu; s.filling {
		if t.tail[grown] >= mostGrown {
			clear(t.memory)
		}
		t.mean()
		return false
	}
	t.step()
	t.bottom, t.top = float64(t.tail[lowest]), float64(t.tail[highest])
	t.trust, t.both, t.self = 0, 0, 0
	if self := float64(t.tail[sumSelf]); self > 0 {
		t.trust = max(0, min(1, float64(t.tail[sumBoth])/self))
	}
	vec.Scale(t.v, float32(t.trust*float64(t.mu)))
	return true
}

func (t *tracking) answer(queries []Query, a *answers) {
	for i := range queries {
		a.fresh[a.n+i], a.moves[a.n+i] = t.learn(queries[i].Sample, a.dirs[a.n+i], a.losses[a.n+i])
	}
}

// learn takes the loss of component h at phi + mu*u. It updates the level and returns the residual r and the change of
// the slope, both as multiples of u.
func (t *tracking) learn(h int, u direction, loss float64) (residual, slope float32) {
	f := float32(t.subtract(h, loss))
	t.tail[lowest], t.tail[highest] = min(t.tail[lowest], f), max(t.tail[highest], f)
	off := float64(f) - max(t.bottom, min(t.top, float64(t.levels[h])))
	along := float64(t.mu) * vec.SignDot(t.row(h), u)
	t.both += float64(off * along)
	t.self += float64(along * along)
	level := f
	if t.levels[h] != 0 { // otherwise this is the component's first query
		e := off - along
		slope = float32(kappa * e / (float64(t.d) * float64(t.mu)))
		level = f - float32(off-float64(omega*e))
	}
	residual = float32(off - float64(t.trust*along))
	if !grow(&t.tail[grown], &t.levels[h], slope, level) {
		slope = 0
	}
	return residual, slope
}

// grow sets *level to a new level and adds the larger of the two changes, of a slope and of the level, to *grown. If the
// sum would reach mostGrown or be NaN, grow sets it to mostGrown, leaves the level and returns false.
func grow(grown, level *float32, slope, to float32) bool {
	most := *grown + max(abs(slope), abs(to-*level))
	if !(most < mostGrown) { // also true for NaN
		*grown = mostGrown
		return false
	}
	*grown, *level = most, to
	return true
}

// fold adds r*u to v, and the change of the slope to the table and to its mean.
func (t *tracking) fold(rows []int, a *answers) {
	t.stale += len(rows)
	for from := 0; from < t.d; from += piece {
		to := min(from+piece, t.d)
		abar, v := t.abar[from:to], t.v[from:to]
		for i, u := range a.dirs[:a.n] {
			u.add(v, from, a.fresh[i]*t.byB)
			u.add(abar, from, a.moves[i]*t.byM)
			u.add(t.row(rows[i])[from:to], from, a.moves[i])
		}
	}
}

func (t *tracking) end() {
	both := float64(t.keep*float64(t.tail[sumBoth])) + t.both
	self := float64(t.keep*float64(t.tail[sumSelf])) + t.self
	if self > mostGrown { // only the ratio counts
		both, self = both/self, 1
	}
	if both = max(-mostGrown, min(mostGrown, both)); both != both || self != self {
		both, self = 0, 0
	}
	t.tail[sumBoth], t.tail[sumSelf] = float32(both), float32(self)
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }
