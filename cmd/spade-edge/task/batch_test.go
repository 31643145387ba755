package task

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
)

var _ zoest.BatchOracle = (*Model)(nil)

// TestLosses checks that, for every model, Losses returns the same bits as single calls of Loss, whatever the number of
// queries.
func TestLosses(t *testing.T) {
	ctx := context.Background()
	for i, c := range []struct{ dim, classes, hidden int }{
		{1, 2, 0}, {10, 2, 0}, {65, 2, 0}, {784, 2, 0}, {9, 3, 0}, {64, 10, 0},
		{5, 2, 3}, {33, 2, 16}, {12, 4, 7}, {3, 2, MaxHidden},
	} {
		data := random(40, c.dim, c.classes, uint64(i))
		for _, d := range []*Data{data, data.WithBias()} {
			spec := ModelSpec{Name: SoftmaxModel}
			if c.hidden > 0 {
				spec = ModelSpec{PerceptronModel, c.hidden}
			}
			m, s := spec.New(d), testStream(uint64(i))
			var queries []zoest.Query
			var want []float64
			for k := range 64 {
				q := zoest.Query{Point: parameters(m.Dim(), math.Pow(10, float64(k%6-4)), uint64(k)), Sample: s.IntN(m.Len())}
				loss, err := m.Loss(ctx, q.Point, q.Sample)
				if err != nil {
					t.Fatal(err)
				}
				queries, want = append(queries, q), append(want, loss)
			}
			for _, window := range []int{1, 2, 7, 8, 16, 64} {
				var got []float64
				for part := range slices.Chunk(queries, window) {
					losses := make([]float64, len(part))
					if err := m.Losses(ctx, part, losses); err != nil {
						t.Fatal(err)
					}
					got = append(got, losses...)
				}
				if digest(got...) != digest(want...) {
					t.Errorf("%+v, %d columns, windows of %d: other bits than single losses", c, d.Dim, window)
				}
			}
			if err := tinytest.TestOracle(m, m.Dim(), m.Len()); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
			if n := testing.AllocsPerRun(10, func() { m.Losses(ctx, queries, want) }); n != 0 {
				t.Errorf("%+v: %v allocations a batch, want none", c, n)
			}
		}
	}
}

// TestLossesThatCannotBe checks that a query without a loss does not affect other queries, and that, if a model has no
// losses at all, the error gives the reason.
func TestLossesThatCannotBe(t *testing.T) {
	ctx, d := context.Background(), random(5, 3, 2, 1)
	for _, m := range []*Model{NewSoftmax(d), ModelSpec{PerceptronModel, 2}.New(d), ModelSpec{Name: HazardsModel}.New(observed(5, 3, 1))} {
		x := parameters(m.Dim(), 1, 1)
		want, _ := m.Loss(ctx, x, 4)
		queries := []zoest.Query{{Point: x, Sample: -1}, {Point: x, Sample: 4}, {Point: x[1:]}, {Point: x, Sample: 5}, {}}
		losses := make([]float64, len(queries))
		if err := m.Losses(ctx, queries, losses); err != nil {
			t.Fatal(err)
		}
		for i, loss := range losses {
			if i == 1 && loss != want || i != 1 && !math.IsNaN(loss) {
				t.Errorf("%v: query %d has the loss %v", m.spec, i, loss)
			}
		}
	}
	m, losses := ModelSpec{Name: "other"}.New(d), []float64{0}
	if err := m.Losses(ctx, []zoest.Query{{}}, losses); err == nil || !math.IsNaN(losses[0]) {
		t.Errorf("a model without a loss: %v, %v", losses, err)
	}
}
