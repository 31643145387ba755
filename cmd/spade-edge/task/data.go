package task

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/eigen"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
)

// Data is a labeled data set: Len samples, each with Dim numbers and one of Classes classes. If the data has targets,
// each sample also has a number to predict, its target. The two classes, "low" and "high", then indicate whether the
// target is below the middle of the range of targets.
type Data struct {
	X       []float32 // the samples one after the other, Len x Dim
	Y       []int     // the class of each sample, in [0, Classes)
	Dim     int
	Classes int

	Features   []string // name of each column, or nil if unknown
	ClassNames []string // label of each class in the source, or nil if unknown

	Target []float64 // the number to predict for each sample, in the unit of the source; nil for class data
	Range  *Range    // range of the targets; nil for class data

	// Time is, for a survival task, the time in days to the event of class 1 or, for class 0, to the end of observation.
	// Horizon describes that task. Both are nil for other tasks.
	Time    []float64
	Horizon *survival.Horizon

	Person []int // number of the person of each sample; nil if unknown

	// Notes says what is strange about the file as a whole, for its owner. Only [Recipe.Raw] sets it.
	Notes []string

	exact []float64 // the numbers of X before they were rounded, until the data is prepared; nil if they were not rounded
	lost  []bool    // true for each record that could not be read; nil if all were read
	file  []int     // number of the file of each sample; nil if all samples come from one file
}

// Len returns the number of samples.
func (d *Data) Len() int { return len(d.Y) }

// Row returns sample i: a view into X, not a copy.
func (d *Data) Row(i int) []float32 { return d.X[i*d.Dim : (i+1)*d.Dim : (i+1)*d.Dim] }

// Value returns number j of sample i. For samples as read (see [Recipe.Raw]) it has all digits of the file.
func (d *Data) Value(i, j int) float64 {
	if d.exact != nil {
		return d.exact[i*d.Dim+j]
	}
	return float64(d.X[i*d.Dim+j])
}

// rounded returns d without the digits that X lacks.
func (d *Data) rounded() *Data {
	out := *d
	out.exact = nil
	return &out
}

// Select returns a copy of the samples at the given indices, in that order. The copy shares the column and class names
// with d.
func (d *Data) Select(idx []int) *Data {
	s := *d
	s.Y, s.Target, s.Person, s.Time = pick(d.Y, idx), pick(d.Target, idx), pick(d.Person, idx), pick(d.Time, idx)
	s.lost, s.file = pick(d.lost, idx), pick(d.file, idx)
	s.X = make([]float32, 0, len(idx)*d.Dim)
	s.exact = nil
	for _, i := range idx {
		s.X = append(s.X, d.Row(i)...)
		if d.exact != nil {
			s.exact = append(s.exact, d.exact[i*d.Dim:(i+1)*d.Dim]...)
		}
	}
	return &s
}

// pick returns the elements of list at the indices idx, or nil for a nil list.
func pick[T any](list []T, idx []int) []T {
	if list == nil {
		return nil
	}
	picked := make([]T, len(idx))
	for k, i := range idx {
		picked[k] = list[i]
	}
	return picked
}

// WithBias returns a copy with the constant 1 as an additional last column: the intercept of a linear model.
func (d *Data) WithBias() *Data {
	b := d.mapped(d.Dim+1, func(to, from []float64) { to[copy(to, from)] = 1 })
	if d.Features != nil {
		b.Features = append(slices.Clip(d.Features), "bias")
	}
	return b
}

// mapped returns a copy with rows of dim numbers. For each row, f fills the new row, which starts as zeros, from the
// old row.
func (d *Data) mapped(dim int, f func(to, from []float64)) *Data {
	out, to, from := d.blank(dim), make([]float64, dim), make([]float64, d.Dim)
	for i := range d.Y {
		for j := range from {
			from[j] = d.Value(i, j)
		}
		clear(to)
		f(to, from)
		for j, x := range to {
			out.Row(i)[j] = float32(x)
		}
		if d.exact != nil {
			out.exact = append(out.exact, to...)
		}
	}
	return out
}

func (d *Data) blank(dim int) *Data {
	out := *d
	out.Dim, out.X, out.exact = dim, make([]float32, d.Len()*dim), nil
	return &out
}

// check validates the shape of a data set, which may come from outside the package.
func (d *Data) check() error {
	if d == nil || d.Len() == 0 {
		return errors.New("task: the data set has no samples")
	}
	return d.checkColumns(d.Dim)
}

// checkColumns is like check, but the data set may be empty, and its number of columns must equal want.
func (d *Data) checkColumns(want int) error {
	if d.Dim != want {
		return fmt.Errorf("task: data set has %d columns, want %d as in the training set", d.Dim, want)
	}
	if d.Dim < 1 || len(d.X)/d.Dim != d.Len() || len(d.X)%d.Dim != 0 {
		return fmt.Errorf("task: data set has %d numbers in X, want %d samples x %d columns", len(d.X), d.Len(), d.Dim)
	}
	if (d.Target != nil || d.Range != nil) && (d.Range == nil || d.Range.check() != nil || len(d.Target) != d.Len() || !finite(d.Target)) {
		return fmt.Errorf("task: data set has %d targets, want %d (one finite number for each sample); a data set with "+
			"targets also needs a valid Range", len(d.Target), d.Len())
	}
	if (d.Time != nil || d.Horizon != nil) && (d.Horizon == nil || d.Horizon.Validate() != nil || len(d.Time) != d.Len() || d.Classes != 2) {
		return fmt.Errorf("task: data set has %d times and %d classes, want %d times, two classes and a valid Horizon", len(d.Time),
			d.Classes, d.Len())
	}
	return checkLabels(d.Y, d.Classes)
}

