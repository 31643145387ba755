package program

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/lab"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
)

// Tests see a line for each round; TestProgressLines tests what users see.
func init() { cli.ProgressLines = math.MaxInt32 }

// A sweep equals the single runs, in the order of the flags.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model := filepath.Join(dir, "model.json")
	args := with(small, "-seeds", "3,1..2", "-epsilon", "4,2", "-save", model)
	var s lab.Sweep
	into(t, &s, cli.ExitDone, args...)
	if len(s.Runs) != 6 || len(s.Table) != 2 || s.Score != "accuracy_mean" {
		t.Fatalf("%+v", s)
	}
	order := []struct{ seed, epsilon string }{{"3", "4"}, {"1", "4"}, {"2", "4"}, {"3", "2"}, {"1", "2"}, {"2", "2"}}
	for i, o := range order {
		alone := outcome(t, with(small, "-seed", o.seed, "-epsilon", o.epsilon)...)
		if got := s.Runs[i]; got.Transcript != alone.Transcript || got.Mean != alone.Mean {
			t.Errorf("run %d is %+v, alone %+v", i, got, alone)
		}
	}
	mean := (s.Runs[0].Mean + s.Runs[1].Mean + s.Runs[2].Mean) / 3
	if g := s.Table[0]; *g.Epsilon != 4 || g.Runs != 3 || math.Abs(g.Mean-mean) > 1e-9 || !(g.Worst <= g.Mean && g.WorstClient <= g.Worst) ||
		!(g.SD > 0) {
		t.Errorf("%+v", g)
	}
	// The model of the first seed at the last epsilon can be applied.
	m, err := builtin.ReadModel(model)
	if err != nil || m.Member != "node-0" || !m.NonPrivate || m.Round != 13 {
		t.Fatalf("%+v, %v", m, err)
	}
	single := filepath.Join(dir, "single.json")
	outcome(t, with(small, "-seed", "3", "-epsilon", "2", "-save", single)...)
	if other, err := builtin.ReadModel(single); err != nil || sdk.ModelHash(other.Weights) != sdk.ModelHash(m.Weights) {
		t.Errorf("the model of the run alone is another: %v", err)
	}
	if code, text := said("evaluate", single, "-data", "synthetic:clinical"); code != cli.ExitDone || !strings.Contains(text, "accuracy  ") {
		t.Errorf("exit code %d: %s", code, text)
	}
	// -save overwrites no file, and fails before the run.
	for want, more := range map[string][]string{
		model + " already exists: -force": {"-save", model},
		"there is no folder":              {"-save", filepath.Join(dir, "no", "x.json")},
		"-seed and -seeds cannot":         {"-seed", "1", "-seeds", "1..2"},
		"2 is given twice":                {"-seeds", "1..3,2"},
		`"5..1", want numbers and ranges`: {"-seeds", "5..1"},
		`"0..9999999", want numbers`:      {"-seeds", "0..9999999"},
		"-epsilon has 0, want":            {"-epsilon", "1,0"},
		"at most 10000":                   {"-seeds", "1..9999", "-epsilon", "1,2"},
	} {
		if code, text := said(with(small, more...)...); code != cli.ExitUsage || !strings.Contains(text, want) || strings.Contains(text, "chosen") {
			t.Errorf("%v: exit code %d, want %q in %s", more, code, want, text)
		}
	}
	before := readFile(t, model)
	outcome(t, with(small, "-seed", "9", "-save", model, "-force")...)
	if readFile(t, model) == before {
		t.Error("-force has not overwritten")
	}
}

// Runs for a numeric target are listed by RMSE.
func TestSweepOfNumbers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "d.csv")
	var text bytes.Buffer
	text.WriteString("a,y\n")
	for i := range 100 {
		text.WriteString(cli.Digits(float64(i%10)) + "," + cli.Digits(float64(3*i%30)) + "\n")
	}
	if err := os.WriteFile(data, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"simulate", "-data", "csv:" + data, "-target", "y", "-nodes", "4", "-graph", "ring", "-rounds", "5", "-non-private",
		"-seeds", "1..2"}
	if code, text := said(args...); code != cli.ExitDone || !strings.Contains(text, "mean RMSE") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

// The help of a command with many flags shows a few existing ones, and all on request.
func TestHelpAll(t *testing.T) {
	t.Parallel()
	for name, flags := range cli.BeginWith {
		_, few, _ := call(name, "-h")
		_, all, _ := call(name, "-h", "all")
		if strings.Count(few, "\n  -") != len(flags)+strings.Count(cli.About(name), "\n  -") || len(all) < 2*len(few)-len(cli.About(name)) {
			t.Errorf("%s:\n%s\n%s", name, few, all)
		}
		for _, f := range flags {
			if !strings.Contains(few, "\n  -"+f+" ") && !strings.Contains(few, "\n  -"+f+"\n") {
				t.Errorf("%s: no -%s in\n%s", name, f, few)
			}
		}
	}
}

// Where lines do not move, there are about ten, whatever the number of rounds.
func TestProgressLines(t *testing.T) {
	parts := cli.ProgressLines
	defer func() { cli.ProgressLines = parts }()
	cli.ProgressLines = 10
	for _, rounds := range []int{1, 7, 30, 1000} {
		var log bytes.Buffer
		p := cli.NewProgress(&log, sdk.Method{Rounds: rounds})
		for k := range rounds {
			p.Round(k+1, "")
		}
		if n := strings.Count(log.String(), "\n"); n != min(rounds, 11) && n != 10 {
			t.Errorf("%d lines for %d rounds:\n%s", n, rounds, log.String())
		}
		if !strings.Contains(log.String(), "round ") || !strings.Contains(log.String(), cli.Digits(float64(rounds))+" of "+cli.Digits(float64(rounds))) {
			t.Errorf("the last of %d rounds is not there:\n%s", rounds, log.String())
		}
	}
}
