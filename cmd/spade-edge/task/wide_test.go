package task

import (
	"fmt"
	"strings"
	"testing"
)

// A file may have many columns. TestWideHeader reads 30,000 of them twice, which takes seconds instead of a tenth of one if
// each name is compared with all other names.
func TestWideHeader(t *testing.T) {
	const columns = 30_000
	var text strings.Builder
	for i := range columns {
		fmt.Fprintf(&text, "c%d,", i)
	}
	text.WriteString("label\n" + strings.Repeat("1,", columns) + "x\n" + strings.Repeat("2,", columns) + "y\n")
	spec := Spec{Label: "label", Drop: []string{"c7"}, OneHot: []string{"c9"}}
	r := must(readCSV(strings.NewReader(text.String()), "wide", false, spec.columns))(t)
	other := must(readCSV(strings.NewReader(text.String()), "each line is a row", true, layout(spec.columns).like(r)))(t)
	if len(r.names) != columns+1 || len(r.columns) != columns || len(other.cells) != 2*columns || r.columns[7].Name != "c8" ||
		r.columns[7].at != 8 || r.columns[8].names == nil {
		t.Errorf("%d names, %d columns", len(r.names), len(r.columns))
	}
}

// Errors quote at most 80 characters of a file's content.
func TestLongCells(t *testing.T) {
	long := strings.Repeat("ä", 3_000)
	for name, text := range map[string]string{
		"cell": "a,label\n" + long + ",x\n1,y\n", "number": "a,label\n1,5" + long + ",x\n1,y\n",
		"twice": "a," + long + "," + long + ",label\n1,2,3,x\n", "not UTF-8": "a\xff" + long + ",label\n1,x\n",
		"no label": "a," + long + "\n1,x\n", "category": "b,label\n1,x\n" + long + "\xff,y\n",
		"person": "a,p,label\n1,,x\n" + long + ",7,x\n",
	} {
		spec := Spec{Label: "label", OneHot: []string{"b"}}
		if name != "category" {
			spec.OneHot = nil
		}
		if name == "person" {
			spec.Person = "p"
		}
		_, err := readCSV(strings.NewReader(text), "file", false, spec.columns)
		if err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s: an error of %d bytes: %.200s", name, len(fmt.Sprint(err)), fmt.Sprint(err))
		}
	}
	fixed := Recipe{FittedOn: "x", Source: "csv", Columns: []Column{{"a", []string{"u", long}}}, Label: "label", Classes: []string{"x", "y"},
		Model: ModelSpec{Name: SoftmaxModel}}
	_, err := readCSV(strings.NewReader("a,label\n"+long+"z,x\n"), "file", false, fixed.layout(nil, nil))
	if err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "... (6001 bytes)") {
		t.Errorf("a category: an error of %d bytes: %.200s", len(fmt.Sprint(err)), fmt.Sprint(err))
	}
}
