package plan_test

import (
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/zoest"
)

func TestCost(t *testing.T) {
	for _, c := range []struct {
		name            string
		change          func(f *sdk.Fleet)
		queries, memory int64
	}{
		{"tracking", func(f *sdk.Fleet) { f.Method.Estimator = zoest.Tracking }, 2 * 50_000_000, 50_000_000 * 106},
		{"paper", func(f *sdk.Fleet) { f.Method.Estimator = zoest.Paper }, 3 * 50_000_000, 50_000_000 * 28},
		{"batch", func(f *sdk.Fleet) { f.Method.Estimator, f.Method.Batch = zoest.Paper, 10 }, 50_000_020, 50_000_000 * 28},
		{"records", func(f *sdk.Fleet) { f.Method.Estimator, f.Privacy.Unit = zoest.Paper, dpmech.Record }, 2 * 50_000_000, 50_000_000 * 28},
	} {
		f := clique(2, func(f *sdk.Fleet) { f.Dim, f.Method.Tau, f.Method.Batch = 3, 2, 0 })
		c.change(f)
		if queries, memory := plan.Cost(f, 50_000_000); queries != c.queries || memory != c.memory {
			t.Errorf("%s: %d queries and %d bytes, want %d and %d", c.name, queries, memory, c.queries, c.memory)
		}
	}
}
