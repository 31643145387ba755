package hospitals

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/spade-dfl/spade-edge/examples/hospital/heart"
)

var data = filepath.FromSlash("../../../../shared/data")

func clinics(t *testing.T) *clinic {
	t.Helper()
	if _, err := os.Stat(filepath.Join(data, "heart-four-hospitals")); err != nil {
		t.Skip("no data: ", err)
	}
	c, err := open(data, filepath.FromSlash("../../hospital"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSplit checks that a split puts each patient in either the training or the test part, and that two seeds give
// different splits.
func TestSplit(t *testing.T) {
	c := clinics(t)
	one, err := c.split(1)
	if err != nil {
		t.Fatal(err)
	}
	two, err := c.split(2)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{303, 294, 123, 200} {
		if n := one[i].train.Len() + one[i].test.Len(); n != want || one[i].train.Dim != 33 {
			t.Errorf("%s has %d patients and %d columns, want %d and 33", heart.Hospitals[i], n, one[i].train.Dim, want)
		}
		if reflect.DeepEqual(one[i].test.X, two[i].test.X) {
			t.Errorf("%s: two seeds have one split", heart.Hospitals[i])
		}
	}
	if n := pool(one).Len(); n != 920-one[0].test.Len()-one[1].test.Len()-one[2].test.Len()-one[3].test.Len() {
		t.Errorf("%d patients to learn from", n)
	}
}

// TestCommittedResults repeats some runs and compares the results with testdata, digit by digit. Those that protect each
// patient are runs of the committed records.md. Of the others, those without noise are runs of the committed README.md;
// those with noise were made after it, with today's sampler (see README.md of the module, "Where each result was
// measured").
func TestCommittedResults(t *testing.T) {
	c := clinics(t)
	runs, err := openRuns("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for i, again := range []cell{
		{name: abroad, graph: "none"},
		{name: chosen, graph: "complete"},
		{name: shared, graph: "ring", epsilon: 8},
		{name: wardThree, graph: "complete", epsilon: 4},
		{name: eachOwn, graph: "complete", epsilon: 1},
	} {
		seed := 3 + i
		marks, err := again.run(context.Background(), c, nil, uint64(seed))
		if err != nil {
			t.Fatal(err)
		}
		key := append(again.key(), strconv.Itoa(seed))
		if got, want := rows(key, marks), runs.Rows(key...); !reflect.DeepEqual(got, want) {
			t.Errorf("%q, committed is %q", got, want)
		}
	}
}

func TestSetting(t *testing.T) {
	s, err := parse("decay=0.05314 tau=3")
	if err != nil || s.String() != "decay=0.05314 tau=3" {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := parse("tau"); err == nil {
		t.Error("a setting without a number, and no error")
	}
}

// TestWards checks that a hospital's training patients are divided among its wards, and that the wards' privacy costs
// add up to the hospital's privacy cost.
func TestWards(t *testing.T) {
	hospitals, err := clinics(t).split(1)
	if err != nil {
		t.Fatal(err)
	}
	all, err := divide(hospitals, 1)
	if err != nil || len(all) != wards*len(hospitals) {
		t.Fatalf("%d wards, %v", len(all), err)
	}
	for i, h := range hospitals {
		n := 0
		for _, w := range all[i*wards : (i+1)*wards] {
			if n += w.train.Len(); w.test != h.test || w.train.Len() < h.train.Len()/wards {
				t.Errorf("%s has a ward with %d patients", heart.Hospitals[i], w.train.Len())
			}
		}
		if n != h.train.Len() {
			t.Errorf("%s has %d patients in its wards, want %d", heart.Hospitals[i], n, h.train.Len())
		}
	}
	one, err := perWard(8)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := perHospital(one); err != nil || one >= 8 || math.Abs(back-8) > 1e-6 {
		t.Errorf("epsilon %v a ward is %v a hospital, %v, want 8", one, back, err)
	}
}
