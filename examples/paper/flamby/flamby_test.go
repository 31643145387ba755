package flamby

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// TestFiles checks the numbers of patients of FLamby's split, and that a client's own standardization gives its training
// rows mean 0.
func TestFiles(t *testing.T) {
	data := filepath.FromSlash("../../../../shared/data")
	if _, err := os.Stat(filepath.Join(data, "flamby")); err != nil {
		t.Skip("needs ../shared/data/flamby")
	}
	jobs, err := jobsOf(data, filepath.FromSlash("../../hospital/agreed.csv"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int{{199, 172, 30, 85, 104, 89, 16, 45}, {248, 156, 164, 129, 129, 40, 63, 40, 42, 33, 33, 11}} {
		for k, path := range append(jobs[i].f.train, jobs[i].f.test...) {
			rows, err := read(path)
			if err != nil || len(rows)-1 != want[k] {
				t.Errorf("%s: %d rows, %v, want %d", path, len(rows)-1, err, want[k])
			}
		}
	}
	rows := table{{"x", "y"}, {"1", "no"}, {"3", "yes"}, {"", "no"}}
	if got := rows.standardized(rows, []string{"y"}); got[1][0] != "-1" || got[2][0] != "1" || got[3][0] != "0" || got[3][1] != "no" {
		t.Errorf("standardized: %v", got)
	}
}

// TestCommittedPage checks that the committed page has the figures of the committed runs.
func TestCommittedPage(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"runs.csv", "README.md"} {
		text, err := os.ReadFile(filepath.Join("..", "results", "flamby", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := sweep.Open(filepath.Join(dir, "runs.csv"), 5, header...)
	if err != nil {
		t.Fatal(err)
	}
	want, err := page(runs, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "README.md")); !strings.HasPrefix(string(got), want) {
		t.Error("results/flamby/README.md is not the page of its runs")
	}
}
