package task

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func ownFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "csv:" + path
}

// TestEveryLine checks that, if each record is protected, every line of a file remains a record and the loss of a lost
// line is NaN.
func TestEveryLine(t *testing.T) {
	public := ownFile(t, "a,c,y\n1,x,no\n2,z,yes\n,x,no\n4,z,yes\n")
	for _, c := range []struct {
		name, missing string
		labels        []string
		head, line    string
		lost          string // why the line is lost; empty if it is read
		a             float32
	}{
		{"a number", "", nil, "a,c,y", "3.5,x,no", "", 3.5},
		{"a decimal comma", "", nil, "a,c,y", `"3,5",x,no`, "", 3.5},
		{"either", "", nil, "a,c,y", `"1,234",x,no`, `"1,234" has a decimal comma or a thousands separator`, 0},
		{"zero first", "", nil, "a,c,y", `"0,234",x,no`, "", 0.234},
		{"semicolons", "", nil, "a;c;y", "1,234;x;no", "", 1.234},
		{"semicolons, point", "", nil, "a;c;y", "1.234;x;no", "", 1.234},
		{"separator named", "", nil, "sep=;\na;c;y", "1,234;x;no", "", 1.234},
		{"separator named in quotes", "", nil, "\"sep=;\"\na;c;y", "1,234;x;no", "", 1.234},
		{"other letters", "", nil, "a,c,y", "3,x,NO", "", 3},
		{"Windows", "", nil, "\ufeffa,c,y\r", "3,x,no\r", "", 3},
		{"no number", "", nil, "a,c,y", "abc,x,no", `"abc" is not a finite number`, 0},
		{"too large", "", nil, "a,c,y", "1e39,x,no", "is too large, at most 3.4e38", 0},
		{"a date", "", nil, "a,c,y", "2020-01-01,x,no", "is a date", 0},
		{"missing", "", nil, "a,c,y", ",x,no", "is not a finite number", 0},
		{"missing, mean", "mean", nil, "a,c,y", ",x,no", "", 7. / 3},
		{"missing, indicator", "indicator", nil, "a,c,y", "NA,x,no", "", 7. / 3},
		{"unknown category", "", nil, "a,c,y", "3,other,no", `"other" is not one of its categories`, 0},
		{"empty label", "", nil, "a,c,y", "3,x,", "empty label", 0},
		{"empty label, mean", "mean", nil, "a,c,y", "3,x,", "empty label", 0},
		{"missing label, indicator", "indicator", nil, "a,c,y", "3,x,NA", "empty label", 0},
		{"foreign label", "", nil, "a,c,y", "3,x,other", `"other" is not one of its categories`, 0},
		{"foreign label, subset", "", []string{"no", "yes"}, "a,c,y", "3,x,other", `"other" is not one of its categories`, 0},
		{"more cells", "", nil, "a,c,y", "3,x,no,1", "4 cells, want 3", 0},
		{"fewer cells", "", nil, "a,c,y", "3,x", "2 cells, want 3", 0},
		{"empty cells", "", nil, "a,c,y", ",,", "empty line", 0},
		{"empty line", "", nil, "a,c,y", "", "empty line", 0},
		{"stray quote", "", nil, "a,c,y", `3"4,x,no`, "cell 1: a quote within a cell", 0},
		{"open quote", "", nil, "a,c,y", `"3,x,no`, `column "a": "3" contains a line break`, 0},
		{"text behind a quote", "", nil, "a,c,y", `"3"4,x,no`, "cell 1: a quote within a cell", 0},
		{"a line break in a category", "", nil, "a,c,y", `3,"x`, `column "c": "x" contains a line break`, 0},
		{"a line break in an unused cell", "", nil, "a,c,y,note", `3,x,no,"one`, `column "note": "one" contains a line break`, 0},
		{"no text", "", nil, "a,c,y", "\x00\xff,x,no", "is not a finite number", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			own, standardize := "csv:", false
			text := "1,x,no\n2,z,yes\n"
			if strings.Contains(c.head, ";") {
				text = strings.ReplaceAll(text, ",", ";")
			} else if strings.HasSuffix(c.head, ",note") {
				text = strings.ReplaceAll(text, "\n", ",fine\n")
			}
			own = ownFile(t, c.head+"\n"+text+c.line+"\n"+text)
			fit := Spec{Source: public, Label: "y", OneHot: []string{"c"}, Missing: c.missing, Labels: c.labels, Whole: true,
				Standardize: &standardize}
			if c.missing == "" {
				fit.Source = ownFile(t, "a,c,y\n1,x,no\n2,z,yes\n")
			}
			recipe := must(Fit(fit, ModelSpec{Name: SoftmaxModel}, "a test"))(t)
			set := must(recipe.Apply(Spec{Source: own, Whole: true, Records: true}))(t)
			if set.Train.Len() != 5 {
				t.Fatalf("%d records, want 5", set.Train.Len())
			}
			m := recipe.Model.New(set.Train)
			for i := range 5 {
				loss, err := m.Loss(t.Context(), make([]float32, m.Dim()), i)
				if err != nil || math.IsNaN(loss) != (i == 2 && c.lost != "") {
					t.Errorf("record %d: loss %v, %v", i, loss, err)
				}
			}
			if c.lost == "" && (set.Unread != nil || set.Train.Row(2)[0] != c.a) {
				t.Errorf("the record is %v, and unread are %v", set.Train.Row(2), set.Unread)
			} else if c.lost != "" && (len(set.Unread) != 1 || !strings.Contains(set.Unread[0].Error(), c.lost) ||
				!strings.Contains(set.Unread[0].Error(), "line 4: ")) {
				t.Errorf("unread are %v, want line 4 with %q", set.Unread, c.lost)
			}
		})
	}
}

