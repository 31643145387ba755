package zoest

import (
	"errors"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Config fixes what an [Estimator] never changes.
type Config struct {
	Dim        int          // d, the length of the parameter vector; at least 1
	Samples    int          // m, how many samples the oracle knows; at least 1
	Batch      int          // b, queries a local step, 1..m; 0 means m
	Directions Distribution // law of the query directions

	// Centered subtracts from each loss the last one seen of the same component, 0 before the first. That number is known
	// before the query is asked and E u = 0, so the conditional mean of the estimate is the same; but nearly all of
	// its variance, which comes from the constant part of the loss, is gone. One number a component more is kept, over
	// rounds. The second moment stays below 9 Q^2 for losses in [0, B], with M_2 = B^2, and below 36 Q^2 in general.
	Centered bool
	// Seeded keeps of each row of the table only how to make it again, 8 bytes instead of 4d: the same bits, for one more
	// drawn direction a query.
	Seeded bool

	// Window is how many queries of a stage may be open at once, 0 for one: each costs 2d numbers. It changes no result.
	Window int

	Seed   uint64 // public seed of all draws
	Client uint32 // the client's number in its network; no two clients share draws
}

// maxTable bounds the numbers in a table: what an int can count in bytes, and what a 64-bit address space can hold.
const maxTable = min(math.MaxInt/8, 1<<44)

// Validate reports every fault of the configuration at once.
func (c Config) Validate() error {
	var errs []error
	if c.Dim < 1 {
		errs = append(errs, fmt.Errorf("zoest: Dim is %d, want at least 1", c.Dim))
	}
	if c.Samples < 1 || c.Samples > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("zoest: Samples is %d, want 1..%d", c.Samples, math.MaxInt32))
	}
	if c.Batch < 0 || c.Samples >= 1 && c.Batch > c.Samples {
		errs = append(errs, fmt.Errorf("zoest: Batch is %d, want 0 (all) or 1..%d, the number of samples", c.Batch, c.Samples))
	}
	if c.Window < 0 {
		errs = append(errs, fmt.Errorf("zoest: Window is %d, want 0 (one) or more", c.Window))
	}
	if c.Directions != Rademacher && c.Directions != Sphere {
		errs = append(errs, fmt.Errorf("zoest: Directions is %v, want Rademacher or Sphere", c.Directions))
	}
	if c.Dim > 0 && c.Samples > 0 && !c.Seeded && int64(c.Samples) > maxTable/int64(c.Dim) {
		errs = append(errs, fmt.Errorf("zoest: a table of %d samples by %d numbers does not fit into memory (a seeded one does)", c.Samples, c.Dim))
	}
	return errors.Join(errs...)
}

// Estimator is the component-memory single-point estimator of one client. Its life is a sequence of rounds; a round is
// [Estimator.Fill] followed by local steps, each begun by [Estimator.Step]. Both are complete when
// [Estimator.Next] returns no more queries: in between the driver takes queries and gives their answers.
//
// It holds m*d + 4d numbers, or 2m + 5d with a seeded table, m more if centered, and up to 2d for each further query of the
// window. [NewEstimator] allocates them, and nothing is allocated afterwards. It is not safe for concurrent use.
//
// Answers are collected, up to eight, and then worked into table, v and abar piece by piece, so that a piece of v and abar
// stays in the processor's nearest cache for all of them. The order in which a number takes in the answers is that of the
// stage, whatever is collected.
//
// The table's mean is kept up to date row by row. So that rounding errors do not add up for ever, it is summed afresh with
// each Fill, and at the beginning of a step once max(8m, 16384) rows have been replaced since: in between it is off by
// at most that many half ulps.
type Estimator struct {
	cfg   Config
	table table
	last  []float32 // centered: the last loss of each component
	batch batch
	open  []Query     // queries without an answer
	held  []answered  // answers that are not in the table yet
	dirs  []direction // of held, then of open
	point [][]float32 // of open
	abar  []float32   // mean of the table's rows
	v     []float32   // the estimate
	q     []float32   // a piece of the fresh row

	round   uint32
	step    uint32
	mu      float32
	at      []float32 // x_i while filling, phi during a step; the caller's
	filling bool
	todo    []int // components still to be asked in this stage; while filling, count says which
	count   int   // components answered in this stage
	stale   int   // rows replaced since abar was summed
	renew   int   // at so many it is summed again
}

