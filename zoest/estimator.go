package zoest

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Estimator is the component-memory single-point estimator of one client. A round consists of [Estimator.Fill] and
// several local steps, each of which begins with [Estimator.Step]. Each of these calls begins a stage: the driver takes
// queries from [Estimator.Next] and passes their losses to [Estimator.Answer] until Next returns none.
//
// An Estimator holds m*d + 4d numbers. The kind Tracking adds 3m numbers,
// Momentum adds d, and each further query of the window adds up to 2d. Memory is allocated only by [NewEstimator]. An
// Estimator is not safe for concurrent use.
//
// The mean of the table is updated whenever a row is replaced. To limit the rounding error, the mean is recomputed at
// each Fill, and at the start of a step if at least max(8m, 16384) rows have been replaced since.
type Estimator struct {
	cfg     Config
	table   []float32 // m rows of d numbers; with tracking those of the model
	model   model     // tracking: a linear model of each component's loss
	walsh   *walsh    // Walsh directions only
	carry   []float32 // with momentum: the last result of Carry
	whole   []float32 // all persistent memory: model.memory, then carry
	batch   batch
	open    []Query     // queries without an answer; their points are permanent parts of room
	room    []float32   // the points of the open queries, adjacent
	held    []float32   // coefficients of answers not yet in the table: the fresh row is coefficient*u
	bends   []float32   // tracking: for each of held, slope*u is added to the model
	dirs    []direction // directions of held, then of open, then of the next components; drawn is their number
	signs   []uint64    // the signs of dirs, adjacent
	rows    []uint32    // Walsh directions only: the numbers of dirs
	drawn   int
	records *records  // nil unless Config.Records
	offsets offsets   // tracking: what is subtracted from the losses of each component
	abar    []float32 // mean of the table's rows
	v       []float32 // the estimate
	piece   int       // the number of coordinates processed at a time

	fills, steps, batches rng.Family

	round   uint32
	step    uint32
	mu      float32
	at      []float32 // x_i while filling, phi during a step; owned by the caller
	filling bool
	todo    []int // the components of this stage, in order
	count   int   // components answered in this stage
	stale   int   // rows replaced since abar was recomputed
	renew   int   // the number of stale rows at which abar is recomputed
}

// NewEstimator returns an estimator with the given configuration. It fails if the sizes do not fit each other or
// the memory.
func NewEstimator(cfg Config) (*Estimator, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Batch == 0 {
		cfg.Batch = cfg.Samples
	}
	window, work := min(max(1, cfg.Window), cfg.Samples), min(cfg.Dim, piece)
	collect := min(max(window, 8), cfg.Samples)
	e := &Estimator{
		cfg: cfg, batch: newBatch(cfg.Samples, cfg.Batch), renew: max(8*cfg.Samples, 1<<14),
		abar: make([]float32, cfg.Dim), v: make([]float32, cfg.Dim), piece: work,
		fills:   rng.NewFamily(cfg.Seed, rng.Table, cfg.Client),
		steps:   rng.NewFamily(cfg.Seed, rng.Step, cfg.Client),
		batches: rng.NewFamily(cfg.Seed, rng.Batch, cfg.Client),
	}
	e.open, e.held = make([]Query, 0, window), make([]float32, 0, collect)
	e.dirs = make([]direction, collect)
	words := (vec.SignWords(cfg.Dim) + 1) &^ 1 // whole blocks of the generator
	e.signs = make([]uint64, collect*words)
	for i := range e.dirs {
		e.dirs[i] = e.signs[i*words:][:vec.SignWords(cfg.Dim):words]
	}
	e.room = make([]float32, window*cfg.Dim)
	for i := range window {
		e.open[:window][i].Point = e.room[i*cfg.Dim:][:cfg.Dim:cfg.Dim]
	}
	if cfg.Directions == Walsh {
		e.walsh, e.rows = newWalsh(cfg), make([]uint32, collect)
	}
	own := cfg.Memory()
	if own > 0 {
		e.whole = make([]float32, own)
	}
	if cfg.Momentum > 0 {
		own -= cfg.Dim
		e.carry = e.whole[own:]
	}
	// The table has a row a_h = coefficient*direction of d numbers for each of the m components, one after the other. With
	// tracking, a row is a slope, and belongs to the memory.
	rows := cfg.Samples * cfg.Dim
	if cfg.Kind == Tracking {
		e.table, e.offsets = e.whole[:rows:rows], newOffsets(e.whole[rows:], cfg.Samples)
	} else {
		e.table = make([]float32, rows)
	}
	if cfg.Records {
		e.newRecords()
		return e, nil
	}
	if cfg.Kind == Tracking {
		e.model, e.bends = newModel(cfg, e.whole[:own]), make([]float32, collect)
	}
	return e, nil
}

// piece is the number of coordinates to process at a time: three vectors of this length fill half of a 48 KiB cache. It
// is a multiple of 64, so that a piece starts at a whole word of signs.
const piece = 2048

// stage returns the number of the current stage: 0 for Fill, or t+1 for local step t.
func (e *Estimator) stage() uint32 {
	if e.filling {
		return 0
	}
	return e.step + 1
}

