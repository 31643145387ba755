package experiment

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// dataDir is where the data sets are on the project's own machines.
const dataDir = "../../../../shared/data"

// TestRunAgain makes one run of every table again for SPADE-DFL and for one rival, on the smallest data set, and finds the committed numbers to the last digit.
func TestRunAgain(t *testing.T) {
	if _, err := os.Stat(filepath.Join(dataDir, "fashion-0-1")); err != nil {
		t.Skipf("no data sets in %s: %v", dataDir, err)
	}
	lab := NewLab(dataDir)
	store, err := NewStore("../results", Session{})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := ReadSettings("../settings.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{EqualQueries, Sensitivity, Private8, Private32, FreeQueries} {
		results, err := store.Results(table, "fashion")
		if err != nil {
			t.Fatal(err)
		}
		if len(results) == 0 {
			t.Errorf("table %s: no committed results", table)
			continue
		}
		for _, method := range []string{PaperForm, Together, "LT-ADMM-VR", "DP-FedAvg"} {
			at := -1
			for i, r := range results {
				if r.Method == method && r.Seed == 3 {
					at = i
				}
			}
			if at < 0 {
				if table != Sensitivity || method == PaperForm || method == Together {
					t.Errorf("table %s: no committed result of %s with seed 3", table, method)
				}
				continue
			}
			want := results[at]
			job := want.Job
			job.Curve = want.Curve != nil
			if s, err := settings.For(job); err != nil || !reflect.DeepEqual(s, want.Setting) {
				t.Errorf("table %s, %s: setting %v (%v), committed with %v", table, method, s, err, want.Setting)
			}
			got, err := lab.Run(context.Background(), job, want.Setting)
			if err != nil {
				t.Fatal(err)
			}
			got.Seconds, got.Job.Curve = want.Seconds, false
			if !reflect.DeepEqual(got, want) {
				t.Errorf("table %s, %s on %s, seed %d:\n got %+v\nwant %+v", table, method, job.Partition, job.Seed, got, want)
			}
		}
	}
}
