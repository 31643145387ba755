package program

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// TestFiguresAgree checks that all places that state what a run has cost state the same, to the digit shown: what run
// prints, status, the page's JSON, metrics, certificate, verification, report and ledger. The run protects each record, and
// its members share noise, so that there are two adversaries.
func TestFiguresAgree(t *testing.T) {
	t.Parallel()
	dir, names := filepath.Join(t.TempDir(), "fleet"), []string{"a", "b", "c"}
	must := func(args ...string) string {
		t.Helper()
		code, out, log := call(args...)
		if code != cli.ExitDone {
			t.Fatalf("%q: exit code %d\n%s%s", args, code, out, log)
		}
		return out
	}
	must("init", dir, "-nodes", strings.Join(names, ","), "-hosts", ownPort()+","+ownPort()+","+ownPort(), "-graph", "complete",
		"-rounds", "4", "-cooldown", "1", "-epsilon", "2", "-unit", "record", "-colluders", "1")
	var wg sync.WaitGroup
	printed := make([]string, len(names))
	for i, name := range names {
		wg.Go(func() { _, printed[i], _ = call("run", "-anyway", filepath.Join(dir, name, "node.json")) })
	}
	wg.Wait()
	at := func(name string) string { return filepath.Join(dir, "a", name) }
	c, err := certificate.Parse([]byte(readFile(t, at("state/certificate.json"))))
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	var st monitor.Status
	var life certificate.Lifetime
	for into, text := range map[any]string{&st: must("status", at("node.json"), "-json"), &life: must("privacy", "-ledger", at("ledger.json"), "-json")} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}

	// Numbers, of which every text is made.
	metrics := regexp.MustCompile(`(?m)^spade_edge_(?:lifetime_)?epsilon\{.*\} (.*)$`).FindAllStringSubmatch(string(monitor.Metrics(st)), -1)
	total, _ := c.Bound()
	bars := explain.Bars(total, c.Delta, dpmech.GDP)
	if c.AgainstAll == nil || len(bars) != 2 || len(st.Privacy.Against) != 2 || len(metrics) != 4 {
		t.Fatalf("%d bars, %d on the page, %d metrics", len(bars), len(st.Privacy.Against), len(metrics))
	}
	for i, bar := range bars {
		numbers := []float64{c.EpsilonGDP, life.EpsilonGDP, c.Lifetime.EpsilonGDP}
		if i == 1 {
			numbers = []float64{c.AgainstAll.EpsilonGDP, life.AgainstAll.EpsilonGDP, c.Lifetime.AgainstAll.EpsilonGDP}
		}
		for _, m := range []int{i, 2 + i} { // of the run, and of the ledger
			v, err := strconv.ParseFloat(metrics[m][1], 64)
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, v)
		}
		for k, v := range append(numbers, st.Privacy.Against[i].Epsilon, float64(st.Privacy.Lifetime.Against[i].Epsilon)) {
			if v != bar.Epsilon {
				t.Errorf("number %d against %s is %v, want %v", k, bar.Who, v, bar.Epsilon)
			}
		}
		shown, epsilon := st.Privacy.Against[i], explain.Epsilon(bar.Epsilon)
		if want := fmt.Sprintf("ε %s of %[1]s, %d in 100", epsilon, explain.Times(bar.Guess)); shown.Text != want || shown.OfText != epsilon {
			t.Errorf("the page shows %q and %q, want %q", shown.Text, shown.OfText, want)
		}
	}

	// Texts: the same words everywhere, and on the page and in the report the same figures.
	page := filepath.Join(dir, "report.html")
	verified := must("privacy", "-verify", at("state/certificate.json"), "-fleet", filepath.Join(dir, "fleet.json"), "-report", page)
	want := explain.Total(total, c.Delta, dpmech.GDP)
	for what, text := range map[string]string{"run": printed[0], "status": must("status", at("node.json")), "page": st.Privacy.Text,
		"certificate": explain.Certificate(c), "verify": verified, "ledger": must("privacy", "-ledger", at("ledger.json"))} {
		if flat := strings.Join(strings.Fields(text), " "); !strings.Contains(flat, want) {
			t.Errorf("%s does not say %q:\n%s", what, want, text)
		}
	}
	report := readFile(t, page)
	for _, bar := range bars {
		for _, figure := range []string{explain.Epsilon(bar.Epsilon), dpmech.FormatEpsilon(bar.Epsilon, 4), fmt.Sprint(explain.Times(bar.Guess))} {
			if !strings.Contains(report, `<data value="`+figure+`">`) {
				t.Errorf("no %s in the report", figure)
			}
		}
	}
}
