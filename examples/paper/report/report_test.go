package report

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
)

const dataDir = "../../../../shared/data"

// TestTable2SaysWhoIsAhead checks a table of made-up results in which a rival leads in one cell and SPADE-DFL leads in
// another.
func TestTable2SaysWhoIsAhead(t *testing.T) {
	if _, err := os.Stat(filepath.Join(dataDir, "fashion-0-1")); err != nil {
		t.Skipf("no data sets in %s: %v", dataDir, err)
	}
	dir := t.TempDir()
	store, err := experiment.NewStore(dir, experiment.Session{})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(6) {
		for partition, rival := range map[string]float64{"iid": 96, "dirichlet:0.3": 94} {
			for method, accuracy := range map[string]float64{experiment.PaperForm: 95, "LT-ADMM-DP": rival, "1P-DSG": 90} {
				err := store.Add(experiment.Result{
					Job: experiment.Job{Table: experiment.EqualQueries, Dataset: "fashion", Partition: partition, Rounds: 50,
						Method: method, Seed: seed + 1},
					Accuracy: accuracy + float64(seed)/8, Network: accuracy, Losses: 705 * 50 * 3,
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := Write(context.Background(), experiment.NewLab(dataDir), &experiment.Settings{}, store, dir,
		[]string{"fashion"}, 6,
		io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "table2.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"**96.31 ± 0.21**", "_94.31 ± 0.21_", "**95.31 ± 0.21**", "-1.00 (0.02)", "+1.00 (0.02)",
		"not** ahead in 1 cells", "- Fashion-MNIST, IID: -1.00 to LT-ADMM-DP (p = 0.02, 6 pairs)", "SPADE-DFL 3.00",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the table has no %q:\n%s", want, text[:3000])
		}
	}
}