func checkLabels(y []int, classes int) error {
	if classes < 2 {
		return fmt.Errorf("task: data set has %d classes, want at least 2", classes)
	}
	for i, c := range y {
		if c < 0 || c >= classes {
			return fmt.Errorf("task: sample %d has class %d, want 0 to %d", i, c, classes-1)
		}
	}
	return nil
}

// maxValues limits the distinct values of a label or one-hot column. A column with more values is a measurement or an
// identifier, and a column for each value would exhaust the memory.
const maxValues = 1000

// table is the content of a source before its classes are determined.
type table struct {
	name     string   // the file or folder, for errors
	names    []string // names of all columns of a CSV file
	labels   []string
	targets  []float64 // numbers to predict, in place of labels
	times    []float64 // of a survival task, in the unit of the file; nil for other tasks
	person   []int     // number of the person of each row; nil if unknown
	ids      []string  // identifier of each row for the user; nil if none
	file     []int     // number of the file of each row; nil if all rows come from one file
	lost     []bool    // true for rows that could not be read but keep their index; nil if no row can be lost
	notes    []string  // what is strange about a CSV file as a whole
	unread   []error   // errors of the first rows that could not be read
	dim      int
	features []string
	columns  []Column                   // origin of the features; nil for pixels, which are float32 numbers
	fill     func(row []float64, i int) // writes row i into a row of zeros; safe for concurrent use
}

// own returns a copy that may mark further rows as lost.
func (t *table) own() *table {
	if t == nil {
		return nil
	}
	c := *t
	c.lost = slices.Clone(t.lost)
	return &c
}

// data returns the rows whose label is one of the classes of a recipe or, if the recipe has a target, all rows. If t.lost
// is set, it returns all rows and marks the rows whose label is not one of the classes as lost.
func (t *table) data(r *Recipe) *Data {
	classes, target := r.Classes, r.Target
	if target != nil {
		classes = sides
	}
	d := &Data{Dim: t.dim, Classes: len(classes), Features: t.features, ClassNames: classes}
	class := numbered(classes)
	var rows []int
	for i, l := range t.labels {
		c, ok := class[l]
		if ok || t.lost != nil {
			rows = append(rows, i)
			d.Y = append(d.Y, c)
		}
		if !ok && t.lost != nil {
			t.lost[i] = true
		}
	}
	for i, y := range t.targets {
		rows = append(rows, i)
		d.Y = append(d.Y, target.side(y))
	}
	d.Target, d.Range, d.lost = t.targets, target, t.lost
	d.Person, d.file = pick(t.person, rows), pick(t.file, rows)
	if t.times != nil {
		d.Time, d.Horizon = pick(t.times, rows), r.Survival
		for i := range d.Time {
			d.Time[i] *= r.Survival.Day()
		}
	}
	d.X = make([]float32, len(rows)*t.dim)
	if t.columns != nil {
		d.exact = make([]float64, len(d.X))
	}
	eigen.Share(len(rows), func(from, to int) {
		row := make([]float64, t.dim)
		for k := from; k < to; k++ {
			clear(row)
			t.fill(row, rows[k])
			rounded := d.Row(k)
			for j, x := range row {
				rounded[j] = float32(x)
			}
			if d.exact != nil {
				copy(d.exact[k*t.dim:], row)
			}
		}
	})
	return d
}

func numbered(values []string) map[string]int {
	places := make(map[string]int, len(values))
	for i, v := range values {
		places[v] = i
	}
	return places
}

// classNames returns the labels of the classes in order: the wanted labels or, if there are none, all labels of both
// tables, sorted. test may be nil.
func classNames(wanted []string, train, test *table) ([]string, error) {
	found := labelsOf(train, test)
	cell.Sort(found)
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

// labelsOf returns the different labels of tables, sorted as texts. A table may be nil.
func labelsOf(tables ...*table) (found []string) {
	for _, t := range tables {
		if t != nil {
			found = append(found, t.labels...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// short returns s, which was read from a file, cut to 80 characters and quoted for use in an error message.
func short(s string) string {
	const most = 80
	if cut := fmt.Sprintf("%.*s", most, s); len(cut) < len(s) {
		return fmt.Sprintf("%q... (%d bytes)", cut, len(s))
	}
	return strconv.Quote(s)
}

// quoted returns a list of the values in quotes, at most 50 of them, for an error.
func quoted(values []string) string {
	const most = 50
	if n := len(values) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", quoted(values[:most]), n)
	}
	var list []string
	for _, v := range values {
		list = append(list, short(v))
	}
	return strings.Join(list, ", ")
}
