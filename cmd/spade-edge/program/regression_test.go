package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// measured writes a CSV file of 1200 rows as in German Excel, with missing cells, and returns the value for -data.
// Column y is 20 + 3a - 2b plus noise of deviation 1.
func measured(t *testing.T) string {
	t.Helper()
	s := rng.New(1, rng.Address{Purpose: rng.Fault})
	text := "\ufeffsep=;\r\na;b;note;y;\r\n"
	for i := range 1200 {
		a, b := s.Normal(), s.Normal()
		line := fmt.Sprintf("%.3f;%.3f;-;%.2f;\r\n", a, b, 20+3*a-2*b+s.Normal())
		if i%50 == 7 {
			line = "NA" + line[strings.Index(line, ";"):]
		}
		text += strings.ReplaceAll(line, ".", ",")
	}
	path := filepath.Join(t.TempDir(), "messwerte.csv")
	if err := os.WriteFile(path, []byte(text+";;;;\r\n\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "csv:" + path
}

// With a numeric target and a messy file, the RMSE of both models is close to the noise, and no accuracy is reported.
func TestRegression(t *testing.T) {
	arithmetic(t)
	flags := []string{"-data", measured(t), "-target", "y", "-drop", "note", "-missing", "mean", "-nodes", "4", "-graph", "ring",
		"-partition", "dirichlet:0.3", "-rounds", "60", "-non-private"}
	for _, c := range []struct {
		model string
		dim   int
		most  float64 // RMSE; the noise alone gives 1, and the range cuts off a little
	}{{"linear", 3, 1.3}, {"perceptron", 8*3 + 9, 1.5}} {
		sim := outcome(t, append([]string{"simulate", "-model", c.model, "-average"}, flags...)...)
		g := sim.Regression
		if g == nil || sim.Accuracies != nil {
			t.Fatalf("%s: result %+v", c.model, sim)
		}
		t.Logf("%s: %+v", c.model, *g)
		if sim.Dim != c.dim || g.Mean > c.most || g.Worst < g.Mean || g.Constant < 3 ||
			g.Averaged == nil || g.Network > c.most {
			t.Errorf("%s: %d parameters, %+v", c.model, sim.Dim, *g)
		}
	}
	demo, sim := outcome(t, append([]string{"demo"}, flags...)...), outcome(t, append([]string{"simulate"}, flags...)...)
	if g := demo.Regression; demo.Transcript != sim.Transcript || g == nil || *g.Pooled > 1.3 || *g.Alone < *g.Pooled {
		t.Errorf("demo %+v, simulation %+v", demo, sim)
	}
	code, out, log := call(append([]string{"demo"}, flags...)...)
	if code != cli.ExitDone || !strings.Contains(out, "RMSE is on test data") || !strings.Contains(out, "\nmean ") ||
		strings.Contains(out, "accuracy") || !strings.Contains(log, "-model linear -standardize true") {
		t.Errorf("exit code %d\n%s\n%s", code, log, out)
	}
	if code, out, _ = call(append([]string{"simulate"}, flags...)...); code != cli.ExitDone || !strings.Contains(out, "by always saying the mean of the test data") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// For a numeric target the fleet file gives the target and how to handle missing cells.
func TestRegressionFleet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fleet")
	code, _, log := call("init", dir, "-nodes", "a,b", "-data", measured(t), "-target", "y", "-drop", "note", "-missing", "indicator",
		"-rounds", "5", "-non-private", "-hosts", ownPort()+","+ownPort())
	if code != cli.ExitDone {
		t.Fatalf("init: exit code %d\n%s", code, log)
	}
	var all sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		file := filepath.Join(dir, name, "node.json")
		if code, out, log := call("check", file); code != cli.ExitDone {
			t.Errorf("check: exit code %d\n%s%s", code, log, out)
		}
		all.Go(func() {
			code, out, log := call("run", file, "-json")
			var r node.RunResult
			if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.ExitDone {
				t.Errorf("exit code %d, %v\n%s", code, err, log)
				return
			}
			if e := r.LocalErrors; r.Local != nil || e == nil || e.Samples != 240 || !(e.RMSE < e.MeanRMSE) || e.Covered {
				t.Errorf("local %+v, errors %+v", r.Local, e)
			}
		})
	}
	all.Wait()
}

// Conflicting flags give an error with advice before any data are read.
func TestRegressionFaults(t *testing.T) {
	data := measured(t)
	for want, args := range map[string][]string{
		`-model softmax, -target "y": model softmax is for classes`:                   {"simulate", "-data", data, "-target", "y", "-model", "softmax"},
		`-model linear, -target "": model linear is for a target`:                     {"simulate", "-data", data, "-label", "y", "-model", "linear"},
		`-target "y" and label "a", want only one`:                                    {"fit", "-data", data, "-target", "y", "-label", "a", "-fitted-on", "x"},
		`-missing "guess", want mean, median, indicator or drop`:                      {"simulate", "-data", data, "-label", "y", "-missing", "guess"},
		`values that are numbers, too many for classes: give target instead of label`: {"simulate", "-data", data, "-label", "y", "-drop", "note", "-missing", "drop"},
		`column "a": "NA" is not a finite number; to accept missing cells`:            {"simulate", "-data", data, "-target", "y", "-drop", "note"},
	} {
		if code, out, log := call(args...); code == cli.ExitDone || !strings.Contains(log, want) {
			t.Errorf("%q: exit code %d\n%s%s\nwant %s", args, code, log, out, want)
		}
	}
	if code, out, log := call("plan", "-model", "linear", "-dim", "30"); code != cli.ExitDone {
		t.Errorf("plan: exit code %d\n%s%s", code, log, out)
	}
}
