package monitor

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMonitoringExamples checks that the dashboard and the alert rules of examples/monitoring use only metrics that
// exist. If promtool is installed, the test also checks that promtool accepts the rules.
func TestMonitoringExamples(t *testing.T) {
	known := map[string]bool{}
	text, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`# TYPE (\w+) `).FindAllStringSubmatch(string(text), -1) {
		known[m[1]] = true
	}
	dir := filepath.FromSlash("../../examples/monitoring")
	for _, name := range []string{"dashboard.json", "alerts.yml", "alerts.test.yml"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON", name)
		}
		found := regexp.MustCompile(`spade_edge_\w+`).FindAllString(string(text), -1)
		for _, metric := range found {
			if !known[metric] {
				t.Errorf("%s: no node has a metric %s", name, metric)
			}
		}
		if len(found) < 5 {
			t.Errorf("%s names %d metrics", name, len(found))
		}
	}
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not there: Debian has it in the package prometheus")
	}
	for _, args := range []string{"check rules alerts.yml", "test rules alerts.test.yml", "check config --syntax-only prometheus.yml"} {
		cmd := exec.Command(tool, strings.Fields(args)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", args, err, out)
		}
	}
}
