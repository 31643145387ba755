package screen_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/screen"
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

// TestHospitals checks that the unmodified files of four hospitals raise no suspicion, alone and among each other, and that
// labels in other rows are found: of 100 shuffled files 97, so that 9 of 12 are hardly ever missed.
func TestHospitals(t *testing.T) {
	r, found, files := agreed(t), 0, []string(nil)
	for _, name := range heart.Hospitals {
		rows := hospital(t, name)
		files = append(files, write(t, rows))
		if p, rel := look(t, r, rows, true); len(p.Suspicions) > 0 || rel.Shuffles == 0 || p.Rows != len(rows)-1 {
			t.Errorf("%s: %d rows, %+v\n%s", name, p.Rows, rel, text(p))
		}
		for seed := range uint64(3) {
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(rows)-1, func(i, j int) {
				rows[i+1][13], rows[j+1][13] = rows[j+1][13], rows[i+1][13]
			})
			if p, _ := look(t, r, rows, true); slices.Contains(kinds(p), "labels ill") {
				found++
			}
		}
	}
	if found < 9 {
		t.Errorf("%d of 12 shuffles of the label found", found)
	}
	r, reports := sites(t, task.Spec{Label: "ill", Drop: []string{"slope", "ca", "thal"}, Missing: "mean"}, files)
	screen.Among(reports, files)
	screen.Near(r, reports, files)
	for i, p := range reports {
		if len(p.Suspicions) > 0 {
			t.Errorf("%s:\n%s", heart.Hospitals[i], text(p))
		}
	}
}

// TestHospitalsWithErrors checks that, after one error is put into the file of a hospital, exactly that error is found.
func TestHospitalsWithErrors(t *testing.T) {
	r := agreed(t)
	at := map[string]int{}
	check := func(name, what string, change func(i int, row []string), want string) {
		t.Helper()
		rows := hospital(t, name)
		for i, c := range rows[0] {
			at[c] = i
		}
		for i, row := range rows[1:] {
			change(i, row)
		}
		p, _ := look(t, r, rows, false)
		if len(p.Suspicions) != 1 || !strings.HasPrefix(text(p), want) {
			t.Errorf("%s: %s: found %q, want %q", name, what, text(p), want)
		}
	}
	minus9 := func(c string) func(i int, row []string) {
		return func(i int, row []string) {
			if i%10 == 3 {
				row[at[c]] = "-9"
			}
		}
	}
	for _, c := range []string{"age", "sex", "trestbps", "chol", "fbs", "thalach", "exang", "oldpeak", "ca"} {
		check("cleveland", "-9 in "+c, minus9(c), "sentinel "+c+":")
	}
	for _, c := range []string{"cp", "restecg", "slope", "thal"} {
		check("cleveland", "-9 in "+c, minus9(c), "unknown "+c+":")
	}
	check("switzerland", "-9 in chol", minus9("chol"), "constant chol:")
	check("hungarian", "-9 in ca", minus9("ca"), "far ca:") // there are more sentinels than other values
	for _, pair := range [][2]string{{"age", "trestbps"}, {"age", "thalach"}, {"age", "chol"}, {"trestbps", "chol"}} {
		check("va", fmt.Sprint(pair, " swapped"), func(_ int, row []string) {
			row[at[pair[0]]], row[at[pair[1]]] = row[at[pair[1]]], row[at[pair[0]]]
		}, "swapped "+pair[0]+":")
	}
	check("hungarian", "one sex", func(_ int, row []string) { row[at["sex"]] = "1" }, "constant sex:")
	check("hungarian", "mmol/L", func(_ int, row []string) {
		if mg, err := strconv.ParseFloat(row[at["chol"]], 64); err == nil {
			row[at["chol"]] = fmt.Sprintf("%.1f", mg/38.67)
		}
	}, "unit chol:")
	// In the original file, cholesterol is 0 for all patients of the Swiss hospital: 0 is its marker of a missing value.
	check("switzerland", "untidied", func(_ int, row []string) { row[at["chol"]] = "0" }, "constant chol: all of its 123 values are 0, expected 240")
}
