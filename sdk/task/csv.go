package task

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// maxFaults is how many faulty cells of a file are described before the rest is only counted.
const maxFaults = 10

// layout sorts out the columns of a CSV file from its header: the one that holds the label, and those that hold features, in
// order. name is that of the file.
type layout interface {
	columns(header []string, name string) (label column, features []column, err error)
}

func loadCSV(path string, l layout) (*table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("task: -data csv:%s: %w", path, err)
	}
	defer f.Close()
	return readCSV(f, path, l)
}

// column is one column of a CSV file that is kept.
type column struct {
	name   string
	at     int    // its place in the file
	values *index // of a one-hot or label column, nil for a column of numbers
}

// index numbers the distinct values of a column: in the order in which they appear, or as they are fixed beforehand.
type index struct {
	number map[string]int
	values []string
	fixed  bool
}

func newIndex() *index { return &index{number: make(map[string]int)} }

// fixedIndex returns an index of nothing but the given values.
func fixedIndex(values []string) *index {
	x := newIndex()
	for _, v := range values {
		x.of(v)
	}
	x.fixed = true
	return x
}

// of returns the number of a value; ok is false if it is not among those that are fixed.
func (x *index) of(value string) (n int, ok bool) {
	n, ok = x.number[value]
	if ok || x.fixed {
		return n, ok
	}
	n = len(x.values)
	value = strings.Clone(value)
	x.number[value] = n
	x.values = append(x.values, value)
	return n, true
}

// readCSV reads a CSV file with a header line. Spaces around a cell are no part of it. A column without a name is called
// "column 3" after its place.
//
// The layout's label column becomes the labels, a column with values becomes one column of zeros and ones for each of
// them (an empty cell is a value too), and every other cell must be a number that a float32 can hold. Values that differ in
// writing, as 1 and 1.0, are distinct.
func readCSV(r io.Reader, name string, l layout) (*table, error) {
	br := bufio.NewReader(r)
	if mark, _ := br.Peek(3); string(mark) == "\ufeff" {
		br.Discard(3) // the byte order mark that some programs put in front of UTF-8
	}
	cr := csv.NewReader(br)
	cr.ReuseRecord = true
	cr.FieldsPerRecord = -1 // counted below, where the message can say more
	cr.TrimLeadingSpace = true
	header, err := cr.Read()
	if err == io.EOF {
		return nil, fmt.Errorf("task: %s is empty, want a header line", name)
	} else if err != nil {
		return nil, fmt.Errorf("task: %s: %w", name, err)
	}
	label, features, err := l.columns(header, name)
	if err != nil {
		return nil, err
	}

	categories := []column{label}
	for _, c := range features {
		if c.values != nil {
			categories = append(categories, c)
		}
	}
	width := len(header)
	var cells []float32 // of the kept columns, row by row: a number, or the number of a value
	var labelOf []int
	var faults []error
	count := 0
	fault := func(line int, format string, args ...any) {
		if count++; count <= maxFaults {
			faults = append(faults, fmt.Errorf("task: %s: line %d: "+format, append([]any{name, line}, args...)...))
		}
	}
	for {
		record, err := cr.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("task: %s: %w", name, err))
			break
		}
		if len(record) != width {
			line, _ := cr.FieldPos(0)
			fault(line, "%d cells, want %d as in the header", len(record), width)
			continue
		}
		for _, c := range features {
			cell := strings.TrimSpace(record[c.at])
			if c.values != nil {
				n, ok := c.values.of(cell)
				if !ok {
					line, _ := cr.FieldPos(c.at)
					fault(line, "column %q: %q is none of its categories, which are %s", c.name, cell, quoted(c.values.values))
				}
				cells = append(cells, float32(n))
				continue
			}
			f, err := strconv.ParseFloat(cell, 32)
			if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
				line, _ := cr.FieldPos(c.at)
				fault(line, "column %q: %q is no finite number", c.name, cell)
			}
			cells = append(cells, float32(f))
		}
		cell := strings.TrimSpace(record[label.at])
		n, ok := label.values.of(cell)
		if line, _ := cr.FieldPos(label.at); cell == "" {
			fault(line, "column %q: empty label", label.name)
		} else if !ok {
			fault(line, "column %q: %q is none of the classes, which are %s", label.name, cell, quoted(label.values.values))
		}
		labelOf = append(labelOf, n)
		for _, c := range categories {
			if len(c.values.values) > maxValues {
				faults = append(faults, fmt.Errorf("task: %s: column %q has more than %d distinct values, too many for classes or one-hot",
					name, c.name, maxValues))
				return nil, errors.Join(faults...)
			}
		}
	}
	if count > maxFaults {
		faults = append(faults, fmt.Errorf("task: %s: %d more faults", name, count-maxFaults))
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	if len(labelOf) == 0 {
		return nil, fmt.Errorf("task: %s: no rows below the header", name)
	}
	return csvTable(name, label, labelOf, features, cells), nil
}

