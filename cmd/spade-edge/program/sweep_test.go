package program

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/lab"

	"github.com/spade-dfl/spade-edge/sdk"
)

// In tests, each round prints a line of progress. TestProgressLines tests the number of lines that users see.
func init() { cli.ProgressLines = math.MaxInt32 }

// TestSweep checks that the results of a sweep are the same as those of separate simulations with the same seeds and
// epsilons, in the order of the flags.
func TestSweep(t *testing.T) {
	t.Parallel()
	var s lab.Sweep
	into(t, &s, cli.ExitDone, with(small, "-seeds", "3,1..2", "-epsilon", "4,2")...)
	if len(s.Runs) != 6 || len(s.Table) != 2 || s.Score != "accuracy_mean" {
		t.Fatalf("%+v", s)
	}
	for i, flags := range []string{"-seed 3 -epsilon 4", "-seed 1 -epsilon 4", "-seed 2 -epsilon 4", "-seed 3 -epsilon 2", "-seed 1 -epsilon 2", "-seed 2 -epsilon 2"} {
		alone := outcome(t, with(small, strings.Fields(flags)...)...)
		if got := s.Runs[i]; got.Transcript != alone.Transcript || got.Mean != alone.Mean {
			t.Errorf("run %d is %+v, alone %+v", i, got, alone)
		}
	}
	mean := (s.Runs[0].Mean + s.Runs[1].Mean + s.Runs[2].Mean) / 3
	if g := s.Table[0]; *g.Epsilon != 4 || g.Runs != 3 || math.Abs(g.Mean-mean) > 1e-9 || !(g.Worst <= g.Mean && g.WorstClient <= g.Worst) || !(g.SD > 0) {
		t.Errorf("%+v", g)
	}
}

// TestProgressLines checks that a run prints about ten lines of progress, no matter how many rounds it has.
func TestProgressLines(t *testing.T) {
	parts := cli.ProgressLines
	defer func() { cli.ProgressLines = parts }()
	cli.ProgressLines = 10
	for _, rounds := range []int{1, 7, 30, 1000} {
		var log bytes.Buffer
		p := cli.NewProgress(&log, sdk.Method{Rounds: rounds})
		for k := range rounds {
			p.Round(k+1, func() string { return "" })
		}
		if n := strings.Count(log.String(), "\n"); n != min(rounds, 11) && n != 10 {
			t.Errorf("%d lines for %d rounds:\n%s", n, rounds, log.String())
		}
		if !strings.Contains(log.String(), "round ") || !strings.Contains(log.String(), fmt.Sprintf("%d of %d", rounds, rounds)) {
			t.Errorf("the last of %d rounds is not there:\n%s", rounds, log.String())
		}
	}
}
