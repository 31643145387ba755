package task

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// maxValues is the most distinct values that a label or one-hot column may have. A column with more is a measurement or
// an identifier, and turning it into categories is a mistake that would fill the memory.
const maxValues = 1000

// table is the content of a source before classes are chosen: rows of numbers, each with the label of the source.
type table struct {
	name     string // the file or folder, for errors
	labels   []string
	dim      int
	features []string
	columns  []Column                   // where the features come from; nil for pixels
	fill     func(row []float32, i int) // stores row i in a row of zeros
}

// data returns the rows whose label is one of the classes.
func (t *table) data(classes []string) *Data {
	d := &Data{Dim: t.dim, Classes: len(classes), Features: t.features, ClassNames: classes}
	class := numbered(classes)
	var rows []int
	for i, l := range t.labels {
		if c, ok := class[l]; ok {
			rows = append(rows, i)
			d.Y = append(d.Y, c)
		}
	}
	d.X = make([]float32, len(rows)*t.dim)
	for k, i := range rows {
		t.fill(d.Row(k), i)
	}
	return d
}

// numbered returns the place of each of a list of distinct values.
func numbered(values []string) map[string]int {
	places := make(map[string]int, len(values))
	for i, v := range values {
		places[v] = i
	}
	return places
}

// classNames returns the labels that become classes 0, 1, ...: those wanted, or all that occur in the tables, sorted.
// test may be nil.
func classNames(wanted []string, train, test *table) ([]string, error) {
	found := slices.Clone(train.labels)
	if test != nil {
		found = append(found, test.labels...)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	sortValues(found)
	if len(wanted) == 0 && len(found) < 2 {
		return nil, fmt.Errorf("task: %s: every row has the label %s, want at least two labels", train.name, quoted(found))
	} else if len(wanted) == 0 {
		return found, nil
	}
	for _, w := range wanted {
		if !slices.Contains(found, w) {
			return nil, fieldError("labels", "%s: no row has the label %q, want labels from %s",
				strings.Join(wanted, ","), w, quoted(found))
		}
	}
	return wanted, nil
}

// sortValues sorts distinct values by size if all of them are finite numbers, and as strings otherwise. What package
// sort needs is in every program; [slices.SortFunc] would come again for this type, with 10 KB.
func sortValues(values []string) {
	number := make(map[string]float64, len(values))
	for _, v := range values {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			slices.Sort(values)
			return
		}
		number[v] = f
	}
	sort.SliceStable(values, func(i, j int) bool {
		a, b := values[i], values[j]
		return number[a] < number[b] || number[a] == number[b] && a < b
	})
}

// quoted lists values for an error message, at most 50 of them.
func quoted(values []string) string {
	const most = 50
	var list []string
	for _, v := range values[:min(len(values), most)] {
		list = append(list, strconv.Quote(v))
	}
	text := strings.Join(list, ", ")
	if n := len(values) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
