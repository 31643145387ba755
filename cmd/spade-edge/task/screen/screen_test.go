package screen_test

import (
	"encoding/csv"
	"fmt"
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
)

const shared = "../../../../../shared/data"

// fitted returns the recipe of a softmax model that is fitted on a source.
func fitted(t *testing.T, s task.Spec) *task.Recipe {
	t.Helper()
	r, err := task.Fit(s, task.ModelSpec{Name: task.SoftmaxModel}, "these rows")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// raw returns the samples of a source without preparation.
func raw(t *testing.T, r *task.Recipe, s task.Spec) *task.Data {
	t.Helper()
	d, err := r.Raw(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// file writes a file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// write writes rows of cells without commas.
func write(t *testing.T, rows [][]string) string {
	t.Helper()
	var text strings.Builder
	for _, row := range rows {
		text.WriteString(strings.Join(row, ",") + "\n")
	}
	return file(t, text.String())
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
		r := fitted(t, s)
		p, rel := look(t, r, own, true)
		if len(p.Suspicions) > 0 || rel.AsGood > 0 {
			t.Errorf("%s: %+v\n%s", file, rel, text(p))
		}
		if p := screen.Table(r, raw(t, r, s), true, nil); len(p.Suspicions) > 0 {
			t.Errorf("%s by itself:\n%s", file, text(p))
		}
	}
}

// base makes the ward 0 or 1.
func base(i int, row []string) { row[2] = strconv.Itoa(i % 2) }

// ofBase returns a recipe fitted on 300 rows of base.
func ofBase(t *testing.T) *task.Recipe {
	t.Helper()
	return fitted(t, task.Spec{Label: "y", Missing: "mean", Whole: true, Source: "csv:" + write(t, table(300, 5, base))})
}

// TestFound checks tables with one error each. The recipe comes from the same table without the error, in another order.
func TestFound(t *testing.T) {
	r := ofBase(t)
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
}

// TestFoundInFile checks what is said of files as a whole.
func TestFoundInFile(t *testing.T) {
	r := ofBase(t)
	for content, want := range map[string]string{
		"51,5.1,1,yes\n" + strings.Repeat("50,5,0,no\n61,4,1,yes\n", 20):                                 "3 of 4 names of columns are numbers",
		"a;b;ward;y\n" + strings.Repeat("1.050;5,1;0;no\n61;4,2;1;yes\n", 20):                            "a point or comma may separate thousands",
		"a;b;ward;y\n" + strings.Repeat("1,5;5,1;0;no\n61;4,2;1;yes\n", 20):                              "",
		"2019,2020,ward,y\n" + strings.Repeat("50,5,0,no\n61,4,1,yes\n", 20):                             "",
		"a,b,ward,y\n" + strings.Repeat("1700000000000000001,5,0,no\n1700000000000000002,4,1,yes\n", 20): `line 2: column "a": "1700000000000000001" has more digits`,
		"a,b,ward,y\n" + strings.Repeat("1700000000000000000,5,0,no\n9007199254740994,4,1,yes\n", 20):    "",
		"a,b,ward,y\n" + strings.Repeat("50,5,0,no\n61,4,1,yes\n", 20) + "Total:,180,20,no\n\n":          `the last row begins with "Total:"`,
		"0,1,2,y\n" + strings.Repeat("50,5,0,no\n61,4,1,yes\n", 20):                                      "",
	} {
		names := strings.FieldsFunc(content[:strings.Index(content, "\n")], func(r rune) bool { return r == ',' || r == ';' })
		own := *r
		own.Label, own.Columns = names[3], []task.Column{{Name: names[0]}, {Name: names[1]}, {Name: names[2]}}
		d := raw(t, &own, task.Spec{Source: "csv:" + file(t, content), Records: true})
		if got := strings.Join(d.Notes, "; "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%.30q: %s, want %s", content, got, want)
		}
	}
}

// TestPersons checks that persons are named who may be one.
func TestPersons(t *testing.T) {
	for second, want := range map[string]string{"007": `such as "007" and "7"`, "7.0": `such as "7" and "7.0"`, "p7": "", "": "", "70": ""} {
		path := file(t, "who,a,y\n"+strings.Repeat("7,5,no\n8,4,yes\n"+second+",6,no\n", 5))
		r := &task.Recipe{Source: "csv", Columns: []task.Column{{Name: "a"}}, Label: "y", Person: "who", Classes: []string{"no", "yes"}}
		d := raw(t, r, task.Spec{Source: "csv:" + path, Records: true})
		if got := strings.Join(d.Notes, "; "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: %s, want %s", second, got, want)
		}
	}
}

// TestStrange checks that single values far from the data that a model was fitted on are reported with their row, and
// that missing values are not reported.
func TestStrange(t *testing.T) {
	path := write(t, table(60, 1, nothing))
	r := fitted(t, task.Spec{Source: "csv:" + path, Label: "y", OneHot: []string{"ward"}, Missing: "mean"})
	other := write(t, [][]string{{"b", "a", "ward", "y"}, {"5", "50", "1", "no"}, {"", "5", "1", "no"}, {"-9", "200", "2", "yes"}})
	found := screen.Strange(r, raw(t, r, task.Spec{Source: "csv:" + other}))
	if len(found) != 2 || found[0].Column != "a" || found[0].Count != 2 || found[0].Example != "5 in row 2" || found[1].Example != "-9 in row 3" {
		t.Errorf("%+v", found)
	}
}

// TestOdd checks that nothing panics if a file has only broken lines, is tiny or constant, or is full of extreme
// numbers.
func TestOdd(t *testing.T) {
	r := fitted(t, task.Spec{Source: "csv:" + write(t, table(60, 1, nothing)), Label: "y", OneHot: []string{"ward"}, Missing: "mean"})
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
	times := func(text string, twelve bool) string {
		x, _ := strconv.ParseFloat(text, 64)
		return fmt.Sprint(x * map[bool]float64{true: 12, false: 1}[twelve])
	}
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
		"cap of a tail": {1, func(i int, _ []string) string {
			return map[bool]string{true: strconv.Itoa(i % 10), false: strconv.Itoa(min(130, 10+3*(i-150)))}[i < 150]
		}, nil},

		"the label as a code":   {2, func(_ int, row []string) string { return map[string]string{"no": "A00", "yes": "I21"}[row[3]] }, []string{"tells ward"}},
		"the label as a number": {1, func(i int, row []string) string { return fmt.Sprint(i%9 + 20*len(row[3])) }, []string{"tells b"}},
		"in all rows but one": {1, func(i int, row []string) string {
			return map[bool]string{true: "1", false: "2"}[i == 9 || row[3] == "no"]
		}, []string{"tells b"}},
		"in nine rows of ten": {1, func(i int, row []string) string {
			return map[bool]string{true: "1", false: "2"}[i%10 == 9 || row[3] == "no"]
		}, nil},
		"a category in all rows but one": {2, func(i int, row []string) string {
			return map[bool]string{true: "A00", false: "I21"}[i == 9 || row[3] == "no"]
		}, []string{"tells ward"}},
		"a category in nine rows of ten": {2, func(i int, row []string) string {
			return map[bool]string{true: "A00", false: "I21"}[i%10 == 9 || row[3] == "no"]
		}, nil},
		"a gap that tells": {1, func(i int, row []string) string {
			return map[bool]string{true: "", false: row[1]}[i == 9 || row[3] == "no"]
		}, []string{"tells b"}},
		"a category's gap that tells": {2, func(i int, row []string) string { return map[bool]string{true: "", false: row[2]}[row[3] == "no"] }, []string{"tells ward"}},
		"a gap that hints": {1, func(i int, row []string) string {
			return map[bool]string{true: "", false: row[1]}[i%10 == 9 || row[3] == "no"]
		}, nil},
		"years of birth among ages": {0, func(i int, row []string) string {
			return map[bool]string{true: fmt.Sprint(1950 + i%30), false: row[0]}[i%40 == 0]
		}, []string{"far a"}},
		"a wrong sign":                        {0, func(i int, row []string) string { return map[bool]string{true: "-", false: ""}[i%20 == 0] + row[0] }, []string{"far a"}},
		"another unit in one row":             {0, func(i int, row []string) string { return times(row[0], i == 5) }, []string{"far a"}},
		"another unit in a third of the rows": {0, func(i int, row []string) string { return times(row[0], i%3 == 0) }, []string{"far a"}},
		"a class for a marker": {3, func(i int, row []string) string {
			return map[bool]string{true: "99", false: map[string]string{"no": "0", "yes": "1"}[row[3]]}[i%10 == 0]
		}, []string{"no class y"}},
		"nine classes and zero":   {3, func(i int, _ []string) string { return strconv.Itoa(i % 10) }, nil},
		"a category for each row": {2, func(i int, _ []string) string { return fmt.Sprintf("%x", 7919*i) }, []string{"names ward"}},
		"a class for no answer":   {3, func(i int, row []string) string { return map[bool]string{true: "Unknown", false: row[3]}[i%10 == 0] }, []string{"no class y"}},
	} {
		rows := table(200, 1, func(i int, row []string) { row[c.column] = c.value(i, row) })
		s := task.Spec{Source: "csv:" + write(t, rows), Label: "y", OneHot: []string{"ward"}, Missing: "mean", Whole: true}
		r := fitted(t, s)
		if p := screen.Table(r, raw(t, r, s), true, nil); !slices.Equal(kinds(p), c.want) {
			t.Errorf("%s: %q, want %q: %s", name, kinds(p), c.want, text(p))
		}
	}
}
