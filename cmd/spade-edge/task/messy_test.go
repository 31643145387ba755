package task

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestMessyFiles reads files as they occur in practice. Each yields the expected numbers, or errors with their
// locations. Columns a and b have numbers, ward has categories; the label is y.
func TestMessyFiles(t *testing.T) {
	const (
		clean = "a,b,y\n1,2.5,no\n-3,40,yes\n"
		want  = "1 2.5 no, -3 40 yes"
	)
	utf16 := func(s string) string {
		b := []byte{0xff, 0xfe}
		for _, c := range []byte(s) {
			b = append(b, c, 0)
		}
		return string(b)
	}
	numbered := func(n int, line string) (text string) {
		for i := range n {
			text += fmt.Sprintf(line, i)
		}
		return text
	}
	for name, c := range map[string]struct {
		content string
		spec    Spec
		want    string // the expected rows or, if the file is invalid, part of each error, in lines
	}{
		"clean":                       {clean, Spec{}, want},
		"semicolons, decimal commas":  {"a;b;y\n1;2,5;no\n-3,0;40;yes\n", Spec{}, want},
		"tabs":                        {"a\tb\ty\n1\t2.5\tno\n-3\t40\tyes\n", Spec{}, want},
		"tabs, an empty cell":         {"a\tb\ty\n1\t2.5\tno\n\t40\tyes\n", Spec{Missing: "mean"}, "1 2.5 no, ? 40 yes"},
		"bars":                        {"a|b|y\n1|2.5|no\n-3|40|yes\n", Spec{}, want},
		"Excel's first line":          {"sep=;\r\na;b;y\r\n1;2,5;no\r\n-3;40;yes\r\n", Spec{}, want},
		"its quotes":                  {"\"sep=,\"\na,b,y\n1,2.5,no\n-3,40,yes\n", Spec{}, want},
		"byte order mark, CR LF":      {"\ufeff" + strings.ReplaceAll(clean, "\n", "\r\n"), Spec{}, want},
		"byte order mark, a quote":    {"\ufeff\"a\";\"b\";\"y\"\n\"1\";\"2,5\";\"no\"\n\"-3\";\"40\";\"yes\"\n", Spec{}, want},
		"UTF-16":                      {utf16(clean), Spec{}, "p.csv is UTF-16 or not text, want UTF-8"},
		"a zero byte":                 {"a,y\n1,no\n2\x00,yes\n3,no\n", Spec{}, "p.csv has a zero byte in line 3, so it is damaged or not text"},
		"zero bytes at the end":       {clean + strings.Repeat("\n-3,40,yes", 9) + strings.Repeat("\x00", 4096), Spec{}, "p.csv has a zero byte in line 13"},
		"a quote within a cell":       {"a,b,y\n1, \"2.5\" ,no\n", Spec{}, "line 2: a quote within a cell, or no quote at its end"},
		"a quote that stays open":     {"a,note,y\n1,\"two,no\n-3,,yes\n", Spec{Drop: []string{"note"}}, "line 2: a quote within a cell, or no quote at its end"},
		"Latin-1 header":              {"gr\xf6\xdfe,b,y\n1,2,no\n", Spec{}, `the name of column 1, "gr\xf6\xdfe", is not in UTF-8`},
		"Latin-1 label":               {"a,y\n1,no\n2,j\xe4\n", Spec{}, `line 3: column "y": "j\xe4" is not in UTF-8`},
		"a workbook":                  {"PK\x03\x04rest", Spec{}, "is a spreadsheet or an archive"},
		"old Mac":                     {"a,y\r1,no\r", Spec{}, "ends its lines with CR alone"},
		"quoted line ends":            {"a,note,y\n1,\"two\nlines\",no\n-3,\"\"\"so, so\"\"\",yes\n", Spec{Drop: []string{"note"}}, "1 no, -3 yes"},
		"line numbers behind them":    {"a,note,y\n1,\"two\nlines\",no\nx,,yes\n", Spec{Drop: []string{"note"}}, `line 4: column "a": "x" is not a finite number`},
		"labels as they were typed":   {"a,y\n1, No\n2,no \n3,NO\n4,Yes\n", Spec{}, "1 No, 2 No, 3 No, 4 Yes"},
		"labels that are chosen":      {"a,y\n1,NO\n2,yes\n", Spec{Labels: []string{"no", "Yes"}}, "1 no, 2 Yes"},
		"labels that differ in case":  {"a,y\n1,A\n2,a\n", Spec{Labels: []string{"a", "A"}}, "1 A, 2 a"},
		"empty lines at the end":      {clean + "\n,,\n , ,\n\n", Spec{}, want},
		"empty columns at the end":    {"a,b,y,,\n1,2.5,no,,\n-3,40,yes\n", Spec{}, want},
		"a cell below no name":        {"a,b,y,\n1,2.5,no,\n-3,40,yes,7\n", Spec{}, `line 3: 4 cells, want 3 as in the header`},
		"no names":                    {" \n1,2.5,no\n", Spec{}, "the first line is empty, want the column names"},
		"cells behind the last name":  {"a,b,y\n1,2.5,no,,\n-3,40,yes,\n", Spec{}, want},
		"one name twice":              {"a,b,a,y\n", Spec{}, `columns 1 and 3 are both called "a"`},
		"a name for no name":          {"a,,column 2,y\n", Spec{}, `columns 2 and 3 are both called "column 2"`},
		"ragged":                      {"a,b,y\n1,2.5,no\n3,yes\n", Spec{}, "line 3: 2 cells, want 3 as in the header: put each cell with ',' in quotes"},
		"ragged, too long":            {"a,b,y\n1,2,5,no\n", Spec{}, "line 2: 4 cells, want 3 as in the header"},
		"thousands":                   {"a,y\n\"1,234,567\",no\n", Spec{}, `line 2: column "a": "1,234,567" has thousands separators`},
		"thousands, the German way":   {"a;y\n1.234.567,8;no\n", Spec{}, `line 2: column "a": "1.234.567,8" has thousands separators`},
		"thousands, with spaces":      {"a,y\n1\u00a0234,no\n", Spec{}, `has thousands separators`},
		"thousands or decimals":       {"a;y\n950;no\n1,234;yes\n", Spec{}, `line 3: column "a": "1,234" has a decimal comma or a thousands separator, and no other number in the file shows which`},
		"decimals, for one shows it":  {"a;y\n1,234;no\n0,5;yes\n", Spec{}, "1.234 no, 0.5 yes"},
		"decimals, for a zero leads":  {"a;y\n0,234;no\n1,234;yes\n", Spec{}, "0.234 no, 1.234 yes"},
		"points and commas":           {"a;b;y\n1,5;2;no\n2,5;1.234;yes\n", Spec{}, `line 2: column "a": "1,5" and line 3: column "b": "1.234": want either decimal points or decimal commas`},
		"markers, no rule":            {"a,y\n1,no\nNA,yes\n", Spec{}, `line 3: column "a": "NA" is not a finite number; to accept missing cells`},
		"markers, all of them":        {"a,y\n1,no\n,no\nNA,no\nn/a,no\n#N/A,no\nNaN,no\nNULL,no\nNone,no\n?,no\n-,no\n.,no\n", Spec{Missing: "median"}, "1 no" + strings.Repeat(", ? no", 10)},
		"markers, rows left out":      {"a,b,y\n1,2.5,no\n?,3,yes\n-3,40,yes\n5,6,\n", Spec{Missing: "drop"}, want},
		"no label, with a rule":       {"a,y\n1,no\n2,\n3,NA\n4,yes\n", Spec{Missing: "mean"}, "1 no, 4 yes"},
		"no label":                    {"a,y\n1,no\n2,\n", Spec{}, `line 3: column "y": empty label`},
		"a missing category":          {"a,ward,y\n1,x,no\n2,NA,no\n3,none,yes\n", Spec{OneHot: []string{"ward"}, Missing: "mean"}, "1 0 1 no, 2 ? ? no, 3 1 0 yes"},
		"a date":                      {"a,day,y\n1,2021-03-04,no\n2,2021-03-05,no\n", Spec{}, `line 2: column "day": "2021-03-04" is a date or a time, want a number`},
		"a German date":               {"a;day;y\n1;4.3.2021;no\n", Spec{}, `column "day": "4.3.2021" is a date`},
		"an American date and time":   {"a,day,y\n1,3/4/21 12:30,no\n", Spec{}, `column "day": "3/4/21 12:30" is a date`},
		"a time stamp":                {"a,day,y\n1,2021-03-04T12:30:00Z,no\n", Spec{}, `column "day": "2021-03-04T12:30:00Z" is a date`},
		"a time of day":               {"a,day,y\n1,07:30,no\n", Spec{}, `column "day": "07:30" is a date or a time`},
		"blood pressure is no date":   {"a,bp,y\n1,120/80,no\n", Spec{}, `column "bp": "120/80" is not a finite number`},
		"spaces":                      {" a , b,y \n 1 ,\t2.5, no \n-3 ,40 ,yes\n", Spec{}, want},
		"too many numbers as classes": {"a,y\n" + numbered(21, "1,%d.5\n"), Spec{}, `label "y" has 21 values that are numbers, too many for classes: give target instead of label`},
		"dates as classes":            {"a,y\n" + numbered(29, "1,2024-10-%d\n"), Spec{}, `label "y" has 28 values that are dates or times, want classes: write one for each row`},
		"two dates as classes":        {"a,y\n1,1.2.2024\n2,3.2.2024\n", Spec{}, `label "y" has 2 values that are dates or times`},
		"ratios as classes":           {"a,y\n1,1:20\n2,1:40\n", Spec{}, "1 1:20, 2 1:40"},
		"notes as classes":            {"a,y\n" + numbered(21, "1,note %d\n"), Spec{}, `label "y" has 21 values in 21 rows, too many for classes: name the column`},
		"measurements with units":     {"a,b,y\n" + numbered(9, "1,%d mg,no\n"), Spec{}, `onehot lacks "b", which holds text in 9 lines of p.csv, such as "0 mg": name it in onehot to turn each text into a column, or in drop to ignore it; if these are measurements, write the numbers alone`},
		"a marker of their own":       {"a,b,y\n" + numbered(9, "1,%d,no\n") + "n.d.,5,no\nn.d.,5,no\n", Spec{}, `line 11: column "a": "n.d." is not a finite number; if that stands for a missing value, list it in na (the first of 2 such lines)`},
		"classes as numbers":          {"a,y\n1,0\n2,1\n3,0.0\n4,1.0\n5,+1\n6,\"0,0\"\n", Spec{}, "1 0, 2 1, 3 0, 4 1, 5 1, 6 0"},
		"categories as numbers":       {"a,ward,y\n1,7.0,no\n2,7,yes\n3,8,yes\n", Spec{OneHot: []string{"ward"}}, "1 1 0 no, 2 1 0 yes, 3 0 1 yes"},
		"codes":                       {"a,ward,y\n1,07,no\n2,7,yes\n3,007,yes\n", Spec{OneHot: []string{"ward"}}, "1 0 1 0 no, 2 0 0 1 yes, 3 1 0 0 yes"},
		"no width":                    {"a\u200b,y\n1,n\u200bo\n\ufeff2,yes\n3,no\u00ad\n", Spec{}, "1 no, 2 yes, 3 no"},
		"accents in two ways":         {"gr\u00f6\u00dfe,a,y\n7,1,J\u00e4\n7,2,no\n7,3,ja\u0308\n", Spec{Drop: []string{"gro\u0308\u00dfe"}}, "1 J\u00e4, 2 no, 3 J\u00e4"},
		"accents of the time":         {"gr\u00f6\u00dfe,a,y\n7,1,no\n8,2,yes\n", Spec{Survival: "gro\u0308\u00dfe,y"}, "1 no, 2 yes"},
		"underscores":                 {"a,y\n1_0,no\n", Spec{}, `column "a": "1_0" is not a finite number`},
		"hexadecimal":                 {"a,y\n0x1p3,no\n", Spec{}, `column "a": "0x1p3" is not a finite number`},
		"beyond float32":              {"a,y\n4e38,no\n", Spec{}, `column "a": "4e38" is too large, at most 3.4e38`},
		"empty":                       {"", Spec{}, "p.csv is empty"},
		"no rows":                     {"a,y\n", Spec{}, "no rows below the header"},
		"no label column":             {"a,b\n1,2\n", Spec{}, `label "y": p.csv has no such column` + "\n" + `the columns of p.csv are "a", "b"`},
		"a title": {"Export of 2024,,\na,b,y\n1,2,3\n", Spec{}, "no such column\nthe columns of p.csv are \"Export of 2024\"\n" +
			"remove a title or a comment above the header"},
		"blanks": {"a b y\n1 2 3\n", Spec{}, "no such column\nthe columns of\nseparate cells by comma, semicolon, tab or |"},
		"no such columns": {"a,b,y\n1,2,3\n", Spec{Drop: []string{"c", "b"}, OneHot: []string{"d"}},
			`drop "c"` + "\n" + `onehot "d"` + "\n" + `the columns of p.csv are "a", "b", "y"`},
		"nothing left": {"a,y\n1,2\n", Spec{Drop: []string{"a"}}, "no feature columns"},
		"two bad cells": {"a,b,y\n1,\"2\n\",3\n\n1,two,x\nNaN,2,x\n", Spec{}, `line 5: column "b": "two" is not a finite number` + "\n" +
			`line 6: column "a": "NaN" is not a finite number`},
		"text": {"a,b,c,y\n" + strings.Repeat("1,north,2,x\n1,south,two,y\n1,east,3,x\n", 9), Spec{}, `onehot lacks "b", which holds text in 27 lines ` +
			`of p.csv, such as "north": name it in onehot` + "\n" + `line 3: column "c": "two"`},
		"text beside typos": {"a,b,y\n" + strings.Repeat("1,no,x\n2,yes,y\n", 30) + "two,no,x\n", Spec{}, `onehot lacks "b", which holds text in 61 ` +
			"lines of p.csv, such as \"no\": name it in onehot to turn each text into a column, or in drop to ignore it; with two texts it may be the " +
			"label\n" + `line 62: column "a": "two" is not`},
		"typos beside text": {"a,b,y\ntwo,no,x\n" + strings.Repeat("1,no,x\n2,yes,y\n", 30), Spec{}, `line 2: column "a": "two" is not` + "\n" +
			`onehot lacks "b"`},
		"infinite": {"a,y\n-Inf,x\n1e39,x\n,x\n", Spec{}, `line 2: column "a": "-Inf"` + "\n" + `line 3: column "a": "1e39" is too large, at most 3.4e38` +
			"\n" + `line 4: column "a": ""`},
		"widths":              {"a,y\n1\n1,2,3\n", Spec{}, "line 2: 1 cells, want 2 as in the header: put each cell with ',' in quotes (the first of 2 such lines)"},
		"many cells":          {"a,y\n" + strings.Repeat("-,x\n", 25), Spec{}, `(the first of 25 such lines)`},
		"many faults":         {"a,b,c,d,e,f,g,h,i,j,k,l,y\n" + strings.Repeat("-,", 12) + "x\n", Spec{}, strings.Repeat("line 2: column \n", 10) + "2 more errors"},
		"too many categories": {"a,y\n" + numbered(maxValues+1, "%d,1\n"), Spec{OneHot: []string{"a"}}, `column "a" has more than 1000 distinct values`},
		"too many classes":    {"a,y\n" + numbered(maxValues+1, "1,%d\n"), Spec{}, `column "y" has more than 1000 distinct values`},
		"nothing is whole":    {"a,y\n,no\n1,\n", Spec{Missing: "drop"}, "no rows below the header that can be used: a row to learn from needs a label"},
	} {
		t.Run(name, func(t *testing.T) {
			c.spec.Label = "y"
			got, err := rows(c.content, c.spec)
			if err != nil {
				if !slices.EqualFunc(strings.Split(err.Error(), "\n"), strings.Split(c.want, "\n"), strings.Contains) {
					t.Errorf("error %s, want lines with %s", err, c.want)
				}
			} else if got != c.want {
				t.Errorf("read %s, want %s", got, c.want)
			}
		})
	}
}

