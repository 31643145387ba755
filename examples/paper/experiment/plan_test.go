package experiment

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
)

// TestPlanIsTheTables checks the number of planned runs against a manual count from the tables.
func TestPlanIsTheTables(t *testing.T) {
	jobs := Plan(Tables, data.Names, 30)
	seen := make(map[Job]bool)
	count := make(map[string]int)
	for _, j := range jobs {
		if seen[j.id()] {
			t.Fatalf("twice: %+v", j)
		}
		seen[j.id()] = true
		count[j.Table]++
		if (j.Fold != 0) && j.Dataset != "alzheimers" || j.Fold < 0 || j.Fold >= data.Folds {
			t.Fatalf("fold: %+v", j)
		}
	}
	perTable2 := 30 * (4*9 + 1) // five rivals and four forms in four partitions each, and DP-SGD in one
	// Each private table has five more methods: three forms of SPADE-DFL (trackingWalsh, shared and sharedMomentum),
	// DP-FedAvg with a trusted server, and 2P-DSG.
	private := 4 * (perTable2 + 4*30*5)
	want := map[string]int{
		EqualQueries: 4*perTable2 + 4*30*(4*8+1) + 4*4*30*3, Private8: private, Private32: private,
		FreeQueries: 4 * perTable2, PrivateFree: 4 * (perTable2 + 4*30*3),
		Sensitivity: 4 * 30 * 9 * 6, Longer: 4 * 5 * 3 * 2, Validation: 4 * 10 * 9 * 4,
	}
	for table, n := range want {
		if count[table] != n {
			t.Errorf("table %s has %d runs, want %d", table, count[table], n)
		}
	}
}

// TestNoSeedOfTheSearchIsReported checks that no reported run uses a seed of the search.
func TestNoSeedOfTheSearchIsReported(t *testing.T) {
	for _, j := range Plan(Tables, data.Names, 1000) {
		first, more := tuningSeeds(j)
		for _, seed := range append(first, more...) {
			if j.Seed == seed || j.Validate != (j.Table == Validation) {
				t.Fatalf("%+v", j)
			}
		}
	}
}

func TestHypercube(t *testing.T) {
	space := []method.Param{{Name: "a", Low: 1, High: 1000, Log: true}, {Name: "b", Low: -1, High: 2},
		{Name: "c", Low: 0, High: 1, Whole: true}}
	points := Hypercube(space, 30, "key")
	for k, place := range map[string]func(x float64) float64{
		"a": func(x float64) float64 { return 30 * math.Log(x) / math.Log(1000) },
		"b": func(x float64) float64 { return 30 * (x + 1) / 3 },
	} {
		taken := make(map[int]bool)
		for _, p := range points {
			taken[int(place(p[k]))] = true
		}
		if len(taken) < 29 { // a stratum may stay empty, because rounding to four digits can move a point
			t.Errorf("%s: %d of 30 strata taken", k, len(taken))
		}
	}
	for _, p := range points {
		if c := p["c"]; c != 0 && c != 1 {
			t.Errorf("c = %v, want a whole number", c)
		}
	}
	if again := Hypercube(space, 30, "key"); again[7]["a"] != points[7]["a"] {
		t.Error("not the same points again")
	}
	if other := Hypercube(space, 30, "other"); other[7]["a"] == points[7]["a"] {
		t.Error("another key has the same points")
	}
}

// TestStoreGoesOn stores two results and truncates the file in the second line, as an interruption might. It checks
// that a new store finds the first result and can add the second result again.
func TestStoreGoesOn(t *testing.T) {
	dir := t.TempDir()
	first := Result{Job: Job{Table: "2a", Dataset: "mnist", Method: "m", Seed: 1}, Accuracy: 1.0 / 3}
	second := first
	second.Seed = 2
	s, err := NewStore(dir, NewSession(30))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(first); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(second); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name("2a", "mnist"))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-5], 0o644); err != nil {
		t.Fatal(err)
	}
	s, err = NewStore(dir, NewSession(30))
	if err != nil {
		t.Fatal(err)
	}
	results, err := s.Results("2a", "mnist")
	if err != nil || len(results) != 1 || results[0].Accuracy != 1.0/3 {
		t.Fatalf("after a cut: %v, %v, want the first result alone", results, err)
	}
	if err := s.Add(second); err != nil {
		t.Fatal(err)
	}
	if results, err = s.Results("2a", "mnist"); err != nil || len(results) != 2 {
		t.Fatalf("after going on: %v, %v, want both", results, err)
	}
}