// Fill begins a round at the released model x with the smoothing radius mu. Every row of the table gets a new query (m
// queries in total), as in eq. (4) (memory-initialization). If a stage is unfinished, Fill abandons it. The slice x
// must have length d and must not change until the stage is complete. With tracking, Fill makes no queries, and the
// stage is complete immediately.
func (e *Estimator) Fill(round int, x []float32, mu float64) {
	e.round, e.step, e.mu, e.stale = uint32(round), 0, float32(mu), 0
	if e.records != nil {
		e.begin(x, true, nil)
		e.records.fill(e)
		return
	}
	if e.cfg.Kind == Tracking {
		e.begin(x, true, nil)
		if e.model.tail[grown] >= mostGrown {
			clear(e.model.memory)
		}
		e.mean()
		return
	}
	e.begin(x, true, e.batch.all())
	clear(e.abar)
}

// Step begins the next local step of the round at the point phi. It draws a mini-batch, and each of the b components in
// it gets one query. The previous stage must be complete. The slice phi must have length d and must not change until
// the stage is complete. After that, [Estimator.Estimate] returns v.
func (e *Estimator) Step(phi []float32) {
	if e.records != nil {
		e.begin(phi, false, e.batch.all())
		e.records.step(e)
		return
	}
	s := e.batches.At(e.round, e.step, 0)
	e.begin(phi, false, e.batch.draw(&s))
	if e.stale >= e.renew {
		e.mean()
		e.stale = 0
	}
	copy(e.v, e.abar)
	if e.cfg.Kind == Tracking {
		e.model.begin()
		vec.Scale(e.v, float32(e.model.trust*float64(e.mu)))
	}
}

func (e *Estimator) begin(at []float32, filling bool, todo []int) {
	e.at, e.filling, e.todo = at[:e.cfg.Dim:len(at)], filling, todo
	e.count, e.drawn, e.open, e.held = 0, 0, e.open[:0], e.held[:0]
	if e.walsh != nil && (filling || e.records == nil) { // a record's directions belong to the whole round
		e.walsh.begin(e.round, e.stage())
	}
}

// Next returns the next queries, at most Window of them. It returns the same queries until they are answered, and none
// when the stage is complete. The estimator owns the slice.
func (e *Estimator) Next() []Query {
	if len(e.open) > 0 || e.count == len(e.todo) {
		return e.open
	}
	if len(e.held) == e.drawn {
		e.apply()
		e.draw()
	}
	dirs := e.dirs[len(e.held):e.drawn]
	e.open = e.open[:min(cap(e.open), len(dirs))]
	vec.SignPerturbRows(e.room[:len(e.open)*len(e.at)], e.at, e.mu, e.signsOf(len(e.held), len(e.open)))
	for i, h := range e.todo[e.count:][:len(e.open)] {
		e.open[i].Sample = h
	}
	return e.open
}

func (e *Estimator) signsOf(from, n int) []uint64 {
	words := len(e.signs) / len(e.dirs)
	return e.signs[from*words:][:n*words]
}

// draw draws the directions for the next components, at most len(e.dirs) of them.
func (e *Estimator) draw() {
	todo := e.todo[e.count:min(e.count+len(e.dirs), len(e.todo))]
	e.drawn = len(todo)
	if e.walsh != nil {
		width := e.walsh.bits
		if e.records != nil {
			width++
			e.records.numbers(e.walsh, e.rows[:len(todo)], e.count, int(e.step))
		} else {
			e.walsh.number(e.rows[:len(todo)], e.count, 0)
		}
		for i, row := range e.rows[:len(todo)] {
			hadamard(e.dirs[i], e.walsh.common, row, width)
		}
		return
	}
	family := e.steps
	if e.filling {
		family = e.fills
	}
	family.Fill(e.signsOf(0, len(todo)), e.round, e.step, todo)
}

// Answer accepts the losses of all queries that [Estimator.Next] returned, in the same order. If a loss is not [Usable]
// or the number of losses is wrong, Answer returns an error and accepts none of them, and the queries remain open.
func (e *Estimator) Answer(losses ...float64) error {
	if len(losses) != len(e.open) || len(losses) == 0 {
		return fmt.Errorf("zoest: found %d answers, want %d (one for each open query)", len(losses), len(e.open))
	}
	for i, loss := range losses {
		if !Usable(loss) {
			return fmt.Errorf("zoest: loss of sample %d is %v, want a finite number", e.open[i].Sample, loss)
		}
	}
	for i, loss := range losses {
		h := e.open[i].Sample
		if e.cfg.Kind == Tracking {
			loss = e.offsets.subtract(h, loss)
		}
		// This is eq. (3) (q-generic): q = u * f_h(x + mu*u) / c_u, with c_u = 1.
		c := float32(loss)
		switch {
		case e.records != nil:
			c = e.records.take(e, h, e.dirs[len(e.held)], c)
		case e.cfg.Kind == Tracking:
			c, e.bends[len(e.held)] = e.model.take(h, e.row(h), e.dirs[len(e.held)], e.mu, c)
		}
		e.held = append(e.held, c)
	}
	e.open = e.open[:0]
	e.count += len(losses)
	if e.count < len(e.todo) {
		return nil
	}
	e.apply()
	if e.filling {
		vec.Scale(e.abar, 1/float32(e.cfg.Samples))
		return nil
	}
	e.step++
	if e.records != nil {
		e.records.asked++
		return nil
	}
	if e.cfg.Kind == Tracking {
		e.model.end()
	}
	return nil
}

