package zoest

import (
	"context"
	"fmt"
	"math"
)

// Oracle is the black box: it evaluates the loss of one sample at one point. That is all SPADE-Edge ever learns about a
// model.
type Oracle interface {
	// Loss returns f_h(x) for the sample h, 0 <= h < m, plus noise of mean zero if that is the nature of the measurement
	// (zeta in the paper). x belongs to the caller and is valid during the call only. A repeated call need not give
	// the same value. It should return early when ctx ends.
	Loss(ctx context.Context, x []float32, sample int) (float64, error)
}

// OracleFunc makes a function an [Oracle].
type OracleFunc func(ctx context.Context, x []float32, sample int) (float64, error)

// Loss calls f.
func (f OracleFunc) Loss(ctx context.Context, x []float32, sample int) (float64, error) {
	return f(ctx, x, sample)
}

// BatchOracle is an [Oracle] that can work on several queries at once: an external program, a GPU, several cores.
type BatchOracle interface {
	Oracle
	// Losses stores the loss of queries[i] in losses[i]; both have the same length. A loss that cannot be had becomes NaN; an
	// error speaks for all of them. Results must not depend on how queries are grouped into calls. The points
	// belong to the caller and are valid during the call only.
	Losses(ctx context.Context, queries []Query, losses []float64) error
}

// Query is one question for the oracle: the loss of a sample at a point.
type Query struct {
	Point  []float32 // length d; owned by the estimator and valid until the answer is given
	Sample int       // the component h, 0 <= h < m
}

// QueryError says which query got no usable answer, and why.
type QueryError struct {
	Query Query // with the estimator's point
	Err   error
}

// Error names the sample and the first coordinates of the point.
func (e *QueryError) Error() string {
	point := e.Query.Point
	dots := ""
	if len(point) > 6 {
		point, dots = point[:6], " ..."
	}
	return fmt.Sprintf("zoest: loss of sample %d at %v%s: %v", e.Query.Sample, point, dots, e.Err)
}

// Unwrap returns the oracle's error.
func (e *QueryError) Unwrap() error { return e.Err }

// Ask puts queries to an oracle, all at once if it is a [BatchOracle], and stores the losses, which has the same length. A query
// whose loss is not [Usable] or that fails is asked again by itself, unchanged, up to retries times. What still has
// no answer is NaN in losses, and the first such query is returned as a [QueryError]. If ctx ends, its error is
// returned, and losses is of no use.
func Ask(ctx context.Context, o Oracle, queries []Query, losses []float64, retries int) error {
	batch, many := o.(BatchOracle)
	many = many && len(queries) > 1
	var failed error // of the whole batch
	if many {
		failed = batch.Losses(ctx, queries, losses)
	}
	var first error
	for i, q := range queries {
		var err error
		again := 0
		if !many {
			losses[i], err = o.Loss(ctx, q.Point, q.Sample)
		} else {
			err = failed
		}
		for ; (err != nil || !Usable(losses[i])) && again < retries && ctx.Err() == nil; again++ {
			losses[i], err = o.Loss(ctx, q.Point, q.Sample)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && !Usable(losses[i]) {
			err = fmt.Errorf("found %v, want a number of size at most 1e30", losses[i])
		}
		if err != nil {
			losses[i] = math.NaN()
			if first == nil {
				first = &QueryError{Query: q, Err: err}
			}
		}
	}
	return first
}
