package sdk_test

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/zoest"
)

// lonely is an oracle whose pointer may be nil.
type lonely struct{}

func (*lonely) Loss(context.Context, []float32, int) (float64, error) { return 1, nil }

// TestFailuresAreTold checks that the owner of a private node whose oracle always fails learns why: by one warning, in
// the status, and in the state, also after a restart. A node whose oracle fails now and then logs no warning. The state
// has the same size in all cases, and the node's model is that of the state: the last release, shrunk.
func TestFailuresAreTold(t *testing.T) {
	t.Parallel()
	f := only(2, privateRing())
	f.Method.Tau = 20
	f.Method.Rounds, f.Method.Shrink = 3, 0.5
	sizes := map[int]bool{}
	for name, c := range map[string]struct {
		fails    func(query int) bool
		warnings int
	}{
		"always":       {func(int) bool { return true }, 1},
		"all but once": {func(query int) bool { return query != 50 }, 0},
		"never":        {func(int) bool { return false }, 0},
	} {
		dir, query, log := filepath.Join(t.TempDir(), "state"), 0, new(bytes.Buffer)
		store := must(state.Open(dir))(t)
		var again sdk.Config
		all := nodes(t, f, inMemory(t, f), func(i int, cfg *sdk.Config) {
			if i == 0 {
				return
			}
			cfg.Store, cfg.Logger = store, slog.New(slog.NewTextHandler(log, nil))
			cfg.Oracle = sdk.OracleFunc(func(_ context.Context, x []float32, _ int) (float64, error) {
				if query++; c.fails((query + 2) / 3) { // each query is asked three times
					panic("column age is gone")
				}
				return 0.5, nil
			})
			again = *cfg
		})
		mustRun(t, all)
		st := all[1].Status()
		if n := strings.Count(log.String(), "level=WARN"); n != c.warnings || n > 0 && !strings.Contains(log.String(), "losses_test.go") {
			t.Errorf("%s: %d warnings, want %d, with the stack\n%s", name, n, c.warnings, log)
		}
		if told := strings.Contains(st.LastFailure, "column age is gone"); told != (st.FailedQueries > 0) || told != c.fails(1) {
			t.Errorf("%s: %d of %d queries failed, the last because %q", name, st.FailedQueries, st.Queries, st.LastFailure)
		}
		restarted := must(sdk.New(again))(t)
		if now := restarted.Status(); now.FailedQueries != st.FailedQueries || now.LastFailure != st.LastFailure {
			t.Errorf("%s: after a restart %d queries failed, the last because %q", name, now.FailedQueries, now.LastFailure)
		}
		kept, err := state.ReadSnapshot(dir)
		if err != nil || kept.State.Failed != st.FailedQueries || kept.State.Queries != st.Queries || kept.FailureText() != st.LastFailure {
			t.Errorf("%s: the state has %d of %d, %q, %v", name, kept.State.Failed, kept.State.Queries, kept.FailureText(), err)
		}
		if got, want := f.Model(kept.State.X, kept.State.Round), all[1].Model(); !slices.Equal(got, want) || slices.Equal(got, kept.State.X) {
			t.Errorf("%s: the model of the state is %v, want %v", name, got, want)
		}
		saved := must(store.Load())(t)
		sizes[len(saved[0].State)] = true
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(sizes) != 1 {
		t.Errorf("the sizes of the states are %v, want one", sizes)
	}
}

// TestFlat checks that the owner of a node whose oracle ignores x learns it: in the status, and at the end in the log, at
// a level that stays on the device if the run is private.
func TestFlat(t *testing.T) {
	for name, c := range map[string]struct {
		loss func(x []float32, sample int) float64
		want string
	}{
		"a constant":              {func([]float32, int) float64 { return 0.7 }, "no loss of "},
		"a constant of a sample":  {func(_ []float32, sample int) float64 { return float64(sample) }, "no loss of "},
		"no number":               {func([]float32, int) float64 { return math.NaN() }, ""},
		"x":                       {func(x []float32, _ int) float64 { return float64(x[0]) }, ""},
		"x, but only of a sample": {func(x []float32, sample int) float64 { return map[bool]float64{true: float64(x[0])}[sample == 3] }, ""},
	} {
		for _, f := range []*sdk.Fleet{ring(), privateRing()} {
			f.Members, f.Edges, f.Method.Rounds, f.Method.Tau = f.Members[:2], f.Edges[:1], 3, 20
			log := new(bytes.Buffer)
			all := nodes(t, f, inMemory(t, f), func(i int, cfg *sdk.Config) {
				if i == 1 {
					cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
					cfg.Oracle = sdk.OracleFunc(func(_ context.Context, x []float32, sample int) (float64, error) { return c.loss(x, sample), nil })
				}
			})
			if name == "no number" && f.Privacy.NonPrivate {
				continue // the run ends
			}
			mustRun(t, all)
			level := map[bool]string{true: "WARN", false: "DEBUG"}[f.Privacy.NonPrivate]
			if got := all[1].Status().Flat; !strings.HasPrefix(got, c.want) || c.want == "" && got != "" || c.want != "" &&
				strings.Count(log.String(), "level="+level+" msg=\"no loss of ") != 1 {
				t.Errorf("%s: %q, want %q\n%s", name, got, c.want, log)
			}
			if got := all[0].Status().Flat; got != "" {
				t.Errorf("%s: the other node: %s", name, got)
			}
		}
	}
}

// TestLostLossWithoutPrivacy checks that a run without privacy ends with the reason, and that the error of a model that
// has diverged says so.
func TestLostLossWithoutPrivacy(t *testing.T) {
	f := only(1, ring())
	f.Method.Eta, f.Method.Estimator = []float64{1e5}, zoest.Tracking
	node := nodes(t, f, inMemory(t, f), func(_ int, c *sdk.Config) {
		c.Oracle = sdk.OracleFunc(func(_ context.Context, x []float32, _ int) (loss float64, _ error) {
			for _, v := range x {
				loss += (float64(v) - 1) * (float64(v) - 1)
			}
			return loss, nil
		})
	})[0]
	err := node.Run(t.Context())
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`sdk: "` + f.Members[0] + `" in round `, "want at most 1e30", "the model has diverged: a parameter has grown to ", "Use a smaller step (eta)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "NaN") || strings.Contains(err.Error(), "client") {
		t.Errorf("%v, want neither NaN nor a client", err)
	}
}