// TestDigits checks that numbers whose differences a float32 cannot hold are centered before they are rounded, as columns
// and as targets.
func TestDigits(t *testing.T) {
	for name, format := range map[string]string{"dates": "20240%d", "milliseconds": "1700000000%d", "identifiers": "123456%d", "a fraction": "1000000.000%d"} {
		file := "a,b,y\n"
		for i := range 60 {
			file += fmt.Sprintf(format+",%d,%s\n", 101+i, i%7, []string{"no", "yes"}[i/30])
		}
		source := ownFile(t, file)
		for _, missing := range []string{"", "mean"} {
			r := must(Fit(Spec{Source: source, Label: "y", Missing: missing, Whole: true}, ModelSpec{Name: SoftmaxModel}, "itself"))(t)
			set := must(r.Apply(Spec{Source: source, Whole: true}))(t)
			raw := must(r.Raw(Spec{Source: source}, nil))(t)
			step := 1 / r.Standardize.Std[0] * (raw.Value(1, 0) - raw.Value(0, 0))
			for i := 1; i < 60; i++ {
				if got := float64(set.Train.Row(i)[0]) - float64(set.Train.Row(i - 1)[0]); math.Abs(got/step-1) > 1e-3 || raw.Value(i, 0) <= raw.Value(i-1, 0) {
					t.Fatalf("%s: sample %d is %v above the one before it, want %v", name, i, got, step)
				}
			}
		}
		set := must(Load(Spec{Source: source, Target: "a", Drop: []string{"y"}, Whole: true}))(t)
		goal := ModelSpec{Name: LinearModel}.New(set.Train).goal
		if slices.Sort(goal); len(slices.Compact(goal)) < 50 {
			t.Errorf("%s: %d different targets of 60", name, len(slices.Compact(goal)))
		}
	}
}

