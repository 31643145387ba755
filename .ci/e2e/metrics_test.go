package e2e

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// TestMetricsParse checks that Prometheus' parser recovers the values and names that the node reports, even if the
// names need escaping.
func TestMetricsParse(t *testing.T) {
	const run = "a \"run\"\\ of\nlines"
	status := monitor.Status{
		Run: run, Name: "ward-1", NonPrivate: true, Phase: monitor.Waiting, Round: 7, Rounds: 50, Cooldown: 30,
		Queries:        1 << 40,
		ConsensusError: 0.125, Program: "edge 1",
		Neighbors: []monitor.Neighbor{{Name: `b\`, Round: 6, Behind: 1, Missing: true,
			Link: &monitor.Link{Connected: true, Sent: 10, Received: 20}}},
		Local: &monitor.Local{Loss: 0.25, Accuracy: monitor.Unknown()},
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(monitor.Metrics(status))))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for name, f := range families {
		if !strings.HasPrefix(name, "spade_edge_") || f.GetHelp() == "" {
			t.Errorf("%s has the help %q", name, f.GetHelp())
		}
		for _, m := range f.Metric {
			labels := ""
			for _, l := range m.Label {
				switch l.GetName() {
				case "run":
					if l.GetValue() != run {
						t.Errorf("run is %q", l.GetValue())
					}
				case "node":
				default:
					labels += fmt.Sprintf("{%s=%s}", l.GetName(), l.GetValue())
				}
			}
			v := m.GetGauge().GetValue()
			if c := m.GetCounter(); c != nil {
				v = c.GetValue()
				if !strings.HasSuffix(name, "_total") {
					t.Errorf("%s is a counter", name)
				}
			}
			got[strings.TrimPrefix(name, "spade_edge_")+labels] = v
		}
	}
	for name, want := range map[string]float64{
		"round": 7, "rounds": 80, "queries_total": 1 << 40, "consensus_error": 0.125, "loss": 0.25, "phase{phase=waiting}": 1,
		"phase{phase=querying}":               0,
		`neighbor_behind_rounds{neighbor=b\}`: 1, `neighbor_received_bytes_total{neighbor=b\}`: 20, "info{private=false}{program=edge 1}": 1,
	} {
		if v, there := got[name]; !there || v != want {
			t.Errorf("%s is %v (%v), want %v", name, v, there, want)
		}
	}
	if _, there := got["accuracy_ratio"]; there {
		t.Error("an unknown accuracy is told")
	}
}

// TestMetricsOfNode checks that the metrics of a running private node can be parsed, that they change, and that none of
// them is computed directly from the private data.
func TestMetricsOfNode(t *testing.T) {
	dir := newFleet(t)
	var nodes []*process
	for _, name := range []string{"ward-1", "ward-2", "ward-3"} {
		nodes = append(nodes, start(t, "run", "-anyway", filepath.Join(dir, name+".json")))
	}
	origin := nodes[0].address(t)
	scrape := func() map[string]float64 {
		resp, err := http.Get(origin + "metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		format := expfmt.ResponseFormat(resp.Header)
		if format.FormatType() != expfmt.TypeTextPlain || !strings.Contains(string(format), "0.0.4") {
			t.Fatalf("format %q", format)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		sums := map[string]float64{}
		for name, f := range families {
			for _, m := range f.Metric {
				sums[strings.TrimPrefix(name, "spade_edge_")] += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
		return sums
	}
	deadline := time.Now().Add(time.Minute)
	for {
		if m := scrape(); m["round"] > 3 && m["neighbor_connected"] == 2 && m["ready"] == 1 {
			for _, name := range []string{"epsilon", "epsilon_limit", "epsilon_planned", "delta", "zcdp_rho",
				"lifetime_epsilon", "neighbor_sent_bytes_total", "consensus_error"} {
				if !(m[name] > 0) {
					t.Errorf("%s is %v", name, m[name])
				}
			}
			for _, name := range []string{"loss", "accuracy_ratio", "failed_queries_total", "queries_total"} {
				if _, there := m[name]; there {
					t.Errorf("%s of a private run is told", name)
				}
			}
			if next := scrape(); next["frame_sent_bytes_total"] < m["frame_sent_bytes_total"] || next["uptime_seconds"] <= m["uptime_seconds"] {
				t.Error("counters have gone back")
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no rounds within a minute: %v", scrape())
		}
		time.Sleep(50 * time.Millisecond)
	}
}