// TestEveryLineRepeats checks that errors of one kind are reported once, with the number of lines, and that all lines of
// a cell with line breaks count as one kind.
func TestEveryLineRepeats(t *testing.T) {
	recipe := must(Fit(Spec{Source: ownFile(t, "a,y\n1,no\n2,yes\n"), Label: "y", Whole: true}, ModelSpec{Name: SoftmaxModel}, "a test"))(t)
	own := ownFile(t, "a,y\n"+strings.Repeat("2020-01-01,no\n", 20)+strings.Repeat("abc,no\n", 20)+"1,no\n")
	set := must(recipe.Apply(Spec{Source: own, Whole: true, Records: true}))(t)
	m := recipe.Model.New(set.Train)
	for i := range 41 {
		if loss, err := m.Loss(t.Context(), make([]float32, m.Dim()), i); err != nil || math.IsNaN(loss) != (i < 40) {
			t.Errorf("record %d: loss %v, %v", i, loss, err)
		}
	}
	if text := fmt.Sprint(set.Unread); set.Rows != 41 || set.Lost != 40 || len(set.Unread) != 2 || strings.Count(text, "first of 20 such lines") != 2 {
		t.Errorf("%d of %d rows are lost: %v", set.Lost, set.Rows, set.Unread)
	}
	broken := ownFile(t, "note,a,y\n,1,no\n"+strings.Repeat("\"one\n\ntwo, three\nfour\",2,yes\n", 5)+",x,no\n,3,yes\n")
	parts := must(recipe.Apply(Spec{Source: broken, Whole: true, Records: true}))(t)
	if text := fmt.Sprint(parts.Unread); parts.Rows != 23 || parts.Lost != 21 || len(parts.Unread) != 1 || !strings.Contains(text, "line 3: ") ||
		!strings.Contains(text, "first of 21 such lines") {
		t.Errorf("%d of %d rows are lost: %v", parts.Lost, parts.Rows, parts.Unread)
	}
	// The test set contains only records that could be read.
	if set, err := recipe.Apply(Spec{Source: own, TestFraction: 0.5, Records: true}); err != nil || set.Train.Len() != 20 ||
		set.Test.Len() > 1 {
		t.Errorf("%d and %d records, %v", set.Train.Len(), set.Test.Len(), err)
	}
}

// The test split of records (or of persons) depends only on the number of records (or persons) and the seed.
func TestSplitOfRecords(t *testing.T) {
	a := &Data{Y: make([]int, 40), Classes: 2}
	b := &Data{Y: make([]int, 40), Classes: 2}
	for i := range b.Y {
		b.Y[i] = i * i % 3 % 2
	}
	for _, persons := range []bool{false, true} {
		for i := range a.Y {
			if persons {
				a.Person, b.Person = append(a.Person, i*7%20), append(b.Person, i*7%20)
			}
		}
		train, test, err := a.split(0.25, 5, true)
		other, held, err2 := b.split(0.25, 5, true)
		if err != nil || err2 != nil || len(test) != 10 || !slices.Equal(train, other) || !slices.Equal(test, held) {
			t.Errorf("persons %v: %v and %v, %v, %v", persons, test, held, err, err2)
		}
	}
}

// TestRecordsRefused checks that, if each record is protected, Apply rejects a recipe with a rule that drops records,
// and names the rule. Load also rejects such a rule, and rejects training data that has unreadable rows.
func TestRecordsRefused(t *testing.T) {
	images := &Recipe{FittedOn: "x", Source: "idx", Pixels: 4, Classes: []string{"6", "7"}, Subset: true,
		Model: ModelSpec{Name: SoftmaxModel}}
	_, err := images.Apply(Spec{Source: "idx:.", Records: true})
	if err == nil || !strings.Contains(err.Error(), "subset is true") {
		t.Errorf("images of some classes: %v", err)
	}
	own := ownFile(t, "a,y\n1,no\n,yes\n3,no\n4,yes\n")
	s := Spec{Source: own, Label: "y", Missing: dropRows, Whole: true}
	recipe := must(Fit(s, ModelSpec{Name: SoftmaxModel}, "a test"))(t)
	if _, err = recipe.Apply(Spec{Source: own, Records: true}); err == nil || !strings.Contains(err.Error(), `missing.rule is "drop"`) {
		t.Errorf("drop in a recipe: %v", err)
	}
	s.Records = true
	if _, err = Load(s); err == nil || !strings.Contains(err.Error(), `missing "drop"`) {
		t.Errorf("drop: %v", err)
	}
	s.Missing, s.Source = "mean", ownFile(t, "a,y\n1,no\n,yes\n\n3,\n4,yes\n")
	if _, err = Load(s); err == nil || !strings.Contains(err.Error(), "line 4: empty line") ||
		!strings.Contains(err.Error(), `line 5: column "y": empty label`) {
		t.Errorf("rows to fit on: %v", err)
	}
}