// apply adds the collected answers to the table, abar and v. It processes the vectors in pieces that fit into the L1
// cache. Within a piece, it adds the answers in the order of the queries, so the results do not depend on the length of
// a piece.
func (e *Estimator) apply() {
	byB, byM := 1/float32(e.cfg.Batch), 1/float32(e.cfg.Samples)
	rows := e.todo[e.count-len(e.held) : e.count]
	if e.records != nil {
		e.records.apply(e, rows)
		return
	}
	if !e.filling {
		e.stale += len(rows)
	}
	if e.cfg.Kind != Tracking && e.piece == e.cfg.Dim {
		if signs := e.signsOf(0, len(rows)); e.filling {
			vec.SignFillRows(e.table, rows, e.abar, e.held, signs)
		} else {
			vec.SignReplaceRows(e.table, rows, e.v, e.abar, e.held, signs, byB, byM)
		}
		e.held = e.held[:0]
		return
	}
	for from := 0; from < e.cfg.Dim; from += e.piece {
		to := min(from+e.piece, e.cfg.Dim)
		abar, v := e.abar[from:to], e.v[from:to]
		for i, c := range e.held {
			u := e.dirs[i]
			switch {
			case e.cfg.Kind == Tracking:
				u.add(v, from, c*byB)
				u.add(abar, from, e.bends[i]*byM)
				u.add(e.row(rows[i])[from:to], from, e.bends[i])
			case e.filling:
				u.add(abar, from, c)
				vec.SignScale(e.row(rows[i])[from:to], c, u[from/64:])
			default:
				vec.SignReplace(e.row(rows[i])[from:to], v, abar, c, u[from/64:], byB, byM)
			}
		}
	}
	e.held = e.held[:0]
}

// Estimate returns v of eq. (5) (memory-estimator), an estimate of mu times the gradient at the point of the last
// completed step. The estimator owns the slice, which is valid until the next step begins.
func (e *Estimator) Estimate() []float32 { return e.v }

// Carry replaces the update s of a round, which must have length d, with the sum of b times the result of the previous
// call (0 at first) and 1-b times s, where b is Config.Momentum. If b is 0, Carry does nothing. Carry multiplies the
// variance of estimates by (1-b)/(1+b), but on average the estimates are b/(1-b) rounds old. The paper does not have
// this step. Results that are NaN, or 1e30 or more in magnitude, are stored in s but not remembered.
func (e *Estimator) Carry(s []float32) {
	if e.carry == nil {
		return
	}
	vec.Scale(e.carry, float32(e.cfg.Momentum))
	vec.Axpy(e.carry, float32(1-e.cfg.Momentum), s)
	copy(s, e.carry)
	for i, x := range e.carry {
		if !(abs(x) < mostGrown) {
			e.carry[i] = 0
		}
	}
}

// Memory returns the numbers that persist across rounds: the linear model and the offset (Tracking) of each component,
// then the last result of [Estimator.Carry]. All of them are finite, and their count is
// [Config.Memory]. The estimator owns the slice. To survive a restart, save a copy between two rounds and copy it into
// the Memory of a new estimator.
func (e *Estimator) Memory() []float32 { return e.whole }

// batch draws mini-batches: uniformly random subsets of a fixed size.
type batch struct {
	items []int // a permutation of 0..m-1
	swaps []int // the target of the i-th swap of the shuffle; its length is the batch size
}

func newBatch(m, size int) batch {
	b := batch{items: make([]int, m), swaps: make([]int, size)}
	for i := range b.items {
		b.items[i] = i
	}
	return b
}

// whole reports whether a batch contains all items. If so, the items are never shuffled.
func (b *batch) whole() bool { return len(b.swaps) == len(b.items) }

// all returns the items 0..m-1 in order. It undoes the previous shuffle, in time proportional to the batch size, so
// that each draw depends only on its address. The slice is valid until the next draw.
func (b *batch) all() []int {
	if b.whole() {
		return b.items
	}
	for i := len(b.swaps) - 1; i >= 0; i-- {
		b.swap(i)
	}
	clear(b.swaps)
	return b.items
}

// draw returns the batch that the stream determines, in the order of the draws. A batch of all items is in ascending
// order and consumes nothing from the stream. The slice is valid until the next draw.
func (b *batch) draw(s *rng.Stream) []int {
	if b.all(); b.whole() {
		return b.items
	}
	for i := range b.swaps {
		b.swaps[i] = s.IntN(len(b.items) - i)
		b.swap(i)
	}
	return b.items[:len(b.swaps)]
}

func (b *batch) swap(i int) {
	j := i + b.swaps[i]
	b.items[i], b.items[j] = b.items[j], b.items[i]
}