// rows reads a file as Load does and returns the content of its rows, with ? for a missing number.
func rows(content string, s Spec) (string, error) {
	s = s.clean()
	r, err := readCSV(strings.NewReader(content), "p.csv", false, s.columns)
	if err != nil {
		return "", err
	}
	t := r.table()
	names, err := classNames(s.Labels, t, nil)
	if err == nil {
		err = s.checkClasses(names, len(t.labels))
	}
	if err != nil && !strings.Contains(err.Error(), "every row has the label") {
		return "", err
	}
	if err != nil {
		names = t.labels[:1]
	}
	h, _ := s.horizon()
	d, out := t.data(&Recipe{Classes: names, Survival: h}), []string(nil)
	for i, y := range d.Y {
		var cells []string
		for _, x := range d.Row(i) {
			cells = append(cells, strings.Replace(fmt.Sprint(x), "NaN", "?", 1))
		}
		out = append(out, strings.Join(append(cells, names[y]), " "))
	}
	return strings.Join(out, ", "), nil
}

func FuzzCSV(f *testing.F) {
	f.Add("\ufeffid, age,ward,  score ,class\n1,30,b,1.5,sick\n2,40,a,-2e1,well\n\n3,\"50\",b, .25 ,sick\n4,60,10,0,well\n")
	f.Add("ward,class\na,1\nb,2")
	f.Add("class,ward\n\"a\"\"b\",\"c\nd\"\n")
	f.Fuzz(func(t *testing.T, content string) {
		spec := Spec{Label: "class", OneHot: []string{"ward"}}
		r, err := readCSV(strings.NewReader(content), "p.csv", false, spec.columns)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "task: ") {
				t.Errorf("error %q", err)
			}
			return
		}
		tab := r.table()
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
