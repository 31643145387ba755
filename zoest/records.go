package zoest

import (
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// records contains the memory that an estimator with [Config.Records] has in addition to the table. Each number in it
// depends on only one record.
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
type records struct {
	levels []float32 // tracking: c, those of the offsets; 0 before the first query
	grown  []float32 // tracking: the sum of all changes for each record, which bounds its numbers; see mostGrown
	flips  []uint64  // Walsh directions: the sign of each record's direction in this stage
	asked  int       // queries of each record in this round
}

// recordKappa is the fraction of a residual that is added to the slope. recordOmega is the fraction that is added to
// the level.
const recordKappa, recordOmega = 0.5, 0.25

// newRecords allocates the memory of the records and divides it into its parts.
func (e *Estimator) newRecords() {
	m, d := e.cfg.Samples, e.cfg.Dim
	e.records = new(records)
	if e.cfg.Kind == Tracking {
		e.records.levels, e.records.grown = e.offsets.levels, e.whole[m*(d+3):]
	}
	if e.walsh != nil {
		e.walsh.bits-- // the signs come from flips
		e.records.flips = make([]uint64, (vec.SignWords(m)+1)&^1)
	}
}

// fill begins a round. It keeps the memory that persists across rounds, except for records whose numbers have grown too
// large.
func (r *records) fill(e *Estimator) {
	r.asked = 0
	if e.cfg.Kind != Tracking {
		clear(e.table)
		return
	}
	for h, grown := range r.grown {
		if grown >= mostGrown {
			clear(e.row(h))
			r.levels[h], r.grown[h] = 0, 0
			e.offsets.high[h], e.offsets.low[h] = 0, 0
		}
	}
}

func (r *records) step(e *Estimator) {
	if e.walsh != nil {
		s := e.walsh.family.At(e.round, e.step, 2)
		s.Fill(r.flips)
	}
}

// numbers sets numbers[i] to the signed row of the Hadamard matrix (numbered as in the type walsh) that gives record
// h+i its direction in the given step. For each record, every row occurs once before any row repeats.
func (r *records) numbers(w *walsh, numbers []uint32, h, step int) {
	w.number(numbers, h, step)
	for i := range numbers {
		at := h + i
		numbers[i] |= uint32(r.flips[at/64]>>(at%64)&1) << (w.bits & 31)
	}
}

// take processes the loss of record h at x + mu*u. It updates the level and returns the multiple of u to add to the
// row.
func (r *records) take(e *Estimator, h int, u direction, loss float32) (move float32) {
	if e.cfg.Kind == Paper {
		return loss
	}
	level := r.levels[h]
	if level != 0 { // otherwise this is the record's first query
		along := float64(float64(e.mu) * vec.SignDot(e.row(h), u))
		off := float64(loss) - float64(level) - along
		move = float32(recordKappa * off / (float64(e.cfg.Dim) * float64(e.mu)))
		loss = float32(float64(level) + float64(recordOmega*off))
	}
	most := r.grown[h] + max(abs(move), abs(loss-level))
	if !(most < mostGrown) { // also true for NaN
		r.grown[h] = mostGrown
		return 0
	}
	r.grown[h], r.levels[h] = most, loss
	return move
}

func (r *records) apply(e *Estimator, todo []int) {
	for i, move := range e.held {
		e.dirs[i].add(e.row(todo[i]), 0, move)
	}
	e.held = e.held[:0]
}

// Rows returns the rows of all samples after a complete stage. Each row has Dim numbers. The estimator must have been
// created with Config.Records. Each row multiplied by factor is an estimate of mu times the gradient of the sample's
// loss at the model of the round; factor depends only on the number of queries and on mu. The estimator owns the slice,
// which must not be changed and is valid until the next call of Fill or Step.
func (e *Estimator) Rows() (rows []float32, factor float64) {
	if e.cfg.Kind == Tracking {
		return e.table, float64(e.mu)
	}
	return e.table, 1 / float64(max(1, e.records.asked))
}
