package plan_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/zoest"
)

// bowl returns the loss |x - c|^2 of a sample, where c depends on the sample.
func bowl(x []float32, sample int) (loss float64) {
	for _, v := range x {
		off := float64(v) - 1 - float64(sample%5)/10
		loss += off * off
	}
	return loss
}

// grouped answers batches with its own function.
type grouped struct {
	sdk.OracleFunc
	batch func(i int, q zoest.Query) float64
}

func (g grouped) Losses(_ context.Context, queries []zoest.Query, losses []float64) error {
	for i, q := range queries {
		losses[i] = g.batch(i, q)
	}
	return nil
}

// TestExamine checks what Examine says of losses of many kinds: an error if nothing can be learned from them, or a
// remark.
func TestExamine(t *testing.T) {
	var asked atomic.Int64
	of := func(f func(x []float32, sample int) float64) sdk.Oracle {
		return sdk.OracleFunc(func(_ context.Context, x []float32, sample int) (float64, error) {
			asked.Add(1)
			return f(x, sample), nil
		})
	}
	paper := func(f *sdk.Fleet) { f.Method.Estimator = zoest.Paper }
	tracking := func(f *sdk.Fleet) { f.Method.Estimator = zoest.Tracking }
	open := func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{NonPrivate: true} }
	records := func(f *sdk.Fleet) { f.Privacy.Unit, f.Records = dpmech.Record, []int{40, 40} }
	for _, c := range []struct {
		name   string
		oracle sdk.Oracle
		change func(f *sdk.Fleet)
		fails  string
		remark string
	}{
		{"sound", of(bowl), nil, "", ""},
		{"a batch in order", grouped{of(bowl).(sdk.OracleFunc), func(_ int, q zoest.Query) float64 { return bowl(q.Point, q.Sample) }}, nil, "", ""},
		{"constant", of(func([]float32, int) float64 { return 0.7 }), nil, "was answered with 0.7: nothing can be learned from a constant loss", ""},
		{"ignores x", of(func(_ []float32, h int) float64 { return float64(h) }), nil, "the loss ignores the parameters: that of sample 0 is 0", ""},
		{"reads one parameter", of(func(x []float32, h int) float64 { return float64(x[2]) + float64(h) }), nil, "", ""},
		{"ignores the sample", of(func(x []float32, _ int) float64 { return bowl(x, 0) }), nil, "", "the loss ignores the sample"},
		{"counts queries", of(func(x []float32, h int) float64 { return bowl(x, h) + float64(asked.Load())/100 }), nil, "", "the same query was answered with"},
		{"even queries", of(func(x []float32, h int) float64 { return bowl(x, h) + float64(asked.Load()%2) }), nil, "", "the same query was answered with"},
		{"only a count", of(func([]float32, int) float64 { return float64(asked.Load()) }), nil, "", "the same query was answered with"},
		{"a batch in another order", grouped{of(bowl).(sdk.OracleFunc), func(i int, q zoest.Query) float64 { return bowl(q.Point, (q.Sample+i)%3) }}, nil, "in a batch: an answer must not depend", ""},
		{"a batch of means", grouped{of(bowl).(sdk.OracleFunc), func(int, zoest.Query) float64 { return 1 }}, nil, "in a batch: an answer must not depend", ""},
		{"above 1e30", of(func(x []float32, h int) float64 { return 1e31 * bowl(x, h) }), nil, "want at most 1e30", ""},
		{"above 1e30 elsewhere", of(func(x []float32, h int) float64 { return math.Exp(80 * bowl(x, h)) }), nil, "want at most 1e30", ""},
		{"an offset", of(func(x []float32, h int) float64 { return 1e9 + bowl(x, h) }), tracking, "", ""},
		{"an offset, paper", of(func(x []float32, h int) float64 { return 1e9 + bowl(x, h) }), paper, `a 32-bit number, to which the estimator "paper" rounds it`, ""},
		{"a huge offset", of(func(x []float32, h int) float64 { return 1e16 - bowl(x, h) }), tracking, "the resolution of a 64-bit number", ""},
		{"steps", of(func(x []float32, h int) float64 { return math.Round(bowl(x, h) / 2) }), nil, "", "within the smoothing radius mu, 0.01, only farther away"},
		{"steep", of(func(x []float32, h int) float64 { return 1e4 * bowl(x, h) }), open, "", "the model will diverge. Use an eta below "},
		{"steep, and straight", of(func(x []float32, _ int) float64 { return 1e9 * float64(x[0]) }), open, "", "the first step moves each parameter by about "},
		{"steep, but private", of(func(x []float32, h int) float64 { return 1e4 * bowl(x, h) }), nil, "", ""},
		{"a likelihood", of(func(x []float32, h int) float64 { return -bowl(x, h) }), nil, "", "if more is better, return the negative"},
		{"weak", of(func(x []float32, h int) float64 { return 1e-9 * bowl(x, h) }), open, "", "move the model by at most 9.1e-10 in all rounds: multiply the loss"},
		{"weak, private", of(func(x []float32, h int) float64 { return 1e-2 * bowl(x, h) }), records, "", "in all rounds, and the noise by 4.7: multiply"},
		{"unreadable records", of(func(x []float32, h int) float64 {
			if h > 0 {
				return math.NaN()
			}
			return bowl(x, h)
		}), records, "", ""},
		{"a record without a loss elsewhere", of(func(x []float32, h int) float64 {
			if x[0] > 0 {
				return math.NaN()
			}
			return bowl(x, h)
		}), records, "value is NaN", ""},
	} {
		f := clique(2, func(f *sdk.Fleet) { f.Method.Mu = []float64{0.01} })
		if c.change != nil {
			c.change(f)
		}
		r, err := plan.Examine(t.Context(), c.oracle, f, 40, 0)
		if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v, want %q", c.name, err, c.fails)
		}
		if remarks := strings.Join(r.Remarks, "; "); (remarks != "") != (c.remark != "") || !strings.Contains(remarks, c.remark) {
			t.Errorf("%s: %q, want %q", c.name, remarks, c.remark)
		}
	}
}

// TestExamineInTime checks that Examine does not wait longer for an oracle than ctx allows, and judges the samples whose
// losses it has by then.
func TestExamineInTime(t *testing.T) {
	asked := 0
	slow := sdk.OracleFunc(func(context.Context, []float32, int) (float64, error) {
		if asked++; asked > 5 {
			select {}
		}
		return 3, nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	r, err := plan.Examine(ctx, slow, clique(2, nil), 40, 0)
	if r.Queries != 5 || err == nil || !strings.Contains(err.Error(), "each of 4 queries was answered with 3") ||
		len(r.Remarks) != 1 || !strings.Contains(r.Remarks[0], "although the 5 queries before it were answered: the oracle may hang") {
		t.Errorf("%+v, %v", r, err)
	}
	failing := sdk.OracleFunc(func(context.Context, []float32, int) (float64, error) { return 0, errors.New("no data") })
	if _, err := plan.Examine(t.Context(), failing, clique(2, nil), 1, 0); err == nil || !strings.Contains(err.Error(), "no data") {
		t.Error(err)
	}
}
