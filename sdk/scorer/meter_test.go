package scorer

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest"
)

// byPoint is an oracle that returns the first parameter of a query as its loss. Queries of sample 1 have no loss.
type byPoint struct{}

func (byPoint) Loss(_ context.Context, x []float32, sample int) (float64, error) {
	if sample == 1 {
		return 0, errors.New("no answer")
	}
	return float64(x[0]), nil
}

func (o byPoint) Losses(ctx context.Context, queries []zoest.Query, losses []float64) error {
	for i, q := range queries {
		loss, err := o.Loss(ctx, q.Point, q.Sample)
		if losses[i] = loss; err != nil {
			losses[i] = math.NaN()
		}
	}
	return nil
}

// A Meter passes all queries on, and Mean averages the losses since the last call of Mean.
func TestMeter(t *testing.T) {
	m := &Meter{BatchOracle: byPoint{}}
	at := func(x float32, sample int) zoest.Query { return zoest.Query{Point: []float32{x}, Sample: sample} }
	losses := make([]float64, 3)
	err := zoest.Ask(t.Context(), m, []zoest.Query{at(1, 0), at(5, 1), at(2, 0)}, losses, 0)
	if err == nil || losses[0] != 1 || !math.IsNaN(losses[1]) || losses[2] != 2 {
		t.Errorf("losses %v, error %v", losses, err)
	}
	if loss, err := m.Loss(t.Context(), []float32{6}, 0); loss != 6 || err != nil {
		t.Errorf("loss %v, error %v", loss, err)
	}
	if _, err := m.Loss(t.Context(), []float32{6}, 1); err == nil {
		t.Error("no error")
	}
	if mean := m.Mean(); mean != 3 {
		t.Errorf("mean %v, want 3", mean)
	}
	if mean := m.Mean(); !math.IsNaN(mean) {
		t.Errorf("mean of nothing %v", mean)
	}
}
