package screen_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/screen"
	"github.com/spade-dfl/spade-edge/examples/hospital/heart"
)

const shared = "../../../../../shared/data"

// agreed returns the recipe of examples/hospital. The table that it was fitted on describes no real person.
func agreed(t *testing.T) *task.Recipe {
	t.Helper()
	r, err := task.Fit(task.Spec{
		Source: "csv:../../../../examples/hospital/agreed.csv", Label: "ill", OneHot: []string{"cp", "restecg", "slope", "thal"},
		Missing: "indicator", Whole: true,
	}, task.ModelSpec{Name: task.SoftmaxModel}, "a table of usual values, of nobody")
	if err != nil {
		t.Fatal(err)
	}
	return r
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

func write(t *testing.T, rows [][]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.csv")
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// look screens rows with a recipe, as the check command does.
func look(t *testing.T, r *task.Recipe, rows [][]string, labels bool) (*screen.Report, *screen.Relation) {
	t.Helper()
	path := write(t, rows)
	unknown := map[[2]string]int{}
	d, err := r.Raw(task.Spec{Source: "csv:" + path, Records: true}, func(c, v string) { unknown[[2]string{c, v}]++ })
	if err != nil {
		t.Fatal(err)
	}
	p := screen.Table(r, d, false, unknown)
	if !labels {
		return p, nil
	}
	return p, p.Related(r, d)
}

func text(p *screen.Report) string {
	var all []string
	for _, s := range p.Suspicions {
		all = append(all, s.Kind+" "+s.Column+": "+s.Text)
	}
	return strings.Join(all, "\n")
}

func kinds(p *screen.Report) (all []string) {
	for _, s := range p.Suspicions {
		all = append(all, s.Kind+" "+s.Column)
	}
	return all
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

func count(rows [][]string, at int) (n int) {
	for _, row := range rows[1:] {
		if row[at] != "" {
			n++
		}
	}
	return n
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

// TestNoFalseAlarm checks that, with a recipe fitted on every other row of a data set, the remaining rows raise no
// suspicion, and that the whole data set raises no suspicion without expected values.
func TestNoFalseAlarm(t *testing.T) {
	for file, s := range map[string]task.Spec{
		"../../../../examples/patients.csv": {Label: "diagnosis", Drop: []string{"id"}, OneHot: []string{"ward"}},
		shared + "/alzheimers/alzheimers_disease_data.csv": {Label: "Diagnosis", Drop: []string{"PatientID", "DoctorInCharge"},
			OneHot: []string{"Ethnicity", "EducationLevel"}},
	} {
		f, err := os.Open(file)
		if err != nil {
			t.Logf("skipped: %v", err)
			continue
		}
		rows, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		public, own := [][]string{rows[0]}, [][]string{rows[0]}
		for i, row := range rows[1:] {
			if i%2 == 0 {
				public = append(public, row)
			} else {
				own = append(own, row)
			}
		}
		s.Source, s.Whole = "csv:"+write(t, public), true
		r, err := task.Fit(s, task.ModelSpec{Name: task.SoftmaxModel}, "every other row")
		if err != nil {
			t.Fatal(err)
		}
		p, rel := look(t, r, own, true)
		if len(p.Suspicions) > 0 || rel.AsGood > 0 {
			t.Errorf("%s: %+v\n%s", file, rel, text(p))
		}
		d, err := r.Raw(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p := screen.Table(r, d, true, nil); len(p.Suspicions) > 0 {
			t.Errorf("%s by itself:\n%s", file, text(p))
		}
	}
}

// table generates a table of four columns, in which y depends on a.
func table(n int, seed uint64, change func(i int, row []string)) [][]string {
	g := rand.New(rand.NewPCG(seed, 2))
	rows := [][]string{{"a", "b", "ward", "y"}}
	for i := range n {
		a := g.NormFloat64()
		y := "no"
		if a+0.5*g.NormFloat64() > 0 {
			y = "yes"
		}
		row := []string{fmt.Sprintf("%.1f", 50+10*a), fmt.Sprintf("%.2f", 5+g.NormFloat64()), strconv.Itoa(1 + i%3), y}
		change(i, row)
		rows = append(rows, row)
	}
	return rows
}

func nothing(int, []string) {}

// TestAmong checks that, without a recipe from public data, Among compares several sites with each other. A sentinel is
// found even in the table of a single site.
func TestAmong(t *testing.T) {
	each := func(change func(i int, row []string)) []*screen.Report {
		files := [][][]string{table(60, 1, nothing), table(60, 2, change), table(60, 3, nothing), table(60, 4, nothing)}
		var paths []string
		for _, rows := range files {
			paths = append(paths, write(t, rows))
		}
		s := task.Spec{Label: "y", OneHot: []string{"ward"}, Missing: "mean"}
		all, _, err := task.LoadFiles(s, paths)
		if err != nil {
			t.Fatal(err)
		}
		r, err := all.Recipe(task.ModelSpec{Name: task.SoftmaxModel}, "all")
		if err != nil {
			t.Fatal(err)
		}
		var reports []*screen.Report
		for _, path := range paths {
			d, err := r.Raw(task.Spec{Source: "csv:" + path}, nil)
			if err != nil {
				t.Fatal(err)
			}
			reports = append(reports, screen.Table(r, d, true, nil))
		}
		screen.Among(reports)
		return reports
	}
	for _, c := range []struct {
		change func(i int, row []string)
		want   []string
	}{
		{nothing, nil},
		{func(_ int, row []string) {
			x, _ := strconv.ParseFloat(row[0], 64)
			row[0] = fmt.Sprint(x / 40)
		}, []string{"unit a"}},
		{func(_ int, row []string) { row[0], row[1] = row[1], row[0] }, []string{"swapped a"}},
		{func(i int, row []string) {
			if i%9 == 0 {
				row[1] = "99"
			}
		}, []string{"sentinel b"}},
		{func(_ int, row []string) { row[2] = "2" }, []string{"constant ward"}},
	} {
		for i, p := range each(c.change) {
			want := c.want
			if i != 1 {
				want = nil
			}
			if got := kinds(p); !slices.Equal(got, want) {
				t.Errorf("site %d: %q, want %q\n%s", i, got, want, text(p))
			}
		}
	}
}

// TestFound checks tables with one error each. The recipe comes from the same table without the error, in another order.
func TestFound(t *testing.T) {
	base := func(i int, row []string) { row[2] = strconv.Itoa(i % 2) }
	s := task.Spec{Label: "y", Missing: "mean", Whole: true, Source: "csv:" + write(t, table(300, 5, base))}
	r, err := task.Fit(s, task.ModelSpec{Name: task.SoftmaxModel}, "300 rows")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(i int, row []string)
		want   []string
	}{
		"nothing":              {nothing, nil},
		"a row number":         {func(i int, row []string) { row[1] = strconv.Itoa(i) }, []string{"counter b"}},
		"an identifier":        {func(i int, row []string) { row[1] = strconv.Itoa(i - 4751) }, []string{"counter b"}},
		"counts down":          {func(i int, row []string) { row[1] = strconv.Itoa(10 - i) }, []string{"counter b"}},
		"a gap in the numbers": {func(i int, row []string) { row[1] = strconv.Itoa(i + i/20*3) }, []string{"counter b"}},
		"sorted values":        {func(i int, row []string) { row[1] = fmt.Sprint(4 + float64(i*i)/1e4) }, nil},
		"whole numbers, ties":  {func(i int, row []string) { row[1] = strconv.Itoa(4 + i/100) }, nil},
		"one and two":          {func(i int, row []string) { row[2] = strconv.Itoa(1 + i%2) }, []string{"coding ward"}},
		"minus one and one":    {func(i int, row []string) { row[2] = strconv.Itoa(i%2*2 - 1) }, []string{"coding ward"}},
		"yes only for few":     {func(i int, row []string) { row[2] = map[bool]string{true: "1", false: "0"}[i%20 == 0] }, nil},
		"one marker": {func(i int, row []string) {
			if i == 7 {
				row[1] = "-9"
			}
		}, []string{"sentinel b"}},
		"one outlier": {func(i int, row []string) {
			if i == 7 {
				row[1] = "18.37"
			}
		}, nil},
		"two rows twice": {func(i int, row []string) {
			if i == 2 || i == 4 {
				row[0], row[1], row[3] = "51.3", "4.44", "yes"
			}
		}, nil},
		"many rows twice": {func(i int, row []string) {
			if i%10 == 0 {
				row[0], row[1], row[3] = "51.3", "4.44", "yes"
			}
		}, []string{"repeated "}},
		"digits": {func(i int, row []string) { row[1] = fmt.Sprintf("5.00000000%d", i*7919%1000) }, []string{"digits b"}},
	} {
		rows := table(300, 6, base)
		for i, row := range rows[1:] {
			c.change(i, row)
		}
		p, _ := look(t, r, rows, false)
		got := kinds(p)
		if slices.Sort(got); len(got) == 0 != (c.want == nil) || len(got) > 0 && got[0] != c.want[0] {
			t.Errorf("%s: found %q, want %q\n%s", name, got, c.want, text(p))
		}
	}
	// The file as a whole
	for content, want := range map[string]string{
		"51,5.1,1,yes\n" + strings.Repeat("50,5,0,no\n61,4,1,yes\n", 20):                                 "3 of 4 names of columns are numbers",
		"a;b;ward;y\n" + strings.Repeat("1.050;5,1;0;no\n61;4,2;1;yes\n", 20):                            "a point or comma may separate thousands",
		"a;b;ward;y\n" + strings.Repeat("1,5;5,1;0;no\n61;4,2;1;yes\n", 20):                              "",
		"2019,2020,ward,y\n" + strings.Repeat("50,5,0,no\n61,4,1,yes\n", 20):                             "",
		"a,b,ward,y\n" + strings.Repeat("1700000000000000001,5,0,no\n1700000000000000002,4,1,yes\n", 20): `line 2: column "a": "1700000000000000001" has more digits`,
		"a,b,ward,y\n" + strings.Repeat("1700000000000000000,5,0,no\n9007199254740994,4,1,yes\n", 20):    "",
		"0,1,2,y\n" + strings.Repeat("50,5,0,no\n61,4,1,yes\n", 20):                                      "",
	} {
		path := filepath.Join(t.TempDir(), "own.csv")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		names := strings.FieldsFunc(content[:strings.Index(content, "\n")], func(r rune) bool { return r == ',' || r == ';' })
		own := *r
		own.Label, own.Columns = names[3], []task.Column{{Name: names[0]}, {Name: names[1]}, {Name: names[2]}}
		d, err := own.Raw(task.Spec{Source: "csv:" + path, Records: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(d.Notes, "; "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%.30q: %s, want %s", content, got, want)
		}
	}
}

// TestClean checks that FLamby's two tables and the four hospitals of one task raise no suspicion, with a recipe fitted
// on them and among the sites.
func TestClean(t *testing.T) {
	brca := task.Spec{Source: "csv:" + shared + "/flamby/brca.csv", Target: "T", Drop: []string{"pid"}, Whole: true}
	if _, err := os.Stat(strings.TrimPrefix(brca.Source, "csv:")); err != nil {
		t.Skipf("no real data in ../shared/data beside the project: %v", err)
	}
	r, err := task.Fit(brca, task.ModelSpec{Name: task.LinearModel}, "all")
	if err != nil {
		t.Fatal(err)
	}
	d, err := r.Raw(brca, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := screen.Table(r, d, false, nil); len(p.Suspicions) > 0 {
		t.Errorf("brca:\n%s", text(p))
	}
	var files []string
	for _, name := range heart.Hospitals {
		files = append(files, write(t, hospital(t, name)))
	}
	s := task.Spec{Label: "ill", Drop: []string{"slope", "ca", "thal"}, Missing: "mean"}
	all, _, err := task.LoadFiles(s, files)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = all.Recipe(task.ModelSpec{Name: task.SoftmaxModel}, "all"); err != nil {
		t.Fatal(err)
	}
	var reports []*screen.Report
	for _, file := range files {
		if d, err = r.Raw(task.Spec{Source: "csv:" + file}, nil); err != nil {
			t.Fatal(err)
		}
		reports = append(reports, screen.Table(r, d, true, nil))
	}
	screen.Among(reports)
	screen.Near(r, reports, files)
	for i, p := range reports {
		if len(p.Suspicions) > 0 {
			t.Errorf("%s:\n%s", files[i], text(p))
		}
	}
}

// TestNear checks that names that nearly agree are reported once, with both files.
func TestNear(t *testing.T) {
	paths := []string{
		write(t, table(60, 1, func(i int, row []string) { row[2] = []string{"East", "west"}[i%2] })),
		write(t, table(60, 2, func(i int, row []string) {
			row[2], row[3] = []string{"east.", "west"}[i%2], row[3]+map[bool]string{true: "."}[i%2 == 0]
		})),
	}
	all, _, err := task.LoadFiles(task.Spec{Label: "y", OneHot: []string{"ward"}, Missing: "mean"}, paths)
	if err != nil {
		t.Fatal(err)
	}
	r, err := all.Recipe(task.ModelSpec{Name: task.SoftmaxModel}, "all")
	if err != nil {
		t.Fatal(err)
	}
	var reports []*screen.Report
	for _, path := range paths {
		d, err := r.Raw(task.Spec{Source: "csv:" + path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, screen.Table(r, d, true, nil))
	}
	screen.Near(r, reports, []string{"north.csv", "south.csv"})
	found := text(reports[0]) + text(reports[1])
	for _, want := range []string{"near ward: ", "near y: ", `"East" (30 rows of north.csv), "east." (30 rows of south.csv)`} {
		if strings.Count(found, want) < 1 {
			t.Errorf("%s, want %s", found, want)
		}
	}
}

// TestStrange checks that single values far from the data that a model was fitted on are reported with their row, and
// that missing values are not reported.
func TestStrange(t *testing.T) {
	path := write(t, table(60, 1, nothing))
	r, err := task.Fit(task.Spec{Source: "csv:" + path, Label: "y", OneHot: []string{"ward"}, Missing: "mean"},
		task.ModelSpec{Name: task.SoftmaxModel}, "60 rows")
	if err != nil {
		t.Fatal(err)
	}
	d, err := r.Raw(task.Spec{Source: "csv:" + write(t, [][]string{{"b", "a", "ward", "y"}, {"5", "50", "1", "no"}, {"", "5", "1", "no"}, {"-9", "200", "2", "yes"}})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := screen.Strange(r, d)
	if len(found) != 2 || found[0].Column != "a" || found[0].Count != 2 || found[0].Example != "5 in row 2" || found[1].Example != "-9 in row 3" {
		t.Errorf("%+v", found)
	}
}

// TestOdd checks that nothing panics if a file has only broken lines, is tiny or constant, or is full of extreme
// numbers.
func TestOdd(t *testing.T) {
	r, err := task.Fit(task.Spec{Source: "csv:" + write(t, table(60, 1, nothing)), Label: "y", OneHot: []string{"ward"}, Missing: "mean"},
		task.ModelSpec{Name: task.SoftmaxModel}, "60 rows")
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(i int, row []string){
		func(_ int, row []string) { row[0] = "x" },
		func(_ int, row []string) { row[0], row[1], row[2] = "", "", "" },
		func(_ int, row []string) { row[0], row[1], row[2] = "1", "1", "1" },
		func(i int, row []string) { row[0] = []string{"3e38", "-3e38", "1e-45"}[i%3] },
		func(_ int, row []string) { row[3] = "perhaps" },
		func(_ int, row []string) { row[3] = "no" },
	} {
		for _, n := range []int{1, 12, 60} {
			p, _ := look(t, r, table(n, 1, change), true)
			if p.Suspicions == nil {
				t.Error("no list")
			}
		}
	}
}

// TestOne checks what is found in a table of which one column is changed. No sentinel is found in a column of counts whose
// largest value is rare, in a column with a long tail, or in a column whose values are capped.
func TestOne(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		column int
		value  func(i int, row []string) string
		want   []string
	}{
		"count": {1, func(i int, _ []string) string {
			return []string{"0", "0", "0", "0", "0", "0", "1", "1", "2", "3"}[i*i/7%10]
		}, nil},
		"tail": {1, func(int, []string) string { return fmt.Sprintf("%.0f", 40*math.Exp(g.NormFloat64())) }, nil},
		"cap":  {1, func(int, []string) string { return fmt.Sprint(min(90, 60+int(15*g.NormFloat64()))) }, nil},
		"yes":  {1, func(i int, _ []string) string { return map[bool]string{true: "1", false: "0"}[i%25 == 0] }, nil},

		"the label as a code":   {2, func(_ int, row []string) string { return map[string]string{"no": "A00", "yes": "I21"}[row[3]] }, []string{"tells ward"}},
		"the label as a number": {1, func(i int, row []string) string { return fmt.Sprint(i%9 + 20*len(row[3])) }, []string{"tells b"}},
		"in all rows but one": {1, func(i int, row []string) string {
			return map[bool]string{true: "1", false: "2"}[i == 9 || row[3] == "no"]
		}, nil},
		"a category for each row": {2, func(i int, _ []string) string { return fmt.Sprintf("%x", 7919*i) }, []string{"names ward"}},
		"a class for no answer":   {3, func(i int, row []string) string { return map[bool]string{true: "Unknown", false: row[3]}[i%10 == 0] }, []string{"no class y"}},
	} {
		rows := table(200, 1, func(i int, row []string) { row[c.column] = c.value(i, row) })
		s := task.Spec{Source: "csv:" + write(t, rows), Label: "y", OneHot: []string{"ward"}, Missing: "mean", Whole: true}
		r, err := task.Fit(s, task.ModelSpec{Name: task.SoftmaxModel}, "these")
		if err != nil {
			t.Fatal(err)
		}
		d, err := r.Raw(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p := screen.Table(r, d, true, nil); !slices.Equal(kinds(p), c.want) {
			t.Errorf("%s: %q, want %q: %s", name, kinds(p), c.want, text(p))
		}
	}
}
