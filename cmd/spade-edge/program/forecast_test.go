package program

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"
	"github.com/spade-dfl/spade-edge/sdk/plan"
)

// A run that is forecast to be worth nothing says so in init and check, and does not begin unless asked by name.
func TestHopelessRun(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "few")
	var made fleet.InitResult
	into(t, &made, cli.ExitDone, "init", dir, "-n", "1", "-hosts", ownPort(), "-epsilon", "0.5", "-rounds", "4", "-cooldown", "1")
	if made.Forecast == nil || made.Forecast.Gain > 0.25 || made.Forecast.Epsilon <= 0.5 || made.Forecast.Share {
		t.Errorf("%+v", made.Forecast)
	}
	node := made.Nodes[0].File
	if code, text := said("check", node); code != cli.ExitDone ||
		!strings.Contains(text, "0 % of the way from the most frequent answer") ||
		!strings.Contains(text, "run refuses it without -anyway") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	var out, log bytes.Buffer
	if code := run(t.Context(), []string{"run", node}, &out, &log); code != cli.ExitRefused ||
		!strings.Contains(log.String(), plan.ErrHopeless.Error()) || !strings.Contains(log.String(), "-anyway") {
		t.Errorf("exit code %d: %s%s", code, out.String(), log.String())
	}
	if _, text := said("privacy", "-ledger", filepath.Join(filepath.Dir(node), "ledger.json")); !strings.Contains(text, "releases       0,") {
		t.Errorf("a refused run has spent: %s", text)
	}
	if code := run(t.Context(), []string{"run", "-anyway", node}, &out, &log); code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, log.String())
	}
}

// The sentence names what would do, and only that.
func TestForecastText(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string][]string{
		"-nodes 8 -graph ring -dim 6 -samples 400":                  {" nodes, epsilon ", " or -colluders auto (", " would bring 80 %"},
		"-nodes 2 -graph ring -dim 6 -samples 400":                  {"nodes or epsilon ", " would bring 80 %"},
		"-nodes 8 -graph complete -dim 6 -samples 400 -colluders 1": {"right 55 and 83 times in 100, about 82 times (9 of 10 such runs: "},
		"-nodes 5 -graph ring -dim 40 -samples 400 -epsilon 1": {"0 % of the way", "-unit record (epsilon 1 for each record",
			"half of the 40 parameters, for example with fewer columns, would bring "},
	} {
		code, text := said(append([]string{"plan"}, strings.Fields(flags)...)...)
		for _, want := range append(want, "forecast  ") {
			if code != cli.ExitDone || !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", flags, want, text)
			}
		}
	}
	if _, text := said("plan", "-non-private"); strings.Contains(text, "forecast") {
		t.Errorf("without noise:\n%s", text)
	}
}
