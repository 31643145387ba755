package adapt

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/examples/adapter/frozen"
)

var tiny = task{network: frozen.Small, members: 3, each: 20, passes: 12, clean: 300, held: 30, numbers: 16, trials: 2, seeds: 2}

// TestRun checks that the page of a small comparison has a row for each contender, that no contender makes more forward
// passes than the task allows, and that a second run in the same folder produces the same page.
func TestRun(t *testing.T) {
	out := t.TempDir()
	read := func() string {
		t.Helper()
		if err := tiny.run(context.Background(), "", out, io.Discard); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join(out, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		return string(page)
	}
	page := read()
	sent := map[string]int{}
	for _, c := range contenders() {
		start := "| " + c.name + " | " + strconv.Itoa(c.numbers(tiny)) + " | "
		_, rest, found := strings.Cut(page, start)
		if !found {
			t.Fatalf("no row %q in\n%s", start, page)
		}
		row, _, _ := strings.Cut(rest, "\n")
		cells := strings.Split(row, " | ")
		passes, err := strconv.Atoi(cells[2])
		if most := tiny.passes * tiny.each; err != nil || passes > most || passes < most/2 {
			t.Errorf("%s: %q forward passes, want at most %d and half of them at least", start, cells[2], most)
		}
		if sent[start], err = strconv.Atoi(cells[3]); err != nil || sent[start] < 8 {
			t.Errorf("%s: %q bytes sent", start, cells[3])
		}
		if least := 4 * c.numbers(tiny); c.method.Name() == "2P-DSG" && sent[start] < least {
			t.Errorf("%s: %d bytes sent, want %d or more", start, sent[start], least)
		}
	}
	if adapter, scalars := sent["| two-point, averaging | 16 | "], sent["| SeedFlood | 16 | "]; scalars >= adapter {
		t.Errorf("SeedFlood sends %d bytes, and a method that sends numbers %d", scalars, adapter)
	}
	if again := read(); again != page {
		t.Errorf("the second run has\n%s\nthe first\n%s", again, page)
	}
}

// TestAllMethodsLearn checks that each method improves the frozen network with forward passes alone.
func TestAllMethodsLearn(t *testing.T) {
	if testing.Short() {
		t.Skip("trains")
	}
	task := task{network: frozen.Small, members: 4, each: 50, passes: 40, clean: 5000, held: 500, numbers: 64, trials: 1, seeds: 1}
	source, err := frozen.Open(task.network, "", task.clean)
	if err != nil {
		t.Fatal(err)
	}
	s := &study{task: task, source: source}
	st, err := s.stage(1)
	if err != nil {
		t.Fatal(err)
	}
	before := 100 * s.network.Accuracy(st.base, st.held)
	for _, c := range contenders() {
		trial := map[string]float64{"rounds": 20, "reach": 0.2, "tau": 2, "dirs": 2, "mu": 0.05}
		accuracy, _, err := st.run(context.Background(), c, trial)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s, %d numbers: %.1f %%, before %.1f %%", c.name, c.numbers(task), accuracy, before)
		if accuracy < before+1 {
			t.Errorf("%s, %d numbers: %.1f %%, before %.1f %%", c.name, c.numbers(task), accuracy, before)
		}
	}
}
