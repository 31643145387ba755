package experiment

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// dataDir is the folder of the data sets on the project's machines.
const dataDir = "../../../../shared/data"

// TestRunAgain repeats stored runs on the smallest data set: for each table, one run of each method that has stored
// runs. Each result must equal the stored result to the last digit. The folder testdata holds only the runs for this
// test, in the format of the store. They were made with today's noise and cool-down; those of SPADE-DFL with either differ
// from the runs behind the committed tables (see README.md of the module, "Where each result was measured").
func TestRunAgain(t *testing.T) {
	if _, err := os.Stat(filepath.Join(dataDir, "fashion-0-1")); err != nil {
		t.Skipf("no data sets in %s: %v", dataDir, err)
	}
	lab := NewLab(dataDir)
	store, err := NewStore("testdata", Session{})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := ReadSettings("../settings.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range Tables {
		t.Run(table, func(t *testing.T) { runAgain(t, lab, store, settings, table) })
	}
}

func runAgain(t *testing.T, lab *Lab, store *Store, settings *Settings, table string) {
	results, err := store.Results(table, "fashion")
	if err != nil {
		t.Fatal(err)
	}
	if len(results) == 0 {
		t.Skipf("table %s has no committed results on Fashion-MNIST", table)
	}
	found := 0
	for _, name := range []string{PaperForm, Together, "LT-ADMM-VR", "DP-FedAvg", TrackingWalsh, Shared, SharedMomentum} {
		at := slices.IndexFunc(results, func(r Result) bool { return r.Method == name && r.Seed == 3 })
		if at < 0 {
			continue
		}
		found++
		want := results[at]
		job := want.Job
		job.Curve = want.Curve != nil
		if s, err := settings.For(job); err != nil || !reflect.DeepEqual(s, want.Setting) {
			t.Errorf("%s: setting %v (%v), committed with %v", name, s, err, want.Setting)
		}
		got, err := lab.Run(context.Background(), job, want.Setting)
		if err != nil {
			t.Fatal(err)
		}
		got.Seconds, got.Job.Curve = want.Seconds, false
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s on %s, seed %d:\n got %+v\nwant %+v", name, job.Partition, job.Seed, got, want)
		}
	}
	if found < 2 {
		t.Errorf("%d methods with seed 3, want at least both forms of SPADE-DFL", found)
	}
}