// NewEstimator allocates an estimator.
func NewEstimator(cfg Config) (*Estimator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Batch == 0 {
		cfg.Batch = cfg.Samples
	}
	e := &Estimator{
		cfg:   cfg,
		batch: newBatch(cfg.Samples, cfg.Batch),
		abar:  make([]float32, cfg.Dim),
		v:     make([]float32, cfg.Dim),
		renew: max(8*cfg.Samples, 1<<14),
	}
	window, collect, work := max(1, cfg.Window), 8, min(cfg.Dim, piece)
	if cfg.Seeded {
		work = cfg.Dim // a seeded row is made whole
	}
	if cfg.Directions == Sphere {
		collect = 1 // d floats each, where signs take d bits
	}
	for range max(window, collect) {
		e.dirs = append(e.dirs, newDirection(cfg.Directions, cfg.Dim))
	}
	for range window {
		e.point = append(e.point, make([]float32, cfg.Dim))
	}
	e.q = make([]float32, work)
	e.open = make([]Query, 0, window)
	e.held = make([]answered, 0, len(e.dirs))
	e.table = newTable(cfg, e.address)
	if cfg.Centered {
		e.last = make([]float32, cfg.Samples)
	}
	return e, nil
}

// piece is how many coordinates are worked on at a time: three vectors of them fill half of a 48 KiB cache. It is a
// multiple of 64, see direction.scale.
const piece = 2048

// answered is an answer: the fresh row of component h is coefficient*u.
type answered struct {
	h           int
	coefficient float32
}

// address returns the draws of a component's direction in a stage of the present round: 0 fills the table, t+1 is local step t.
func (e *Estimator) address(h int, stage uint32) rng.Stream {
	a := rng.Address{Purpose: rng.Table, Client: e.cfg.Client, Round: e.round, Component: uint32(h)}
	if stage > 0 {
		a.Purpose, a.Step = rng.Step, stage-1
	}
	return rng.New(e.cfg.Seed, a)
}

// stage returns the number of the stage in progress, as address counts.
func (e *Estimator) stage() uint32 {
	if e.filling {
		return 0
	}
	return e.step + 1
}

// Fill begins round number round at the released model x with smoothing radius mu: every row of the table is asked for
// anew, eq. (memory-initialization), at the price of m queries. A stage in progress is abandoned. x has length d and is
// read until the stage is complete.
func (e *Estimator) Fill(round int, x []float32, mu float64) {
	e.round, e.step, e.mu = uint32(round), 0, float32(mu)
	e.at, e.filling, e.count, e.open = x[:e.cfg.Dim:len(x)], true, 0, e.open[:0]
	e.held = e.held[:0]
	clear(e.abar)
	e.stale = 0
}

// Step begins the next local step of the round at the point phi: a mini-batch is drawn and each of its components is
// asked for once, at the price of b queries. The stage before must be complete: the answers of a half-done step are in the
// table already. phi has length d and is read until the stage is complete; then [Estimator.Estimate] holds v.
func (e *Estimator) Step(phi []float32) {
	s := rng.New(e.cfg.Seed, rng.Address{Purpose: rng.Batch, Client: e.cfg.Client, Round: e.round, Step: e.step})
	e.todo = e.batch.draw(s)
	e.at, e.filling, e.count, e.open = phi[:e.cfg.Dim:len(phi)], false, 0, e.open[:0]
	e.held = e.held[:0]
	if e.stale >= e.renew {
		e.table.mean(e.abar, e.cfg.Samples)
		e.stale = 0
	}
	copy(e.v, e.abar)
}

