package program

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk"
)

// The log of a private run says nothing of how many samples a node has, and how many losses it asks for, as lines and as JSON. The
// result, on standard output, does.
func TestLogHidesSamples(t *testing.T) {
	t.Parallel()
	for _, private := range []bool{true, false} {
		tr := newTrial(t, "ab", func(f *sdk.Fleet) {
			if private {
				f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5}
			}
		})
		a, b := start(t, "run", tr.path("a.json"), "-log", "json", "-json"), start(t, "run", tr.path("b.json"), "-json")
		if a.outcome(t).Queries == 0 {
			t.Error("the result has no number of losses")
		}
		b.outcome(t)
		for _, p := range []*process{a, b} {
			counts := regexp.MustCompile(`(?i)samples|losses|quer|[0-9] rows`).MatchString(p.log.String())
			if counts == private {
				t.Errorf("private %v: the log is\n%s", private, p.log.String())
			}
		}
	}
	// An error of the settings is logged as well.
	code, _, log := call("run", guardedTracking(t).path("a.json"), "-log", "json")
	if code != cli.ExitFailed || !strings.Contains(log, "is above the limit of 1 bytes") || regexp.MustCompile(`[0-9]+ samples|takes [0-9]+ bytes`).MatchString(log) {
		t.Errorf("exit code %d, %s", code, log)
	}
}

// guardedTracking is a private fleet with a memory that is too large for its nodes.
func guardedTracking(t *testing.T) *trial {
	t.Helper()
	tr := newTrial(t, "ab", func(f *sdk.Fleet) {
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5}
		f.Method.Estimator = sdk.EstimatorTracking
	})
	tr.edit(t, "a.json", `"version": 1`, `"version": 1, "memory_limit": 1`)
	return tr
}
