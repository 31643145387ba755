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
// An Estimator holds about m*d + 3d numbers. The kind Tracking adds 3m numbers, Momentum adds d, and each further query
// of the window adds d. Memory is allocated only by [NewEstimator] and by the first stage that uses a [Room]. An
// Estimator is not safe for concurrent use.
//
// The mean of the table is updated whenever a row is replaced. To limit the rounding error, the mean is recomputed at
// each Fill, and at the start of a step if at least max(8m, 16384) rows have been replaced since.
type Estimator struct {
	cfg     Config
	method  method
	source  source
	batch   batch
	batches rng.Family
	carry   []float32 // with momentum: the last result of Carry
	whole   []float32 // all persistent memory: that of the method, then carry

	stage
	at      []float32 // x_i while filling, phi during a step; owned by the caller
	todo    []int     // the components of this stage, in order
	count   int       // components answered in this stage
	room    *Room
	window  int // the most open queries
	collect int // the most answers that are not yet in the memory of the method
}

// Room is the memory that an estimator needs only during a stage. Estimators that take turns can share it; see
// [Estimator.Lend]. The zero value is empty.
type Room struct {
	open    []Query   // queries without an answer; their points are permanent parts of points
	points  []float32 // adjacent
	answers answers   // answers that are not yet in the memory of the method
	drawn   int       // directions drawn, those of answers first
}

// fit makes the room large enough for so many queries and answers of d numbers.
func (r *Room) fit(d, window, collect int) {
	if cap(r.open) >= window && len(r.answers.dirs) >= collect && len(r.points) == cap(r.open)*d {
		return
	}
	window, collect = max(window, cap(r.open)), max(collect, len(r.answers.dirs))
	*r = Room{open: make([]Query, 0, window), points: make([]float32, window*d), answers: newAnswers(d, collect)}
	for i := range window {
		r.open[:window][i].Point = r.points[i*d:][:d:d]
	}
}

// method is a kind of estimator: what it remembers of each component, what it learns from a loss, and how it combines all
// components. [paper] and [tracking] combine them in a mean; [paperRecords] and [trackingRecords] keep them apart.
type method interface {
	// begin begins a stage and reports whether the stage has queries.
	begin(s stage) bool
	// answer takes the losses of queries. The losses and the directions are in a, from index a.n on, and so are the results.
	answer(queries []Query, a *answers)
	// fold adds the answers to the memory and to the estimate, in the order of the queries. rows are their components.
	fold(rows []int, a *answers)
	// end ends a stage that had queries.
	end()
	// estimate returns what a stage has resulted in, times 1/factor: v of eq. (5), or a row for each record.
	estimate() (numbers []float32, factor float64)
}

// stage is the address of a stage: Fill, or a local step t of the round.
type stage struct {
	round, step uint32
	filling     bool
	mu          float32
}

// number returns the number of the stage: 0 for Fill, or t+1 for local step t.
func (s stage) number() uint32 {
	if s.filling {
		return 0
	}
	return s.step + 1
}

// answers are the results of queries in the order of the queries, each as two multiples of the direction of its query.
type answers struct {
	n      int // their number
	losses []float64
	fresh  []float32   // what enters the estimate
	moves  []float32   // what is added to the row of the component
	dirs   []direction // the directions, followed by those of the queries to come
	signs  []uint64    // the signs of dirs, adjacent
	words  int         // the number of words in signs for each direction
}

func newAnswers(d, most int) answers {
	a := answers{
		losses: make([]float64, most), fresh: make([]float32, most), moves: make([]float32, most), dirs: make([]direction, most),
	}
	a.words = (vec.SignWords(d) + 1) &^ 1 // whole blocks of the generator
	a.signs = make([]uint64, most*a.words)
	for i := range a.dirs {
		a.dirs[i] = a.signs[i*a.words:][:vec.SignWords(d):a.words]
	}
	return a
}

func (a *answers) signsOf(from, n int) []uint64 {
	return a.signs[from*a.words:][:n*a.words]
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
	window := min(max(1, cfg.Window), cfg.Samples)
	collect := min(max(window, 8), cfg.Samples)
	e := &Estimator{
		cfg: cfg, batch: newBatch(cfg.Samples, cfg.Batch), batches: rng.NewFamily(cfg.Seed, rng.Batch, cfg.Client),
		source: newSource(cfg, collect), room: new(Room), window: window, collect: collect,
	}
	own := cfg.Memory()
	if own > 0 {
		e.whole = make([]float32, own)
	}
	if cfg.Momentum > 0 {
		own -= cfg.Dim
		e.carry = e.whole[own:]
	}
	e.method = newMethod(cfg, e.whole[:own:own])
	return e, nil
}

// newMethod returns the method that cfg asks for, with the given memory.
func newMethod(cfg Config, memory []float32) method {
	size := cfg.Samples * cfg.Dim
	if cfg.Kind == Paper {
		t := table{d: cfg.Dim, rows: make([]float32, size)}
		if cfg.Records {
			return &paperRecords{table: t}
		}
		return &paper{average: newAverage(cfg, t)}
	}
	t, o := table{d: cfg.Dim, rows: memory[:size:size]}, newOffsets(memory[size:], cfg.Samples)
	if cfg.Records {
		return &trackingRecords{table: t, offsets: o, grown: memory[cfg.Samples*(cfg.Dim+3):]}
	}
	return newTracking(cfg, newAverage(cfg, t), memory, o)
}

