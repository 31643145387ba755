package screen_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/examples/hospital/heart"
)

// agreed returns the recipe of examples/hospital. The table that it was fitted on describes no real person.
func agreed(t *testing.T) *task.Recipe {
	t.Helper()
	return fitted(t, task.Spec{
		Source: "csv:../../../../examples/hospital/agreed.csv", Label: "ill", OneHot: []string{"cp", "restecg", "slope", "thal"},
		Missing: "indicator", Whole: true,
	})
}

// hospital returns the rows of a hospital's file, see [heart.Rows].
func hospital(t *testing.T, name string) [][]string {
	t.Helper()
	rows, err := heart.Rows(filepath.Join(shared, "heart-four-hospitals", name+".csv"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no real data in ../shared/data beside the project: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func columns(rows [][]string) map[string]int {
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	return at
}

func copied(rows [][]string) (out [][]string) {
	for _, row := range rows {
		out = append(out, append([]string(nil), row...))
	}
	return out
}

func count(rows [][]string, at int) (n int) {
	for _, row := range rows[1:] {
		if row[at] != "" {
			n++
		}
	}
	return n
}

// TestHospitals checks that the unmodified files of four hospitals raise no suspicion, and that, after one error is put
// into a file, exactly that error is found.
func TestHospitals(t *testing.T) {
	r := agreed(t)
	for _, name := range heart.Hospitals {
		clean := hospital(t, name)
		at := columns(clean)
		if p, rel := look(t, r, clean, true); len(p.Suspicions) > 0 || rel.Shuffles == 0 || p.Rows != len(clean)-1 {
			t.Errorf("%s: %d rows, %+v\n%s", name, p.Rows, rel, text(p))
		}
		bad := func(what string, change func(i int, row []string), want ...string) {
			t.Helper()
			rows := copied(clean)
			for i, row := range rows[1:] {
				change(i, row)
			}
			p, _ := look(t, r, rows, false)
			if got := kinds(p); !slices.Equal(got, want) {
				t.Errorf("%s: %s: found %q, want %q\n%s", name, what, got, want, text(p))
			}
		}
		for _, c := range clean[0][:13] {
			want := "sentinel " + c
			switch present := count(clean, at[c]); {
			case slices.Contains([]string{"cp", "restecg", "slope", "thal"}, c):
				want = "unknown " + c
			case present == 0:
				want = "constant " + c
			case present < 10: // there are more sentinels than other values
				want = "far " + c
			}
			bad("-9 in "+c, func(i int, row []string) {
				if i%10 == 3 {
					row[at[c]] = "-9"
				}
			}, want)
		}
		swap := func(a, b string) {
			bad(a+" and "+b+" swapped", func(_ int, row []string) { row[at[a]], row[at[b]] = row[at[b]], row[at[a]] }, "swapped "+a)
		}
		swap("age", "trestbps")
		swap("age", "thalach")
		bad("one sex", func(_ int, row []string) { row[at["sex"]] = "1" }, "constant sex")
		if name != "switzerland" { // Switzerland has no cholesterol values
			swap("age", "chol")
			swap("trestbps", "chol")
			bad("mmol/L", func(_ int, row []string) {
				if mg, err := strconv.ParseFloat(row[at["chol"]], 64); err == nil {
					row[at["chol"]] = fmt.Sprintf("%.1f", mg/38.67)
				}
			}, "unit chol")
		}
		found := 0
		shuffles := 6
		if os.Getenv("SPADE_LONG") != "" {
			shuffles = 20
		}
		for seed := range uint64(shuffles) { // of 100 shuffled files, 97 are found
			rows := copied(clean)
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(rows)-1, func(i, j int) {
				rows[i+1][13], rows[j+1][13] = rows[j+1][13], rows[i+1][13]
			})
			if p, _ := look(t, r, rows, true); slices.Contains(kinds(p), "labels ill") {
				found++
			}
		}
		t.Logf("%s: %d of %d shuffles of the label found", name, found, shuffles)
		if found < shuffles*2/3 {
			t.Errorf("%s: %d of %d shuffles of the label found", name, found, shuffles)
		}
	}
}

// In the original file, cholesterol is 0 for all patients of the Swiss hospital: 0 is its marker of a missing value.
func TestUntidied(t *testing.T) {
	r := agreed(t)
	rows := hospital(t, "switzerland")
	at := columns(rows)["chol"]
	for _, row := range rows[1:] {
		row[at] = "0"
	}
	p, _ := look(t, r, rows, false)
	if got := kinds(p); !slices.Equal(got, []string{"constant chol"}) || !strings.Contains(text(p), "expected 240") {
		t.Errorf("%q\n%s", got, text(p))
	}
}