// columnNames returns the names of a file's columns and their places.
func columnNames(header []string, name string) (names []string, at map[string]int, faults []error) {
	at = make(map[string]int, len(header))
	names = make([]string, len(header))
	for i, h := range header {
		h = strings.TrimSpace(h)
		if h == "" {
			h = "column " + strconv.Itoa(i+1)
		}
		if first, ok := at[h]; ok {
			faults = append(faults, fmt.Errorf("task: %s: columns %d and %d are both called %q", name, first+1, i+1, h))
		} else {
			at[h] = i
		}
		names[i] = strings.Clone(h)
	}
	return names, at, faults
}

// columns makes a Spec a layout: all columns but Label and Drop are features.
func (s Spec) columns(header []string, name string) (label column, features []column, err error) {
	names, at, faults := columnNames(header, name)
	unknown := false
	for _, f := range []struct {
		flag   string
		values []string
	}{{"-label", []string{s.Label}}, {"-drop", s.Drop}, {"-onehot", s.OneHot}} {
		for _, v := range f.values {
			if _, ok := at[v]; !ok {
				faults = append(faults, fmt.Errorf("task: %s %q: %s has no such column", f.flag, v, name))
				unknown = true
			}
		}
	}
	if unknown {
		faults = append(faults, fmt.Errorf("task: the columns of %s are %s", name, quoted(names)))
	}
	for i, n := range names {
		c := column{name: n, at: i}
		if n == s.Label || slices.Contains(s.OneHot, n) {
			c.values = newIndex()
		}
		switch {
		case n == s.Label:
			label = c
		case !slices.Contains(s.Drop, n):
			features = append(features, c)
		}
	}
	if len(features) == 0 {
		faults = append(faults, fmt.Errorf("task: %s: no column left beside label and dropped ones", name))
	}
	return label, features, errors.Join(faults...)
}

// csvTable expands one-hot columns, their values in the order that is fixed, or sorted.
func csvTable(name string, label column, labelOf []int, features []column, cells []float32) *table {
	t := &table{name: name, labels: make([]string, len(labelOf))}
	for i, l := range labelOf {
		t.labels[i] = label.values.values[l]
	}
	first := make([]int, len(features))   // where a column's features begin
	place := make([][]int, len(features)) // of a one-hot value, by its number
	for k, c := range features {
		first[k] = len(t.features)
		if c.values == nil {
			t.features = append(t.features, c.name)
			t.columns = append(t.columns, Column{Name: c.name})
			continue
		}
		sorted := slices.Clone(c.values.values)
		if !c.values.fixed {
			sortValues(sorted)
		}
		t.columns = append(t.columns, Column{Name: c.name, Categories: sorted})
		place[k] = make([]int, len(sorted))
		for p, v := range sorted {
			place[k][c.values.number[v]] = p
			t.features = append(t.features, c.name+"="+v)
		}
	}
	t.dim = len(t.features)
	t.fill = func(row []float32, i int) {
		for k, v := range cells[i*len(features) : (i+1)*len(features)] {
			if place[k] == nil {
				row[first[k]] = v
			} else {
				row[first[k]+place[k][int(v)]] = 1 // row starts as zeros
			}
		}
	}
	return t
}
