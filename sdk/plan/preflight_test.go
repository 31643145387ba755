package plan_test

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

func nothing() (*wire.Snapshot, error) { return nil, fs.ErrNotExist }

func asks(loss float64, err error) sdk.OracleFunc {
	return func(context.Context, []float32, int) (float64, error) { return loss, err }
}

// TestPreflightOracle checks that Preflight reports why an oracle is unusable, and does not wait for an oracle that
// never answers.
func TestPreflightOracle(t *testing.T) {
	for name, c := range map[string]struct {
		oracle sdk.OracleFunc
		want   string
	}{
		"sound":  {func(_ context.Context, x []float32, h int) (float64, error) { return bowl(x, h), nil }, ""},
		"still":  {asks(1, nil), "nothing can be learned from a constant loss"},
		"fails":  {asks(0, errors.New("no data")), "no data"},
		"NaN":    {asks(math.NaN(), nil), "the loss at the start vector is NaN"},
		"panics": {func(context.Context, []float32, int) (float64, error) { panic("broken") }, "the oracle panicked: broken"},
		"hangs":  {func(context.Context, []float32, int) (float64, error) { select {} }, "deadline"},
	} {
		limit := time.Minute
		if name == "hangs" {
			limit = 10 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		r := plan.Preflight(ctx, sdk.Config{Fleet: clique(8, nil), Name: "3", Samples: 5, Oracle: c.oracle}, nothing)
		cancel()
		if (r.Oracle != nil) != (c.want != "") || r.Oracle != nil && !strings.Contains(r.Oracle.Error(), c.want) {
			t.Errorf("%s: %v", name, r.Oracle)
		}
		if err := errors.Join(r.Config, r.State, r.Privacy, r.Ledger); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPreflightRecords checks that, with record-level privacy, Preflight accepts an oracle if one of the first 16
// records has a loss.
func TestPreflightRecords(t *testing.T) {
	f := clique(2, func(f *sdk.Fleet) { f.Privacy.Unit, f.Records = dpmech.Record, []int{40, 40} })
	for first, sound := range map[int]bool{0: true, 15: true, 16: false} {
		oracle := sdk.OracleFunc(func(_ context.Context, x []float32, sample int) (float64, error) {
			if sample < first {
				return 0, errors.New("no record")
			}
			return bowl(x, sample), nil
		})
		r := plan.Preflight(t.Context(), sdk.Config{Fleet: f, Name: "0", Samples: 40, Oracle: oracle}, nothing)
		if (r.Oracle == nil) != sound {
			t.Errorf("the first record with a loss is %d: %v", first, r.Oracle)
		}
	}
}

// TestPreflightChecks checks that the report contains the findings of [sdk.Config.Check] and, for a private run, the
// forecast.
func TestPreflightChecks(t *testing.T) {
	f := clique(8, func(f *sdk.Fleet) { f.Privacy.EpsilonLimit = 1 })
	kept := func() (*wire.Snapshot, error) { return &wire.Snapshot{Member: "4"}, nil }
	r := plan.Preflight(t.Context(), sdk.Config{Fleet: f, Name: "3", Samples: 5}, kept)
	want, err := plan.Forecast(f, 5)
	if err != nil || r.Config != nil || r.State == nil || r.Privacy == nil || r.Kept != nil || r.Forecast == nil || r.Forecast.Gain != want.Gain {
		t.Errorf("%+v, %v", r, err)
	}
	if r := plan.Preflight(t.Context(), sdk.Config{Fleet: f, Name: "3", Samples: 5}, nil); r.State != nil || r.Kept != nil {
		t.Errorf("without a store: %+v", r)
	}
	free := clique(8, func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{NonPrivate: true} })
	for _, cfg := range []sdk.Config{{Fleet: f, Name: "x", Samples: 5}, {Fleet: free, Name: "3"}, {Name: "3", Oracle: asks(1, nil)}} {
		r := plan.Preflight(t.Context(), cfg, nothing)
		if (r.Config == nil) != (cfg.Fleet == free) || r.Forecast != nil {
			t.Errorf("%+v", r)
		}
	}
}
