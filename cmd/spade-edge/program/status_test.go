package program

import (
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

func (tr *trial) tells(t *testing.T, member string, words ...string) {
	t.Helper()
	code, out, log := call("status", tr.path(member+".json"))
	for _, w := range words {
		if code != cli.ExitDone || !strings.Contains(out, w) {
			t.Errorf("exit code %d, no %q in\n%s%s", code, w, out, log)
		}
	}
}

// TestStatusOfOwnData checks that the status marks all values that come from the device's own data.
func TestStatusOfOwnData(t *testing.T) {
	st := monitor.Status{
		Name: "a", Run: "trial", Running: true, Queries: 9, Phase: monitor.Querying, ConsensusError: monitor.Unknown(), Local: &monitor.Local{FailedQueries: 3, LastFailure: "no\x1b[2J label"},
		Privacy: &monitor.Privacy{Against: monitor.Against{Epsilon: 0.00001, Limit: monitor.Unknown(), Planned: 1.00001}, Delta: 1e-5,
			Accounting: "gdp", Text: "epsilon 0.00001", TextPlanned: "epsilon 1.01", Lifetime: &monitor.Lifetime{Text: "epsilon 2.01"}},
	}
	var b strings.Builder
	node.WriteStatus(cli.Table{Writer: &b}, &st)
	text := b.String()
	for _, want := range []string{
		"privacy        epsilon 0.00001, at delta 1e-05 (gdp)\n", "whole run      epsilon 1.01\n", "epsilon 2.01, of the data set",
		"failed         3 of 9 losses could not be computed (for this device only). The last reason:\n",
		"\n               " + `no\x1b[2J label`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
