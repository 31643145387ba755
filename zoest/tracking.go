package zoest

import (
	"math"

	"github.com/spade-dfl/spade-edge/zoest/setting"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Kind determines what an [Estimator] remembers about each component. The estimate has the same conditional mean for
// every kind.
type Kind int

const (
	// Paper is the kind in the paper: the estimator remembers the latest row of each component and refills all rows in
	// each round.
	Paper Kind = iota
	// Tracking maintains a linear model of each component's loss across rounds and does not fill a table. The equations
	// are in the comment of the type model.
	Tracking
)

var kinds = setting.Choice{Of: "zoest: estimator", Names: []string{"paper", "tracking"}}

// String returns the name that files use for k: paper or tracking.
func (k Kind) String() string { return kinds.Name(int(k)) }

// MarshalText returns the name of k. It fails if k is not a valid kind.
func (k Kind) MarshalText() ([]byte, error) { return kinds.Text(int(k)) }

// UnmarshalText sets k to the kind with the given name. An empty name means Paper.
func (k *Kind) UnmarshalText(name []byte) error { return kinds.Parse((*int)(k), name) }

// Memory returns the number of values that persist across rounds, which is the length of [Estimator.Memory].
func (c Config) Memory() int {
	n := 0
	switch {
	case c.Kind == Tracking && c.Records:
		n = c.Samples * (c.Dim + 4)
	case c.Kind == Tracking:
		n = c.Samples*(c.Dim+3) + tails
	}
	if c.Momentum > 0 {
		n += c.Dim
	}
	return n
}

// model is the memory of the kind Tracking. For each component h it has a level c_h and a slope g_h, which is a row of
// the table, such that f_h is about c_h + <g_h, .> near the current point. Here f_h is the loss minus the component's
// offset, which is 0 unless the loss is large. Let G_h = mu*g_h, let b be the level clipped
// to the range of 0 and all losses of earlier stages, and let t in [0, 1] be the trust. For a query at phi + mu*u:
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
// Lemma 1 (iii) also holds, over all draws. Let B^2 be a bound on E(f_h - b)^2, for example the squared length of the
// range. Let s and s' be the root mean square of |G_h| before and after an update. Because |u|^2 = d, s'^2 is at most
//
//	(1 - kappa(2-kappa)/d) s^2 + 2 (kappa(1-kappa)/d) B s + (kappa^2/d) B^2
//
// for kappa in [0, 1], and so s never exceeds B. Then the root mean square of r is at most 2B, and E|v|^2 is at most
// (B + 2 sqrt(d) B)^2 <= 9 Q^2 with Q^2 = d B^2. For losses in [0, B], this is the paper's bound with M_2 = B^2, so the
// theorem holds unchanged; for losses in [-B, B], the bound is 36 Q^2. If the smoothing radius increases between
// rounds, G_h increases with it, and the bound increases temporarily.
type model struct {
	memory []float32       // the memory of slopes, levels, offsets and tail
	levels []float32       // c
	tail   *[tails]float32 // numbers common to all components; the constants below are its indices

	// These are the values of the current stage.
	low, high  float64 // the range at the start of the stage
	trust      float64
	both, self float64 // sums of (f-b)*<G,u> and of <G,u>^2

	d, keep float64 // keep is the fraction of the earlier sums that a stage keeps
}

// The constants from lowest to sumSelf are the indices of model.tail. No coordinate of a slope exceeds tail[grown], the
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

func newModel(cfg Config, memory []float32) model {
	rows := cfg.Samples * cfg.Dim
	m := model{memory: memory, d: float64(cfg.Dim)}
	m.levels = m.memory[rows : rows+cfg.Samples]
	m.tail = (*[tails]float32)(m.memory[len(m.memory)-tails:])
	m.keep = 1 - float64(renewed*float64(cfg.Batch)/float64(cfg.Samples))
	return m
}

// begin begins a stage. The range and the trust stay fixed during the stage, so that they do not depend on its
// directions.
func (m *model) begin() {
	m.low, m.high = float64(m.tail[lowest]), float64(m.tail[highest])
	m.trust, m.both, m.self = 0, 0, 0
	if self := float64(m.tail[sumSelf]); self > 0 {
		m.trust = max(0, min(1, float64(m.tail[sumBoth])/self))
	}
}

func (m *model) end() {
	both := float64(m.keep*float64(m.tail[sumBoth])) + m.both
	self := float64(m.keep*float64(m.tail[sumSelf])) + m.self
	if self > mostGrown { // only the ratio counts
		both, self = both/self, 1
	}
	if both = max(-mostGrown, min(mostGrown, both)); both != both || self != self {
		both, self = 0, 0
	}
	m.tail[sumBoth], m.tail[sumSelf] = float32(both), float32(self)
}

// take processes the loss of component h at phi + mu*u. row is the component's slope. take updates the level and
// returns the residual and the multiple of u to add to row.
func (m *model) take(h int, row []float32, u direction, mu, loss float32) (residual, slope float32) {
	m.tail[lowest], m.tail[highest] = min(m.tail[lowest], loss), max(m.tail[highest], loss)
	off := float64(loss) - max(m.low, min(m.high, float64(m.levels[h])))
	along := float64(mu) * vec.SignDot(row, u)
	m.both += float64(off * along)
	m.self += float64(along * along)
	level := loss
	if m.levels[h] != 0 { // otherwise this is the component's first query
		e := off - along
		slope = float32(kappa * e / (m.d * float64(mu)))
		level = loss - float32(off-float64(omega*e))
	}
	residual = float32(off - float64(m.trust*along))
	most := m.tail[grown] + max(abs(slope), abs(level-m.levels[h]))
	if !(most < mostGrown) { // also true for NaN
		m.tail[grown] = mostGrown
		return residual, 0
	}
	m.tail[grown], m.levels[h] = most, level
	return residual, slope
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }
