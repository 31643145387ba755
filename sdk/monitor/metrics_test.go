package monitor

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
)

var update = flag.Bool("update", false, "write what the golden test finds into its file")

// TestMetricsGolden checks that the metrics of a node whose run protects each record, a non-private one and one whose run
// protects each client have exactly the expected text, with names that need escaping.
func TestMetricsGolden(t *testing.T) {
	private := Status{
		Version: 1, Run: "ward \"study\"\\\n1", Name: "a", Running: true, Ready: true, Phase: Waiting, Program: "spade-edge v1.2.0", Seconds: 12.5,
		Uptime: 3600, Waiting: []string{"b"},
		Round: 12, Rounds: 50, Cooldown: 30, Mixing: 4, Queries: 12345, FrameBytes: 678, RefusedFrames: 1, ConsensusError: 0.25,
		Compared: 11,
		Neighbors: []Neighbor{
			{Name: "b", Round: 11, Behind: 1, Missing: true, Link: &Link{Sent: 1000, Received: 2000,
				Refusal: "another fleet"}},
			{Name: "c", Round: 13, Behind: -1, Refused: 2, Link: &Link{Broker: true, Silent: true, Heard: 240, Seconds: 240}},
		},
		Privacy: &Privacy{Delta: 1e-5, Unit: dpmech.Record, Against: []Against{
			{Adversary: "any one member", Rho: 0.125, Bar: explain.Bar{Epsilon: 2.5}, Limit: 8, Planned: 7.5},
			{Adversary: dpmech.AllOthers, Rho: 0.25, Bar: explain.Bar{Epsilon: 4}, Limit: Unknown(), Planned: 12},
		}, Lifetime: &Lifetime{Unit: dpmech.Person(4, "pid"), Against: []LifetimeAgainst{{"no member", 3, Unknown()}, {dpmech.AllOthers, 5, 9}}}},
		Local:    &Local{Round: 12, Loss: 0.5, Accuracy: 0.75, Losses: Losses{FailedQueries: 3}},
		Evidence: []Evidence{{"b", 3}, {"c", 4}},
	}
	open := Status{
		Version: 1, Run: "trial", Name: "b", NonPrivate: true, Phase: Querying, Stalled: 1e-9, ConsensusError: Unknown(),
		Local: &Local{Round: 12, Loss: 0.5, Accuracy: Unknown(), Losses: Losses{FailedQueries: 3}},
	}
	clients := Status{Run: "ward", Name: "c", Privacy: &Privacy{Delta: 1e-5, Against: []Against{{Adversary: "everybody"}},
		Lifetime: &Lifetime{Against: []LifetimeAgainst{{"everybody", 3, Unknown()}}}}}
	got := string(Metrics(private, open, clients))
	const file = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("metrics are\n%s", got)
	}
	for line := range strings.Lines(got) {
		if strings.Contains(line, `node="a"`) && (strings.Contains(line, "loss") ||
			strings.Contains(line, "accuracy") || strings.Contains(line, "failed_queries")) {
			t.Errorf("a private run tells %s", line)
		}
	}
	if len(Metrics()) > 0 {
		t.Errorf("metrics of nothing: %q", Metrics())
	}
}