// Lend makes the estimator use a room instead of its own. The stage must be complete. Until the next call of Lend, no
// other estimator may use the room during a stage of this one.
func (e *Estimator) Lend(room *Room) { e.room = room }

// Fill begins a round at the released model x with the smoothing radius mu. Every row of the table gets a new query (m
// queries in total), as in eq. (4) (memory-initialization). If a stage is unfinished, Fill abandons it. The slice x
// must have length d and must not change until the stage is complete. With tracking and with records, Fill makes no
// queries, and the stage is complete immediately.
func (e *Estimator) Fill(round int, x []float32, mu float64) {
	e.stage = stage{round: uint32(round), filling: true, mu: float32(mu)}
	e.begin(x, e.batch.all())
}

// Step begins the next local step of the round at the point phi. It draws a mini-batch, and each of the b components in
// it gets one query. The previous stage must be complete. The slice phi must have length d and must not change until
// the stage is complete. After that, [Estimator.Estimate] returns v.
func (e *Estimator) Step(phi []float32) {
	e.filling = false
	s := e.batches.At(e.round, e.step, 0)
	e.begin(phi, e.batch.draw(&s))
}

func (e *Estimator) begin(at []float32, todo []int) {
	e.room.fit(e.cfg.Dim, e.window, e.collect)
	e.at, e.todo, e.count = at[:e.cfg.Dim:len(at)], todo, 0
	e.room.drawn, e.room.open, e.room.answers.n = 0, e.room.open[:0], 0
	e.source.begin(e.stage)
	if !e.method.begin(e.stage) {
		e.todo = nil
	}
}

// Next returns the next queries, at most Window of them. It returns the same queries until they are answered, and none
// when the stage is complete. The estimator owns the slice.
func (e *Estimator) Next() []Query {
	r := e.room
	if len(r.open) > 0 || e.count == len(e.todo) {
		return r.open
	}
	a := &r.answers
	if a.n == r.drawn {
		e.fold()
		r.drawn = min(e.collect, len(e.todo)-e.count)
		e.source.draw(a, e.count, e.todo[e.count:][:r.drawn])
	}
	r.open = r.open[:min(e.window, r.drawn-a.n)]
	vec.SignPerturbRows(r.points[:len(r.open)*len(e.at)], e.at, e.mu, a.signsOf(a.n, len(r.open)))
	for i, h := range e.todo[e.count:][:len(r.open)] {
		r.open[i].Sample = h
	}
	return r.open
}

// Answer accepts the losses of all queries that [Estimator.Next] returned, in the same order. If a loss is not [Usable]
// or the number of losses is wrong, Answer returns an error and accepts none of them, and the queries remain open.
func (e *Estimator) Answer(losses ...float64) error {
	r := e.room
	if len(losses) != len(r.open) || len(losses) == 0 {
		return fmt.Errorf("zoest: found %d answers, want %d (one for each open query)", len(losses), len(r.open))
	}
	if i := firstUnusable(losses); i >= 0 {
		return fmt.Errorf("zoest: loss of sample %d is %v, want a finite number", r.open[i].Sample, losses[i])
	}
	copy(r.answers.losses[r.answers.n:], losses)
	e.method.answer(r.open, &r.answers)
	r.answers.n += len(losses)
	r.open = r.open[:0]
	if e.count += len(losses); e.count < len(e.todo) {
		return nil
	}
	e.fold()
	e.method.end()
	if !e.filling {
		e.step++
	}
	return nil
}

// fold passes the collected answers to the method.
func (e *Estimator) fold() {
	a := &e.room.answers
	e.method.fold(e.todo[e.count-a.n:e.count], a)
	a.n = 0
}

// Estimate returns v of eq. (5) (memory-estimator), an estimate of mu times the gradient at the point of the last
// completed step. The estimator owns the slice, which is valid until the next step begins. With [Config.Records], use
// [Estimator.Rows] instead.
func (e *Estimator) Estimate() []float32 {
	v, _ := e.method.estimate()
	return v
}

// Rows returns the rows of all samples after a complete stage. Each row has Dim numbers. The estimator must have been
// created with Config.Records. Each row multiplied by factor is an estimate of mu times the gradient of the sample's
// loss at the model of the round; factor depends only on the number of queries and on mu. The estimator owns the slice,
// which must not be changed and is valid until the next call of Fill or Step.
func (e *Estimator) Rows() (rows []float32, factor float64) { return e.method.estimate() }

// Offset returns the constant that the estimator subtracts from the losses of a component; 0 unless they are large, and
// always 0 with the kind Paper. If a query has no loss, this is the loss to report.
func (e *Estimator) Offset(h int) float64 {
	if t, tracks := e.method.(interface{ of(h int) float64 }); tracks {
		return t.of(h)
	}
	return 0
}

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
