package zoest

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
)

// Oracle is a black box that returns the loss of one sample at one point.
type Oracle interface {
	// Loss returns f_h(x) for the sample h, 0 <= h < m. If measurements are noisy, the result includes noise with mean
	// zero (zeta in the paper). The caller owns x, which is valid only during the call. Loss should return early when
	// ctx ends.
	Loss(ctx context.Context, x []float32, sample int) (float64, error)
}

// OracleFunc is a function that implements [Oracle].
type OracleFunc func(ctx context.Context, x []float32, sample int) (float64, error)

// Loss calls f.
func (f OracleFunc) Loss(ctx context.Context, x []float32, sample int) (float64, error) {
	return f(ctx, x, sample)
}

// BatchOracle is an [Oracle] that can answer several queries at once, for example in an external program, on a GPU, or
// on several cores.
type BatchOracle interface {
	Oracle
	// Losses stores the loss of queries[i] in losses[i], or NaN if it cannot compute the loss. Both slices have the
	// same length. If Losses returns an error, none of the losses is usable. The results must not depend on how queries
	// are grouped into calls. The caller owns the points, which are valid only during the call.
	Losses(ctx context.Context, queries []Query, losses []float64) error
}

// Digester is an optional interface of an [Oracle]. Digest returns a text, such as a SHA-256, that identifies the samples
// in their order and everything else on the device that losses depend on; "" means unknown. The text never leaves the
// device. While a node exists, its data must not change.
//
// A restarted node compares the texts of both processes. If they are equal, it continues with the same bits. If not, its
// estimator begins with an empty memory. If a text is unknown, it does so in a run that protects each record.
type Digester interface{ Digest() string }

// Query is a request for the loss of one sample at one point.
type Query struct {
	Point  []float32 // length d; owned by the estimator and valid until the answer is given
	Sample int       // the component h, 0 <= h < m
}

// farAway is the size of a parameter from which a failing loss is blamed on the run: with features of mean square 1,
// such a model is certain of every answer.
const farAway = 1e3

func (q Query) fault(err error) error {
	var far float32
	for _, x := range q.Point {
		far = max(far, x, -x)
	}
	if far > farAway {
		err = fmt.Errorf("%w; the model has diverged: a parameter has grown to %.2g. Use a smaller step (eta), or a loss between 0 "+
			"and 1, for which steps are chosen", err, far)
	}
	point, dots := q.Point, ""
	if len(point) > 6 {
		point, dots = point[:6], " ..."
	}
	return fmt.Errorf("zoest: loss of sample %d at point %v%s: %w", q.Sample, point, dots, err)
}

// Usable reports whether a loss can answer a query. Its absolute value must be at most 1e30, so that sums over a
// hundred million rows stay finite in float32.
func Usable(loss float64) bool { return math.Abs(loss) <= 1e30 }

// firstUnusable returns the index of the first loss that is not [Usable], or -1.
func firstUnusable(losses []float64) int {
	for i, loss := range losses {
		if !Usable(loss) {
			return i
		}
	}
	return -1
}

// Ask sends queries to an oracle and stores the results in losses, which must have the same length. If o is a
// [BatchOracle], Ask sends all queries at once; if the batch fails as a whole, it sends each query individually. If a
// query fails, or its loss is not [Usable], Ask retries that query individually; retries is the maximum number of
// retries per query. The loss of a query that remains without an answer is NaN, and Ask returns the error of the first
// such query.
//
// If ctx ends, Ask returns the error of ctx, and losses must not be used. Ask turns a panic of the oracle into an
// error, because a crash that depends on the data would reveal something about the data.
func Ask(ctx context.Context, o Oracle, queries []Query, losses []float64, retries int) error {
	batch, many := o.(BatchOracle)
	many = many && len(queries) > 1
	var failed, first error // error of the whole batch, and first error of a single query
	if many {
		failed = askAll(ctx, batch, queries, losses)
		if failed == nil && firstUnusable(losses) < 0 {
			return ctx.Err()
		}
	}
	for i, q := range queries {
		err, again := failed, 0
		if failed != nil {
			again = -1 // the query was not asked by itself yet, and the first time is no retry
		}
		if !many {
			losses[i], err = askOne(ctx, o, q)
		}
		for ; (err != nil || !Usable(losses[i])) && again < retries && ctx.Err() == nil; again++ {
			losses[i], err = askOne(ctx, o, q)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && !Usable(losses[i]) {
			err = fmt.Errorf("value is %v, want at most 1e30 in absolute value", losses[i])
		}
		if err != nil {
			losses[i] = math.NaN()
			if first == nil {
				first = q.fault(err)
			}
		}
	}
	return first
}

func askOne(ctx context.Context, o Oracle, q Query) (loss float64, err error) {
	defer rescue(&err)
	return o.Loss(ctx, q.Point, q.Sample)
}

func askAll(ctx context.Context, o BatchOracle, queries []Query, losses []float64) (err error) {
	defer rescue(&err)
	return o.Losses(ctx, queries, losses)
}

func rescue(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the oracle panicked: %v\n%s", p, debug.Stack())
	}
}
