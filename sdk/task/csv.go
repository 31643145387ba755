package task

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxFaults is how many faulty cells of a file are described before the rest is only counted.
const maxFaults = 10

// column is one column of a CSV file that is read. Its Categories are in the order of their numbers.
type column struct {
	Column
	at      int            // its place in the file
	number  map[string]int // of each category; nil for a column of numbers
	fixed   bool           // there are no other categories
	ignored bool           // every cell is the first category, whatever it holds

	unknown func(column, cell string) // is told of a cell that is no category, which becomes -1; nil if that is a fault
}

// categories makes a column one of categories: only the given ones, or, if there are none, all that occur.
func (c *column) categories(only []string) *column {
	c.number, c.Categories, c.fixed = numbered(only), slices.Clone(only), len(only) > 0
	return c
}

// parse returns the number in a cell, or the number of its category, and what is wrong with the cell.
func (c *column) parse(cell string) (_ float32, fault string) {
	if c.ignored {
		return 0, ""
	}
	if c.number == nil {
		f, err := strconv.ParseFloat(cell, 32)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return 0, "is no finite number"
		}
		return float32(f), ""
	}
	n, ok := c.number[cell]
	if !ok && c.unknown != nil {
		c.unknown(c.Name, strings.Clone(cell))
		return -1, ""
	} else if !ok && c.fixed {
		return 0, "is none of its categories, which are " + quoted(c.Categories)
	} else if !ok {
		n = len(c.Categories)
		c.Categories = append(c.Categories, strings.Clone(cell)) // a cell is a part of its line
		c.number[c.Categories[n]] = n
	}
	return float32(n), ""
}

// header is the first line of a CSV file, with what is wrong with it.
type header struct {
	file   string
	names  []string
	faults []error
	lacks  bool // one of the faults is that a column is missing
}

// newHeader reads the names of columns. A column without a name is called "column 3" after its place.
func newHeader(file string, record []string) *header {
	h := &header{file: file}
	for i, name := range record {
		name = cmp.Or(strings.Clone(strings.TrimSpace(name)), "column "+strconv.Itoa(i+1))
		if first := slices.Index(h.names, name); first >= 0 {
			h.faults = append(h.faults, fmt.Errorf("task: %s: columns %d and %d are both called %q", file, first+1, i+1, name))
		}
		h.names = append(h.names, name)
	}
	return h
}

// column returns the column of a name. If there is none, missing is the fault.
func (h *header) column(name string, missing error) *column {
	at := slices.Index(h.names, name)
	if at < 0 {
		h.faults, h.lacks = append(h.faults, missing), true
	}
	return &column{Column: Column{Name: name}, at: at}
}

// layout picks the columns of features, in their order, and that of the label. Faults go to the header.
type layout func(h *header) (features []*column, label *column)

// columns is the layout of a Spec: all columns but Label and Drop are features.
func (s Spec) columns(h *header) (features []*column, label *column) {
	found := make(map[string]*column)
	for _, f := range s.csvFields() {
		for _, v := range f.columns {
			found[v] = h.column(v, fieldError(f.name, "%q: %s has no such column", v, h.file))
		}
	}
	for i, name := range h.names {
		if c := (&column{Column: Column{Name: name}, at: i}); slices.Contains(s.OneHot, name) {
			features = append(features, c.categories(nil))
		} else if found[name] == nil {
			features = append(features, c)
		}
	}
	if len(features) == 0 {
		h.faults = append(h.faults, fmt.Errorf("task: %s: no column left beside label and dropped ones", h.file))
	}
	return features, found[s.Label].categories(nil)
}