// Next returns the queries to be answered next, at most Window of them, and none when the stage is complete. Until they are
// answered the same ones are returned again. The slice is the estimator's.
func (e *Estimator) Next() []Query {
	if e.at == nil || len(e.open) > 0 {
		return e.open
	}
	if len(e.held) == len(e.dirs) {
		e.settle()
	}
	for i := range min(len(e.point), len(e.dirs)-len(e.held), e.stageLen()-e.count) {
		h, u := e.component(e.count+i), &e.dirs[len(e.held)+i]
		u.draw(e.address(h, e.stage()))
		u.perturb(e.point[i], e.at, e.mu)
		e.open = append(e.open, Query{Point: e.point[i], Sample: h})
	}
	return e.open
}

// Answer takes the losses of all the queries that [Estimator.Next] returned, in their order. If one of them is not [Usable], or
// their number is not right, all are refused, and the queries stay open.
func (e *Estimator) Answer(losses ...float64) error {
	if len(losses) != len(e.open) || len(losses) == 0 {
		return fmt.Errorf("zoest: %d answers to %d open queries", len(losses), len(e.open))
	}
	for i, loss := range losses {
		if !Usable(loss) {
			return fmt.Errorf("zoest: loss of sample %d is %v, want a finite number", e.open[i].Sample, loss)
		}
	}
	for i, loss := range losses {
		// eq. (q-generic): q = u * f_h(x + mu*u) / c_u, with c_u = 1.
		h, coefficient := e.open[i].Sample, float32(loss)
		if e.cfg.Centered {
			e.last[h], coefficient = coefficient, coefficient-e.last[h]
		}
		e.held = append(e.held, answered{h, coefficient})
	}
	e.open = e.open[:0]
	e.count += len(losses)
	if e.count < e.stageLen() {
		return nil
	}
	e.settle()
	if e.filling {
		vec.Scale(e.abar, 1/float32(e.cfg.Samples))
	} else {
		e.step++
	}
	return nil
}

// settle works the answers held into the table, abar and v.
func (e *Estimator) settle() {
	byB, byM := 1/float32(e.cfg.Batch), 1/float32(e.cfg.Samples)
	for from := 0; from < e.cfg.Dim; from += len(e.q) {
		to := min(from+len(e.q), e.cfg.Dim)
		abar, v, q := e.abar[from:to], e.v[from:to], e.q[:to-from]
		for i, a := range e.held {
			if e.filling {
				row := e.table.place(a.h)[from:to]
				e.dirs[i].scale(row, from, a.coefficient)
				vec.Axpy(abar, 1, row)
			} else {
				e.dirs[i].scale(q, from, a.coefficient)
				vec.Replace(e.table.at(a.h)[from:to], v, abar, q, byB, byM)
			}
		}
	}
	for _, a := range e.held {
		e.table.note(a.h, e.stage(), a.coefficient)
	}
	if !e.filling {
		e.stale += len(e.held)
	}
	e.held = e.held[:0]
}

// Estimate returns v of eq. (memory-estimator), an estimate of mu times the gradient at the point of the last complete
// step. The slice is owned by the estimator and valid until the next step begins.
func (e *Estimator) Estimate() []float32 { return e.v }

// Baselines returns the last loss seen of each component, length m, or nil if the estimator is not centered. The slice is the
// estimator's: copied out between two rounds and copied back into a fresh estimator, it carries the memory over a restart.
func (e *Estimator) Baselines() []float32 { return e.last }

// Usable reports whether a loss can be answered to a query: a number of size at most 1e30, so that sums over a table of up to
// a hundred million rows stay finite in float32.
func Usable(loss float64) bool { return math.Abs(loss) <= 1e30 }

// stageLen returns how many queries the current stage asks.
func (e *Estimator) stageLen() int {
	if e.filling {
		return e.cfg.Samples
	}
	return e.cfg.Batch
}

// component returns the component of the i-th query of the stage.
func (e *Estimator) component(i int) int {
	if e.filling {
		return i
	}
	return e.todo[i]
}
