package task

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func hospitals(t *testing.T, texts ...string) (files []string) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		files = append(files, filepath.Join(dir, fmt.Sprintf("h%d.csv", i)))
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// lines returns n rows, each formatted with its number and, in rotation, one of the labels.
func lines(n int, format string, label ...string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i, label[i%len(label)])
	}
	return b.String()
}

func loadFiles(s Spec, files []string) (*Set, error) {
	s.Files = files
	return Load(s)
}

// TestLoadFiles checks that files that differ in separator, decimal mark, order of columns, letter case and categories
// yield the same set as one file with all rows: the same classes, categories and means. Each client has its own test
// part.
func TestLoadFiles(t *testing.T) {
	files := hospitals(t,
		"x,ward,y\n"+lines(20, "%d.5,west,%s", "no", "yes"),
		"ward;y;x;own\n"+strings.ReplaceAll(lines(30, "east;%[2]s;%[1]d,5;7", "Yes", "NO"), ";0,5;7", ";?;7"),
		"x\ty\tward\n"+lines(10, "%d\t%s\tnorth", "yes"),
	)
	spec := Spec{Label: "y", OneHot: []string{"ward"}, Drop: []string{"own"}, Missing: "indicator", Seed: 3}
	all := must(loadFiles(spec, files))(t)
	if want := []string{"x", "ward=east", "ward=north", "ward=west", "x missing", "bias"}; !slices.Equal(all.Train.Features, want) {
		t.Errorf("columns are %q, want %q", all.Train.Features, want)
	}
	if !slices.Equal(all.Spec.Labels, []string{"no", "yes"}) {
		t.Errorf("classes are %q", all.Spec.Labels)
	}
	for i, want := range [][2]int{{16, 4}, {24, 6}, {8, 2}} {
		if got := [2]int{all.Each()[i].Train.Len(), all.Each()[i].Test.Len()}; got != want {
			t.Errorf("%s has %v samples to learn from and to test on, want %v", files[i], got, want)
		}
		if all.Each()[i].Spec.Source != "csv:"+files[i] {
			t.Errorf("%d is called %q", i, all.Each()[i].Spec.Source)
		}
	}
	if all.Train.Len() != 48 || all.Test.Len() != 12 {
		t.Errorf("%d and %d samples in all", all.Train.Len(), all.Test.Len())
	}
	if !reflect.DeepEqual(all.Each()[1].Train.Row(3), all.Train.Row(19)) || !reflect.DeepEqual(all.Each()[2].Test.Row(1), all.Test.Row(11)) {
		t.Error("a file's samples are not those of the set")
	}
	mean := 0.0
	for i := range all.Train.Y {
		mean += float64(all.Train.Row(i)[0]) / 48
	}
	if mean > 1e-6 || mean < -1e-6 {
		t.Errorf("x has mean %v over the training samples of all files", mean)
	}

	// The fitted recipe, applied to the same files, produces the same bits.
	r := must(all.Recipe(ModelSpec{Name: SoftmaxModel}, "three files"))(t)
	applied := must(r.Apply(Spec{TestFraction: 0.2, Seed: 3, Files: files}))(t)
	if !reflect.DeepEqual(applied.Train, all.Train) || !reflect.DeepEqual(applied.Test, all.Test) ||
		!reflect.DeepEqual(applied.Each()[1].Test, all.Each()[1].Test) {
		t.Error("the recipe makes other samples of the files")
	}
}

// TestOneNameInFiles checks that classes and categories written as 0 and 1 in one file and 0.0 and 1.0 in another are
// the same, in either order of the files, and in a device's file under the recipe.
func TestOneNameInFiles(t *testing.T) {
	files := hospitals(t, "x,ward,y\n"+lines(20, "%d,1,%s", "0", "1"), "x,ward,y\n"+lines(20, "%d,1.0,%s", "0.0", "1.0"))
	for range 2 {
		slices.Reverse(files)
		all := must(loadFiles(Spec{Label: "y", OneHot: []string{"ward"}}, files))(t)
		r := must(all.Recipe(ModelSpec{Name: SoftmaxModel}, "two files"))(t)
		for _, records := range []bool{false, true} {
			set, err := r.Apply(Spec{Source: "csv:" + files[1], Records: records})
			if err != nil || len(all.Spec.Labels) != 2 || len(all.Train.Features) != 3 || set.Lost > 0 || set.Train.Len() != 16 {
				t.Errorf("classes %q, columns %q, %d lost, %v", all.Spec.Labels, all.Train.Features, set.Lost, err)
			}
		}
	}
}

