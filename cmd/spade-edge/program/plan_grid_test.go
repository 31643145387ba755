package program

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/lab"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
)

// Each cell of a grid equals the forecast of plan with the same number of members, unit and epsilon.
func TestPlanGrid(t *testing.T) {
	t.Parallel()
	code, out, log := call("plan", "-grid", "4,31", "-epsilon", "1,8", "-dim", "34", "-samples", "200", "-json")
	var g lab.Grid
	if err := json.Unmarshal([]byte(out), &g); code != cli.ExitDone || err != nil || len(g.Cells) != 8 {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, log)
	}
	different := map[float64]bool{}
	for _, c := range g.Cells {
		code, out, log := call("plan", "-nodes", fmt.Sprint(c.Nodes), "-graph", "complete", "-unit", fmt.Sprint(c.Unit), "-epsilon",
			fmt.Sprint(c.Epsilon), "-dim", "34", "-samples", "200", "-json")
		var r setup.Report
		if err := json.Unmarshal([]byte(out), &r); code != cli.ExitDone || err != nil {
			t.Fatalf("exit code %d, %v: %s", code, err, log)
		}
		if f := r.Forecast; f.Gain != c.Gain || f.Low != c.Low || f.High != c.High {
			t.Errorf("%+v, but plan says %+v", c, *f)
		}
		different[c.Gain] = true
	}
	if len(different) < 6 {
		t.Errorf("the cells have only %d gains", len(different))
	}
	code, out, _ = call("plan", "-grid", "4,31", "-epsilon", "1,8", "-dim", "34", "-samples", "200")
	if code != cli.ExitDone || !strings.Contains(out, "epsilon for each record:\n\nmembers       epsilon 1       epsilon 8\n      4 ") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	for want, args := range map[string][]string{
		"-grid and -unit cannot be combined":         {"-grid", "4", "-unit", "record"},
		"-grid: 1 members, want 2..1000":             {"-grid", "1"},
		`"x", want numbers of members`:               {"-grid", "4,x"},
		"-epsilon has 2 values, want one":            {"-epsilon", "1,2"},
		"5 members, epsilon 0.5 for each client: -g": {"-grid", "5", "-graph", "grid:2x3"},
	} {
		if code, _, log := call(append([]string{"plan"}, args...)...); code != cli.ExitUsage || !strings.Contains(log, want) {
			t.Errorf("%v: exit code %d, want %q in %s", args, code, want, log)
		}
	}
}
