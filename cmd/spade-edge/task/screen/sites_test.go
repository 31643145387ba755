package screen_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/screen"
)

// sites returns a recipe that is fitted on the files of all sites, and the report of each of them by itself.
func sites(t *testing.T, s task.Spec, paths []string) (*task.Recipe, []*screen.Report) {
	t.Helper()
	s.Files = paths
	all, err := task.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := all.Recipe(task.ModelSpec{Name: task.SoftmaxModel}, "all")
	if err != nil {
		t.Fatal(err)
	}
	var reports []*screen.Report
	for _, path := range paths {
		reports = append(reports, screen.Table(r, raw(t, r, task.Spec{Source: "csv:" + path}), true, nil))
	}
	return r, reports
}

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
		_, reports := sites(t, s, paths)
		screen.Among(reports, paths)
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
		{func(_ int, row []string) { row[3] = "no" }, []string{"one class y"}},
		{func(i int, row []string) {
			if i < 20 {
				copy(row, table(60, 1, nothing)[i+11])
			}
		}, []string{"repeated "}},
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

// TestOtherNames checks that a file whose names occur in no other is reported, and one with a single name is not.
func TestOtherNames(t *testing.T) {
	paths := []string{
		write(t, table(60, 1, nothing)),
		write(t, table(60, 2, func(_ int, row []string) { row[2], row[3] = "only", "class "+row[3] })),
	}
	r, reports := sites(t, task.Spec{Label: "y", OneHot: []string{"ward"}, Missing: "mean"}, paths)
	screen.Near(r, reports, paths)
	for i, p := range reports {
		if found := text(p); strings.Count(found, "near y: none of its 2 names, such as ") != 1 || strings.Contains(found, `"only", occurs`) {
			t.Errorf("site %d: %s", i, found)
		}
	}
}

// TestOneOtherName checks that a file that has a name of its own in place of one that all others have is reported.
func TestOneOtherName(t *testing.T) {
	for own, want := range map[string]int{"w": 1, "f": 0, "m": 0} {
		var paths []string
		for i := range 3 {
			paths = append(paths, write(t, table(60, uint64(i), func(j int, row []string) {
				row[2] = []string{map[bool]string{true: own, false: "f"}[i == 2], "m"}[j%2]
			})))
		}
		r, reports := sites(t, task.Spec{Label: "y", OneHot: []string{"ward"}, Missing: "mean"}, paths)
		screen.Near(r, reports, paths)
		if found := strings.Count(text(reports[2]), `rows have "w", which no other file has, and none has "f", as all other files do`); found != want ||
			text(reports[0])+text(reports[1]) != "" {
			t.Errorf("%s: %s%s%s", own, text(reports[0]), text(reports[1]), text(reports[2]))
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
	r, reports := sites(t, task.Spec{Label: "y", OneHot: []string{"ward"}, Missing: "mean"}, paths)
	screen.Near(r, reports, []string{"north.csv", "south.csv"})
	found := text(reports[0]) + text(reports[1])
	if strings.Contains(found, "another file") { // they share "west"
		t.Error(found)
	}
	for _, want := range []string{"near ward: ", "near y: ", `"East" (30 rows of north.csv), "east." (30 rows of south.csv)`} {
		if strings.Count(found, want) < 1 {
			t.Errorf("%s, want %s", found, want)
		}
	}
}

// TestNearInOne checks which names of one file are said to be one.
func TestNearInOne(t *testing.T) {
	for name, c := range map[string]struct {
		label func(i int, y string) string
		want  []string
	}{
		"two languages":     {func(i int, y string) string { return []string{y, map[string]string{"no": "nein", "yes": "Ja"}[y]}[i%2] }, []string{"all mean no", "all mean yes"}},
		"words and codes":   {func(i int, y string) string { return []string{y, map[string]string{"no": "0", "yes": "1"}[y]}[i%2] }, []string{"all mean no", "all mean yes"}},
		"numbers of pandas": {func(i int, y string) string { return []string{y, map[string]string{"no": "0.0", "yes": "1.0"}[y]}[i%2] }, []string{"all mean no", "all mean yes"}},
		"other words":       {func(i int, y string) string { return map[string]string{"no": "healthy", "yes": "positive"}[y] }, nil},
		"a letter too many": {func(i int, y string) string { return "grade " + y + map[bool]string{true: "s"}[i == 7] }, []string{"misspelling"}},
		"swapped letters":   {func(i int, y string) string { return map[bool]string{true: "rgade ", false: "grade "}[i == 7] + y }, []string{"misspelling"}},
		"a rare class":      {func(i int, y string) string { return map[bool]string{true: "other", false: "grade " + y}[i == 7] }, nil},
		"stages":            {func(i int, y string) string { return map[bool]string{true: "stage II", false: "stage I"}[i%6 == 0] }, nil},
	} {
		path := write(t, table(120, 1, func(i int, row []string) { row[3] = c.label(i, row[3]) }))
		r, reports := sites(t, task.Spec{Label: "y", OneHot: []string{"ward"}, Missing: "mean", Whole: true}, []string{path})
		screen.Near(r, reports, []string{"one.csv"})
		found := text(reports[0])
		if n := strings.Count(found, "near y"); n != len(c.want) {
			t.Errorf("%s: %s, want %q", name, found, c.want)
		}
		for _, want := range c.want {
			if strings.Count(found, want) != 1 {
				t.Errorf("%s: %s, want %q", name, found, want)
			}
		}
	}
}
