package zoest

import "github.com/spade-dfl/spade-edge/zoest/vec"

// paperRecords and trackingRecords are the methods with [Config.Records]. They combine no components: each number that
// they remember depends on only one record.
//
// All queries of a round are made at the released model x. For query t = 1..tau of the round, the rows are:
//
//	paper      row = sum_t u_t f(x + mu u_t)
//	tracking   row = g; with e = f(x + mu u) - c - mu<g, u>, g += kappa e u/(d mu) and c += omega e
//
// The sum restarts in each round. Three values persist across rounds: g, the record's level c, and its
// offset.
//
// A row times the factor that [Estimator.Rows] returns, 1/tau or mu, is an estimate of mu*grad f_h(x). For the paper's
// kind, its mean is mu*grad f_h(x) up to O(mu^2), because the sign of each query is drawn independently. Tracking
// lags behind while the model moves; with each query, its error decreases toward the error of a linear fit. Unlike
// [Tracking] without Records, it has no range for the level and no trust for the slope, because both would
// depend on all records.
type paperRecords struct {
	table
	asked int // queries of each record in this round
}

func (p *paperRecords) begin(s stage) bool {
	if s.filling {
		p.asked = 0
		clear(p.rows)
	}
	return !s.filling
}

func (p *paperRecords) answer(queries []Query, a *answers) {
	for i := range queries {
		a.moves[a.n+i] = float32(a.losses[a.n+i])
	}
}

func (p *paperRecords) end() { p.asked++ }

func (p *paperRecords) estimate() (rows []float32, factor float64) {
	return p.rows, 1 / float64(max(1, p.asked))
}

// fold adds each answer to the row of its record.
func (t *table) fold(rows []int, a *answers) {
	for i, move := range a.moves[:a.n] {
		a.dirs[i].add(t.row(rows[i]), 0, move)
	}
}

type trackingRecords struct {
	table
	offsets
	grown []float32 // the sum of all changes for each record, which bounds its numbers; see mostGrown
	mu    float32
}

// recordKappa is the fraction of a residual that is added to the slope. recordOmega is the fraction that is added to
// the level.
const recordKappa, recordOmega = 0.5, 0.25

// begin keeps the memory that persists across rounds, except for records whose numbers have grown too large.
func (t *trackingRecords) begin(s stage) bool {
	if t.mu = s.mu; !s.filling {
		return true
	}
	for h, grown := range t.grown {
		if grown >= mostGrown {
			clear(t.row(h))
			t.levels[h], t.grown[h], t.high[h], t.low[h] = 0, 0, 0, 0
		}
	}
	return false
}

func (t *trackingRecords) answer(queries []Query, a *answers) {
	for i := range queries {
		a.moves[a.n+i] = t.learn(queries[i].Sample, a.dirs[a.n+i], a.losses[a.n+i])
	}
}

// learn takes the loss of record h at x + mu*u. It updates the level and returns the multiple of u to add to the row.
func (t *trackingRecords) learn(h int, u direction, loss float64) (move float32) {
	f := float32(t.subtract(h, loss))
	if level := t.levels[h]; level != 0 { // otherwise this is the record's first query
		along := float64(float64(t.mu) * vec.SignDot(t.row(h), u))
		off := float64(f) - float64(level) - along
		move = float32(recordKappa * off / (float64(t.d) * float64(t.mu)))
		f = float32(float64(level) + float64(recordOmega*off))
	}
	if !grow(&t.grown[h], &t.levels[h], move, f) {
		move = 0
	}
	return move
}

func (t *trackingRecords) end() {}

func (t *trackingRecords) estimate() (rows []float32, factor float64) { return t.rows, float64(t.mu) }
