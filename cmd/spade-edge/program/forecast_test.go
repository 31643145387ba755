package program

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"

	"github.com/spade-dfl/spade-edge/sdk"
)

// A run that is forecast to be worth nothing says so in init and check, and does not begin unless asked by name.
func TestHopelessRun(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "few")
	var made fleet.InitResult
	into(t, &made, cli.ExitDone, "init", dir, "-n", "1", "-hosts", ownPort(), "-epsilon", "0.5", "-rounds", "4", "-cooldown", "1")
	if made.Forecast == nil || made.Forecast.Worth != sdk.Hopeless || made.Forecast.Epsilon <= 0.5 || made.Forecast.Share {
		t.Errorf("%+v", made.Forecast)
	}
	node := made.Nodes[0].File
	if code, text := said("check", node); code != cli.ExitDone ||
		!strings.Contains(text, "1 nodes are too few at epsilon 0.5: expect little better than guessing") ||
		!strings.Contains(text, "run refuses it without -anyway") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	var out, log bytes.Buffer
	if code := run(t.Context(), []string{"run", node}, &out, &log); code != cli.ExitRefused ||
		!strings.Contains(log.String(), sdk.ErrHopeless.Error()) || !strings.Contains(log.String(), "-anyway") {
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
		"-nodes 8 -graph ring -dim 6 -samples 400":                  {"weak: ", "10 nodes, epsilon 9 or -colluders auto (", " would do"},
		"-nodes 2 -graph ring -dim 6 -samples 400":                  {"weak: ", "nodes or epsilon ", " would do"},
		"-nodes 8 -graph complete -dim 6 -samples 400 -colluders 1": {"good: ", "what is learned is 2.3 of the noise\n"},
		"-nodes 5 -graph ring -dim 40 -samples 400 -epsilon 1": {"5 nodes are too few at epsilon 1: expect little better than guessing; ",
			"with half of the 40 parameters, as of fewer columns, it would be "},
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
