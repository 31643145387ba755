package program

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
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

// shows checks that the text of a status matches all patterns.
func shows(t *testing.T, st *monitor.Status, patterns ...string) {
	t.Helper()
	var b strings.Builder
	node.WriteStatus(cli.Table{Writer: &b}, st)
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + p).MatchString(b.String()) {
			t.Errorf("no %s in\n%s", p, &b)
		}
	}
}

// TestStatusOfNeighbors checks the text about neighbors behind a broker, and about a neighbor whose release is missing.
func TestStatusOfNeighbors(t *testing.T) {
	shows(t, &monitor.Status{Running: true, Phase: monitor.Waiting, Seconds: 240, Waiting: []string{"c"}, ConsensusError: monitor.Unknown(),
		Neighbors: []monitor.Neighbor{
			{Name: "a", Link: &monitor.Link{Broker: true, Silent: true, Seconds: 240, Heard: 240}},
			{Name: "b", Link: &monitor.Link{Broker: true, Silent: true, Seconds: 240}},
			{Name: "c", Missing: true, Link: &monitor.Link{Broker: true, Connected: true, Seconds: 600, Heard: 5, Address: "mqtt://h:1"}},
			{Name: "d", Link: &monitor.Link{Connected: true, Seconds: 600, How: "dialed", Address: "h:1"}},
		}},
		`"a": silent for 4m0s \(last heard at 2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ; the broker works\), in step`,
		`"b": silent for 4m0s \(not heard since this node started; the broker works\)`,
		`"c": connected for 10m0s \(at mqtt://h:1\), last heard at .*Z, in step, this node has waited for it for 4m0s,`,
		`"d": connected for 10m0s \(dialed h:1\), in step, 0 bytes sent`)
}

// TestStatusOfOwnData checks that the status marks all values that come from the device's own data.
func TestStatusOfOwnData(t *testing.T) {
	shows(t, &monitor.Status{
		Name: "a", Run: "trial", Running: true, Queries: 9, Phase: monitor.Querying, ConsensusError: monitor.Unknown(), Local: &monitor.Local{FirstRound: 75, Losses: monitor.Losses{FailedQueries: 3, LastFailure: "no\x1b[2J label"}},
		Privacy: &monitor.Privacy{Against: []monitor.Against{{Bar: explain.Bar{Epsilon: 0.00001}, Limit: monitor.Unknown(), Planned: 1.00001}}, Delta: 1e-5,
			Accounting: "gdp", Text: "epsilon 0.00001", TextPlanned: "epsilon 1.01", Lifetime: &monitor.Lifetime{Text: "epsilon 2.01"}},
	},
		`^privacy        epsilon 0\.00001, at delta 1e-05 \(gdp\)$`, `^whole run      epsilon 1\.01$`, `epsilon 2\.01, of the data set`,
		`^failed         3 of 9 losses could not be computed \(for this device only\)\. The last reason:$`,
		`^               no\\x1b\[2J label`, `^first round    ends in about 1m15s \(for this device only\)$`)
}