// readCSV reads a CSV file with a header line. Spaces around a cell are not part of it. A column of categories becomes
// one column of zeros and ones for each (an empty cell is a category, 1 and 1.0 are two); every other cell must be a
// number that a float32 can hold.
func readCSV(r io.Reader, name string, l layout) (*table, error) {
	br := bufio.NewReader(r)
	if start, _ := br.Peek(3); string(start) == "\ufeff" {
		br.Discard(3) // the byte order mark that some programs put in front of UTF-8
	}
	cr := csv.NewReader(br)
	cr.ReuseRecord = true
	cr.FieldsPerRecord = -1 // counted below, where the message can say more
	cr.TrimLeadingSpace = true
	record, err := cr.Read()
	if err == io.EOF {
		return nil, fmt.Errorf("task: %s is empty, want a header line", name)
	} else if err != nil {
		return nil, fmt.Errorf("task: %s: %w", name, err)
	}
	h := newHeader(name, record)
	features, label := l(h)
	if h.lacks {
		h.faults = append(h.faults, fmt.Errorf("task: the columns of %s are %s", name, quoted(h.names)))
	}
	if h.faults != nil {
		return nil, errors.Join(h.faults...)
	}
	columns := append(slices.Clone(features), label)
	var cells []float32 // of the columns, row by row
	var faults []error
	count := 0
	fault := func(cell int, format string, args ...any) {
		if count++; count <= maxFaults {
			line, _ := cr.FieldPos(cell)
			faults = append(faults, fmt.Errorf("task: %s: line %d: %s", name, line, fmt.Sprintf(format, args...)))
		}
	}
	for {
		record, err := cr.Read()
		if err != nil {
			if err != io.EOF {
				faults = append(faults, fmt.Errorf("task: %s: %w", name, err))
			}
			break
		}
		if len(record) != len(h.names) {
			fault(0, "%d cells, want %d as in the header", len(record), len(h.names))
			continue
		}
		for _, c := range columns {
			cell := strings.TrimSpace(record[c.at])
			v, wrong := c.parse(cell)
			if c == label && cell == "" && !c.ignored {
				fault(c.at, "column %q: empty label", c.Name)
			} else if wrong != "" {
				fault(c.at, "column %q: %q %s", c.Name, cell, wrong)
			}
			cells = append(cells, v)
			if len(c.Categories) > maxValues {
				const format = "task: %s: column %q has more than %d distinct values, too many for classes or one-hot"
				return nil, errors.Join(append(faults, fmt.Errorf(format, name, c.Name, maxValues))...)
			}
		}
	}
	if count > maxFaults {
		faults = append(faults, fmt.Errorf("task: %s: %d more faults", name, count-maxFaults))
	}
	if faults == nil && len(cells) == 0 {
		faults = append(faults, fmt.Errorf("task: %s: no rows below the header", name))
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	return csvTable(name, features, label, cells), nil
}

// csvTable makes one column of each category, in the order that is fixed, or sorted.
func csvTable(name string, features []*column, label *column, cells []float32) *table {
	t := &table{name: name}
	width := len(features) + 1
	for i := width - 1; i < len(cells); i += width {
		t.labels = append(t.labels, label.Categories[int(cells[i])])
	}
	place := make([][]int, len(features)) // of a column of numbers, or of each category, by its number
	for k, c := range features {
		sorted := slices.Clone(c.Categories)
		if !c.fixed {
			sortValues(sorted)
		}
		t.columns = append(t.columns, Column{Name: c.Name, Categories: sorted})
		place[k] = make([]int, max(1, len(sorted)))
		for _, v := range sorted {
			place[k][c.number[v]] = len(t.features)
			t.features = append(t.features, c.Name+"="+v)
		}
		if c.number == nil {
			place[k][0] = len(t.features)
			t.features = append(t.features, c.Name)
		}
	}
	t.dim = len(t.features)
	t.fill = func(row []float32, i int) {
		for k, v := range cells[i*width : (i+1)*width-1] {
			if features[k].number == nil {
				row[place[k][0]] = v
			} else if v >= 0 {
				row[place[k][int(v)]] = 1
			}
		}
	}
	return t
}
