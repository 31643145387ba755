package adapter

import (
	"context"
	"fmt"
	"sync"

	"github.com/spade-dfl/spade-edge/zoest"
)

// room bounds the total length, in numbers, of the copies of x in one call of a [zoest.BatchOracle]. A call with a
// single query may exceed this bound.
const room = 1 << 20

// Oracle answers queries at points of d numbers: it expands each point, and queries an inner oracle of D parameters. An
// Oracle allocates its memory once: one copy of x, or as many copies as fit in 4 MiB. Calls run one at a time.
type Oracle struct {
	*Adapter
	of zoest.Oracle

	mu      sync.Mutex // guards the fields below
	x       []float32  // copies of x, one after the other
	queries []zoest.Query
}

// Oracle wraps an inner oracle: the returned oracle expands queries and passes them on, in batches if the inner oracle
// is a [zoest.BatchOracle].
func (a *Adapter) Oracle(of zoest.Oracle) *Oracle { return &Oracle{Adapter: a, of: of} }

// Loss expands the point c, of length d, and returns the inner oracle's loss at the expanded point.
func (o *Oracle) Loss(ctx context.Context, c []float32, sample int) (float64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.expand([]zoest.Query{{Point: c, Sample: sample}}); err != nil {
		return 0, err
	}
	return o.of.Loss(ctx, o.queries[0].Point, sample)
}

// Losses expands the points of the queries in batches that fit into the Oracle's memory, and passes each batch to the
// inner oracle; see [zoest.BatchOracle].
func (o *Oracle) Losses(ctx context.Context, queries []zoest.Query, losses []float64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for most := max(1, room/o.spec.Of); len(queries) > 0; {
		n := min(most, len(queries))
		if err := o.expand(queries[:n]); err != nil {
			return err
		}
		_ = zoest.Ask(ctx, o.of, o.queries, losses[:n], 0) // a failed query gets NaN, and the caller retries it
		if ctx.Err() != nil {
			return ctx.Err()
		}
		queries, losses = queries[n:], losses[n:]
	}
	return nil
}

func (o *Oracle) expand(queries []zoest.Query) error {
	d := o.spec.Of
	if len(o.x) < len(queries)*d {
		o.x = make([]float32, len(queries)*d)
	}
	o.queries = o.queries[:0]
	for i, q := range queries {
		if len(q.Point) != o.spec.Dim {
			return fmt.Errorf("adapter: the query point has %d numbers, want %d", len(q.Point), o.spec.Dim)
		}
		x := o.x[i*d : (i+1)*d : (i+1)*d]
		o.Expand(x, q.Point)
		o.queries = append(o.queries, zoest.Query{Point: x, Sample: q.Sample})
	}
	return nil
}