// ClientFiles distinguishes the name of one file from lists and patterns of names.
func TestClientFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.csv", "b.csv", "c,d.csv"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, b := filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv")
	for _, c := range []struct {
		source string
		files  []string
		fault  string
	}{
		{"csv:" + a, nil, ""},
		{"csv:" + a + "," + b, []string{a, b}, ""},
		{"csv:" + b + ",csv:" + a, []string{b, a}, ""},
		{"csv:" + filepath.Join(dir, "?.csv"), []string{a, b}, ""},
		{"csv:" + filepath.Join(dir, "b*") + "," + filepath.Join(dir, "a*"), []string{b, a}, ""},
		{"csv:" + filepath.Join(dir, "c,d.csv"), nil, ""},
		{"csv:none.csv", nil, ""},
		{"csv:none.csv," + a, []string{"none.csv", a}, ""},
		{"idx:a,b", nil, ""},
		{"csv:" + filepath.Join(dir, "a*"), nil, "a.csv: name it without a star"},
		{"csv:" + filepath.Join(dir, "z*"), nil, "no file matches"},
		{"csv:[", nil, "no file matches"},
		{"csv:" + a + ",", nil, "each side"},
		{"csv:" + a + "," + filepath.Join(dir, "*"), nil, "twice"},
	} {
		files, err := ClientFiles(c.source)
		if !slices.Equal(files, c.files) || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %q, %v, want %q and %q", c.source, files, err, c.files, c.fault)
		}
	}
}

// TestLoadFilesTrailing checks that separators after the last cell of a line, which spreadsheets write, do not add
// columns.
func TestLoadFilesTrailing(t *testing.T) {
	plain, trailing := "x,y\n"+lines(10, "%d,%s", "a", "b"), "x,y,,\n"+lines(10, "%d,%s,,", "a", "b")
	for _, texts := range [][]string{{plain, trailing}, {trailing, plain}, {trailing, trailing}} {
		all, err := loadFiles(Spec{Label: "y"}, hospitals(t, texts...))
		if err != nil || all.Train.Dim != 2 {
			t.Errorf("%+v, %v, want x and a bias", all, err)
		}
	}
	_, err := loadFiles(Spec{Label: "y"}, hospitals(t, strings.ReplaceAll(trailing, "a,,", "a,7,"), plain))
	if err == nil || !strings.Contains(err.Error(), "h0.csv: line 2: 4 cells, want 2 as in the header") {
		t.Errorf("%v, want a cell without a column refused", err)
	}
}

// The range of a target is computed from all files together.
func TestLoadFilesTarget(t *testing.T) {
	files := hospitals(t, "x,y\n"+lines(10, "%[1]d,%[1]d.0%[2]s", ""), "y,x\n"+lines(10, "1%[1]d,%[1]d%[2]s", ""))
	all := must(loadFiles(Spec{Target: "y"}, files))(t)
	if all.Train.Range.Low != 0 || all.Train.Range.High != 19 || len(all.Each()[1].Train.Target) != all.Each()[1].Train.Len() {
		t.Errorf("range %v, %d targets of %d samples", all.Train.Range, len(all.Each()[1].Train.Target), all.Each()[1].Train.Len())
	}
}

// The error of Load names every file that has errors.
func TestLoadFilesFaults(t *testing.T) {
	good := "x,y\n" + lines(10, "%d,%s", "a", "b")
	for _, c := range []struct {
		name, second string
		spec         Spec
		want         []string
	}{
		{"column missing", "z,y\n1,a\n", Spec{}, []string{`h1.csv has no column "x"`, `h1.csv has a column "z"`, "drop", "the columns of"}},
		{"label missing", "x,z\n1,a\n", Spec{}, []string{"h1.csv", `label "y"`}},
		{"empty", "", Spec{}, []string{"h1.csv is empty"}},
		{"faulty cell", "x,y\none,a\n", Spec{}, []string{"h1.csv: line 2", `"one"`}},
		{"missing cell", "x,y\n1,a\n,b\n", Spec{}, []string{"h1.csv: line 3"}},
		{"too small to test on", "x,y\n1,a\n2,b\n", Spec{}, []string{"h1.csv", "leaves no test sample"}},
		{"nothing to drop", good, Spec{Drop: []string{"id"}}, []string{`drop "id"`, "no file"}},
		{"no rows", "x,y\n", Spec{}, []string{"h1.csv", "no rows"}},
	} {
		c.spec.Label = "y"
		_, err := loadFiles(c.spec, append(hospitals(t, good, c.second), "none.csv"))
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		if len(c.spec.Drop) > 0 || c.name == "too small to test on" {
			_, err = loadFiles(c.spec, hospitals(t, good, c.second))
		} else {
			c.want = append(c.want, "none.csv")
		}
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", c.name, err, want)
			}
		}
	}
}
