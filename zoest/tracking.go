package zoest

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Kind says what an [Estimator] remembers of a component. For each kind the estimate has the same conditional mean.
type Kind int

const (
	// Paper is the estimator of the paper: the latest row of each component, filled anew in each round.
	Paper Kind = iota
	// Centered subtracts from each loss the last one seen of the same component, 0 before the first. That number is known
	// before the query and E u = 0, so the conditional mean of the estimate is the same, but nearly all of its variance is
	// gone. The second moment stays below 9 Q^2 for losses in [0, B], with M_2 = B^2, and below 36 Q^2 for losses in
	// [-B, B].
	Centered
	// Tracking keeps a linear model of each component's loss, over rounds, and asks nothing to fill a table. See model.
	Tracking
)

// Memory returns how many numbers last over rounds, see [Estimator.Memory].
func (c Config) Memory() int {
	switch c.Kind {
	case Centered:
		return c.Samples
	case Tracking:
		return c.Samples*(c.Dim+1) + tails
	}
	return 0
}

// model is the memory of the tracking kind: of each component h a level c_h and a slope g_h, a row of the table, such
// that f_h(x) is about c_h + <g_h, x>. With G_h = mu*g_h, and the model's value b at phi cut to the range of the losses
// seen so far (and 0), a query at phi + mu*u has the
//
//	residual   r   = f_h(phi + mu*u) - b - <G_h, u>
//	fresh row  q_h = G_h + r*u
//	estimate   v   = mean of all G + mean over the batch of r*u, eq. (5) with a_h = G_h
//	update     G_h = G_h + kappa*r*u/d, and b = b + omega*r as the new value at phi
//
// All but u is known before the query, E u = 0 and E uu' = I: q_h has the mean of eq. (3), and v that of Lemma 1 (ii).
// Where f_h is linear, r falls to 0, and with it the variance of v.
//
// Lemma 1 (iii) holds too. Let B^2 bound E(f_h - b)^2: the squared length of the range does. As |u|^2 = d, the root
// mean square g of |G_h| obeys g'^2 <= (1 - kappa(2-kappa)/d) g^2 + 2 kappa(1-kappa)/d B g + kappa^2/d B^2, for kappa of
// 0 to 1, and so stays at B or below; then that of r is at most 2B, and E|v|^2 <= (B + 2 sqrt(d) B)^2 <= 9 Q^2 with Q^2 =
// d B^2. For losses in [0, B] this is the paper's bound with M_2 = B^2, and so the theorem holds as it is; for losses in
// [-B, B] it is 36 Q^2. A smoothing radius that rises between rounds raises G_h with it, and the bound for a while.
type model struct {
	memory []float32 // all that follows
	slopes []float32 // g, m rows of d
	levels []float32 // c
	tail   []float32 // the range of the losses and 0, lowest and highest; and grown

	low, high float64 // the range when the stage began
	d         float64
}

// The places in model.tail. No coordinate of a slope and no level is larger than what grown adds up: the sum of all
// changes. It stays below mostGrown, so that the memory is finite whatever the losses are, and can be stored.
const (
	lowest = iota
	highest
	grown
	tails

	mostGrown = 1e30
)

// The shares of a residual that slope and level take.
const kappa, omega = 0.5, 0.5

func newModel(cfg Config) model {
	m := model{memory: make([]float32, cfg.Memory()), d: float64(cfg.Dim)}
	rows := cfg.Samples * cfg.Dim
	m.slopes, m.levels = m.memory[:rows:rows], m.memory[rows:rows+cfg.Samples]
	m.tail = m.memory[len(m.memory)-tails:]
	return m
}

// round begins a round: what has grown too far starts again at nothing.
func (m *model) round() {
	if m.tail[grown] >= mostGrown {
		clear(m.memory)
	}
}

// stage begins a stage. The range that it has then is used to its end: losses of the stage would depend on its
// directions.
func (m *model) stage() { m.low, m.high = float64(m.tail[lowest]), float64(m.tail[highest]) }

// take takes the loss of component h at phi + mu*u, moves its level, and returns the residual and by how many u its
// slope is to move. The row is the component's slope.
func (m *model) take(h int, row []float32, u *direction, phi []float32, mu, loss float32) (residual, slope float32) {
	m.tail[lowest], m.tail[highest] = min(m.tail[lowest], loss), max(m.tail[highest], loss)
	toPhi := vec.Dot(row, phi)
	base := max(m.low, min(m.high, float64(m.levels[h])+toPhi))
	r := float64(loss) - base - float64(float64(mu)*u.dot(row))
	slope = float32(kappa * r / (m.d * float64(mu)))
	level := float32(base + float64(omega*r) - toPhi - float64(float64(slope)*u.dot(phi)))
	most := m.tail[grown] + max(abs(slope), abs(level-m.levels[h]))
	if !(most < mostGrown) { // or not a number
		m.tail[grown] = mostGrown
		return float32(r), 0
	}
	m.tail[grown], m.levels[h] = most, level
	return float32(r), slope
}

func abs(x float32) float32 { return max(x, -x) }

// String returns the name used in files: paper, centered or tracking.
func (k Kind) String() string {
	switch k {
	case Paper:
		return "paper"
	case Centered:
		return "centered"
	case Tracking:
		return "tracking"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}
