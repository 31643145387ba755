package task

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

const patients = "\ufeffid, age,ward,  score ,class\n" +
	"1,30,b,1.5,sick\n" +
	"2,40,a,-2e1,well\n" +
	"\n" +
	"3,\"50\",b, .25 ,sick\n" +
	"4,60,10,0,well\n"

func load(t *testing.T, content string, s Spec) (*table, error) {
	t.Helper()
	r, err := readCSV(strings.NewReader(content), "p.csv", false, s.columns)
	if err != nil {
		return nil, err
	}
	return r.table(), nil
}

func TestReadCSV(t *testing.T) {
	tab, err := load(t, patients, Spec{Label: "class", Drop: []string{"id"}, OneHot: []string{"ward"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"age", "ward=10", "ward=a", "ward=b", "score"}; !slices.Equal(tab.features, want) {
		t.Errorf("features %q, want %q", tab.features, want)
	}
	d := tab.data(&Recipe{Classes: []string{"well", "sick"}})
	want := []float32{
		30, 0, 0, 1, 1.5,
		40, 0, 1, 0, -20,
		50, 0, 0, 1, 0.25,
		60, 1, 0, 0, 0,
	}
	if !slices.Equal(d.X, want) || !slices.Equal(d.Y, []int{1, 0, 1, 0}) || d.Dim != 5 || d.Classes != 2 {
		t.Errorf("read %+v, want X = %v", d, want)
	}
	if one := tab.data(&Recipe{Classes: []string{"sick", "other"}}); !slices.Equal(one.X, append(want[:5:5], want[10:15]...)) ||
		!slices.Equal(one.Y, []int{0, 0}) {
		t.Errorf("one class: %+v", one)
	}
}

func TestReadCSVFaults(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		spec    Spec
		want    []string
	}{
		"empty":   {"", Spec{Label: "y"}, []string{"p.csv is empty"}},
		"no rows": {"a,y\n", Spec{Label: "y"}, []string{"no rows below the header"}},
		"no label": {"a,b\n1,2\n", Spec{Label: "y"}, []string{`label "y": p.csv has no such column`,
			`the columns of p.csv are "a", "b"`}},
		"a title": {"Export of 2024,,\na,b,y\n1,2,3\n", Spec{Label: "y"}, []string{`no such column`, "remove a title or a comment above the header"}},
		"blanks":  {"a b y\n1 2 3\n", Spec{Label: "y"}, []string{`no such column`, `separate cells by comma, semicolon, tab or |`}},
		"no columns": {"a,b,y\n1,2,3\n", Spec{Label: "y", Drop: []string{"c", "b"}, OneHot: []string{"d"}},
			[]string{`drop "c"`, `onehot "d"`, `the columns of p.csv are "a", "b", "y"`}},
		"nothing left": {"a,y\n1,2\n", Spec{Label: "y", Drop: []string{"a"}}, []string{"no feature columns"}},
		"two bad cells": {"a,b,y\n1,\"2\n\",3\n\n1,two,x\nNaN,2,x\n", Spec{Label: "y"},
			[]string{`line 5: column "b": "two" is not a finite number`, `line 6: column "a": "NaN" is not a finite number`}},
		"text": {"a,b,c,y\n" + strings.Repeat("1,north,2,x\n1,south,two,y\n1,east,3,x\n", 9), Spec{Label: "y"}, []string{
			`onehot lacks "b", which holds text in 27 lines of p.csv, such as "north": name it in onehot`}},
		"text beside typos": {"a,b,y\n" + strings.Repeat("1,no,x\n2,yes,y\n", 30) + "two,no,x\n", Spec{Label: "y"}, []string{
			`onehot lacks "b", which holds text in 61 lines of p.csv`, "with two texts it may be the label", `line 62: column "a": "two" is not`}},
		"typos beside text": {"a,b,y\ntwo,no,x\n" + strings.Repeat("1,no,x\n2,yes,y\n", 30), Spec{Label: "y"}, []string{
			`line 2: column "a": "two" is not a finite number`, `onehot lacks "b"`}},
		"infinite": {"a,y\n-Inf,x\n1e39,x\n,x\n", Spec{Label: "y"},
			[]string{`line 2: column "a": "-Inf"`, `line 3: column "a": "1e39" is too large, at most 3.4e38`, `line 4: column "a": ""`}},
		"widths":      {"a,y\n1\n1,2,3\n", Spec{Label: "y"}, []string{"line 2: 1 cells, want 2", "the first of 2 such lines"}},
		"many cells":  {"a,y\n" + strings.Repeat("-,x\n", 25), Spec{Label: "y"}, []string{`line 2: column "a": "-" is`, "the first of 25 such lines"}},
		"many faults": {"a,b,c,d,e,f,g,h,i,j,k,l,y\n" + strings.Repeat("-,", 12) + "x\n", Spec{Label: "y"}, []string{`column "j"`, "2 more errors"}},
	} {
		_, err := load(t, c.content, c.spec)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", name, err, want)
			}
		}
	}
}

func TestReadCSVTooManyValues(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,y\n")
	for i := range maxValues + 1 {
		fmt.Fprintf(&b, "%d,%d\n", i, i%2)
	}
	if _, err := load(t, b.String(), Spec{Label: "y", OneHot: []string{"id"}}); err == nil ||
		!strings.Contains(err.Error(), `"id" has more than 1000 distinct values`) {
		t.Errorf("one-hot: %v", err)
	}
	if _, err := load(t, b.String(), Spec{Label: "id"}); err == nil ||
		!strings.Contains(err.Error(), `"id" has more than 1000 distinct values`) {
		t.Errorf("label: %v", err)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add(patients)
	f.Add("ward,class\na,1\nb,2")
	f.Add("class,ward\n\"a\"\"b\",\"c\nd\"\n")
	f.Fuzz(func(t *testing.T, content string) {
		tab, err := load(t, content, Spec{Label: "class", OneHot: []string{"ward"}})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "task: ") {
				t.Errorf("error %q", err)
			}
			return
		}
		names, err := classNames(nil, tab, nil)
		if err != nil {
			names = tab.labels[:1]
		}
		d := tab.data(&Recipe{Classes: names})
		if d.Len() != len(tab.labels) || len(d.X) != d.Len()*d.Dim || len(d.Features) != d.Dim {
			t.Fatalf("%d samples and %d numbers in %d columns from %d rows", d.Len(), len(d.X), d.Dim, len(tab.labels))
		}
		for _, x := range d.X {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				t.Fatalf("read %v", x)
			}
		}
	})
}
