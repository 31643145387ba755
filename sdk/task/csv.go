package task

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxFaults is how many faulty cells of a file are described before the rest is only counted.
const maxFaults = 10

// column is one column of a CSV file that is read. Its Categories are in the order of their numbers.
type column struct {
	Column
	at     int            // its place in the file
	number map[string]int // of each category; nil for a column of numbers
	folded map[string]int // likewise, of those that are also found in other letters: by their small ones
	fixed  bool           // there are no other categories

	ignored bool                      // every cell is the first category, whatever it holds
	unknown func(column, cell string) // is told of a cell that is no category, which becomes -1; nil if that is a fault

	timed bool // a date or time in it has been told of: all others are like it
}

// categories makes a column one of categories, all that occur.
func (c *column) categories() *column {
	c.number, c.Categories = map[string]int{}, nil
	return c
}

// labels makes a column one of categories of which some are known. Cells that differ from one of them, or from each
// other, in capital letters alone are the same.
func (c *column) labels(known []string) *column {
	c.number, c.folded, c.Categories = numbered(known), map[string]int{}, slices.Clone(known)
	for i, v := range known {
		if _, ok := c.folded[strings.ToLower(v)]; !ok {
			c.folded[strings.ToLower(v)] = i
		}
	}
	return c
}

// only makes a column one of the given categories and no others.
func (c *column) only(categories []string) *column {
	c.fixed = true
	return c.labels(categories)
}

// category returns the number of the category in a cell, and what is wrong with the cell.
func (c *column) category(cell string) (_ int, fault string) {
	n, ok := c.number[cell]
	if !ok && c.folded != nil {
		n, ok = c.folded[strings.ToLower(cell)]
	}
	switch {
	case ok:
		return n, ""
	case c.unknown != nil:
		c.unknown(c.Name, strings.Clone(cell))
		return -1, ""
	case c.fixed:
		return 0, "is none of its categories, which are " + quoted(c.Categories)
	case !utf8.ValidString(cell):
		return 0, "is not in UTF-8: save the file as CSV (UTF-8)"
	}
	n = len(c.Categories)
	c.Categories = append(c.Categories, strings.Clone(cell)) // a cell is a part of its line
	c.number[c.Categories[n]] = n
	if c.folded != nil {
		c.folded[strings.ToLower(cell)] = n
	}
	return n, ""
}

// header is the first line of a CSV file, with what is wrong with it.
type header struct {
	file   string
	names  []string
	faults []error
	lacks  bool // one of the faults is that a column is missing

	rule     string    // for missing cells, "" for none; see [Missing]
	numbers  numbers   // what their decimals are
	features []*column // as the layout picks them, which may set the rule
	label    *column
	person   *column        // says whose a row is; nil for none
	known    map[string]int // the number of each person
	people   []int          // whose each row is
	lost     []bool         // which rows could not be read, with everyLine; else nil
	unread   []error        // why, for the first of them
}

// newHeader reads the names of columns, up to the last one that is not empty. A column without a name before it is called
// "column 3" after its place.
func newHeader(file string, record []string) *header {
	h := &header{file: file}
	for i, name := range filled(record) {
		name = strings.Clone(strings.TrimSpace(name))
		if !utf8.ValidString(name) {
			h.faults = append(h.faults, fmt.Errorf("task: %s: the name of column %d, %q, is not in UTF-8: save the file as "+
				"CSV (UTF-8)", file, i+1, name))
		}
		name = cmp.Or(name, "column "+strconv.Itoa(i+1))
		if first := slices.Index(h.names, name); first >= 0 {
			h.faults = append(h.faults, fmt.Errorf("task: %s: columns %d and %d are both called %q", file, first+1, i+1, name))
		}
		h.names = append(h.names, name)
	}
	return h
}

// filled returns the cells of a record up to the last one with anything in it.
func filled(record []string) []string {
	last := len(record)
	for last > 0 && strings.TrimSpace(record[last-1]) == "" {
		last--
	}
	return record[:last]
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
	h.rule, _ = s.missing()
	found := make(map[string]*column)
	for _, f := range s.csvFields() {
		for _, v := range f.columns {
			found[v] = h.column(v, fieldError(f.name, "%q: %s has no such column", v, h.file))
		}
	}
	for i, name := range h.names {
		c := &column{Column: Column{Name: name}, at: i}
		if slices.Contains(s.OneHot, name) {
			features = append(features, c.categories())
		} else if found[name] == nil {
			features = append(features, c)
		}
	}
	h.person = found[s.Person]
	if len(features) == 0 {
		h.faults = append(h.faults, fmt.Errorf("task: %s: no column left beside label and dropped ones", h.file))
	}
	if s.Target != "" {
		return features, found[s.Target]
	}
	return features, found[s.Label].labels(s.Labels)
}

// reading is the state of reading a CSV file.
type reading struct {
	*header
	*csv.Reader
	columns []*column // features and label
	cells   []float32 // of the columns, row by row
	width   int       // of the present row
	found   []error
	count   int // of faults

	hinted bool // one of them says what to do with missing cells
	bad    bool // the present row has one

	at   int    // the line of the present row; 0 if the Reader knows it
	lost []bool // with at: which rows could not be read
}

// readCSV reads a CSV file with a header line. Spaces around a cell are not part of it. A column of categories becomes
// one column of zeros and ones for each (an empty cell is a category, 1 and 1.0 are two); every other cell must be a
// number that a float32 can hold. What separates cells, and decimals, is found out. Rows without anything in them are
// passed over, and so are empty cells behind the last column with a name.
func readCSV(r io.Reader, name string, rule rowRule, l layout) (*table, error) {
	h, cells, err := readCells(r, name, rule, l)
	if err != nil {
		return nil, err
	}
	t := csvTable(name, h.features, h.label, cells)
	t.person, t.lost, t.unread = h.people, h.lost, h.unread
	return t, nil
}

// readCells returns what readCSV makes a table of: numbers, row by row.
func readCells(r io.Reader, name string, rule rowRule, l layout) (*header, []float32, error) {
	cr, h, below, err := openCSV(r, name, rule, l)
	if err != nil {
		return nil, nil, err
	}
	if h.lacks {
		h.faults = append(h.faults, fmt.Errorf("task: the columns of %s are %s", name, quoted(h.names)))
	}
	if h.faults != nil {
		return nil, nil, errors.Join(h.faults...)
	}
	rd := &reading{header: h, Reader: cr, columns: append(slices.Clone(h.features), h.label)}
	if rule == byRecord {
		err = rd.records()
	} else {
		err = rd.lines(below)
	}
	if err != nil {
		return nil, nil, errors.Join(append(rd.found, err)...)
	}
	faults := rd.end()
	if rule == everyLine && len(rd.cells) > 0 {
		h.lost, h.unread, faults = rd.lost, faults, nil
	}
	if faults != nil {
		return nil, nil, errors.Join(faults...)
	}
	return h, rd.cells, nil
}

// records reads the rows of a file as CSV has them. The error is for what makes it pointless to go on.
func (r *reading) records() error {
	for {
		record, err := r.Read()
		if err == io.EOF {
			return nil
		} else if err != nil {
			r.found = append(r.found, fmt.Errorf("task: %s: %w", r.file, err))
			return nil
		}
		if err := r.row(record); err != nil {
			return err
		}
	}
}

// fault notes a fault of a cell of the present row.
func (r *reading) fault(cell int, format string, args ...any) {
	r.bad = true
	if r.count++; r.count <= maxFaults {
		r.found = append(r.found, fmt.Errorf("task: %s: line %d: %s", r.file, r.line(cell), fmt.Sprintf(format, args...)))
	}
}

// line returns where a cell of the present row is, or would be.
func (r *reading) line(cell int) int {
	if r.at > 0 {
		return r.at
	}
	line, _ := r.FieldPos(min(cell, r.width-1))
	return line
}

// row reads a row. The error is for what makes it pointless to go on.
func (r *reading) row(record []string) error {
	r.width = len(record)
	last := len(filled(record))
	if last == 0 {
		return nil
	}
	if len(record) < len(r.names) || last > len(r.names) {
		r.fault(0, "%d cells, want %d as in the header", len(record), len(r.names))
		return nil
	}
	before, whole := len(r.cells), true
	for _, c := range r.columns {
		v, err := r.cell(c, strings.TrimSpace(record[c.at]))
		if err != nil {
			return err
		}
		whole = whole && !(isNaN(v) && (c == r.label || r.rule == dropRows))
		r.cells = append(r.cells, v)
	}
	if !whole {
		r.cells = r.cells[:before]
	} else if r.person != nil && r.at == 0 {
		r.whose(strings.TrimSpace(record[r.person.at]))
	}
	return nil
}

// whose notes whose the present row is.
func (r *reading) whose(cell string) {
	if cell == "" {
		r.fault(r.person.at, "column %q: empty, want whose row this is", r.person.Name)
	}
	if r.known == nil {
		r.known = make(map[string]int)
	}
	n, known := r.known[cell]
	if !known {
		n = len(r.known)
		r.known[strings.Clone(cell)] = n
	}
	r.people = append(r.people, n)
}

// cell returns what a column reads from a cell of the present row: a number, or that of its category. It is NaN if the
// cell is missing and may be. The error is for what makes it pointless to go on.
func (r *reading) cell(c *column, cell string) (v float32, err error) {
	_, known := c.number[cell]
	wrong := ""
	switch {
	case c.ignored:
	case r.rule != "" && blank(cell, c.number == nil) && !(known && c.folded != nil):
		return nan, nil
	case c == r.label && cell == "":
		r.fault(c.at, "column %q: empty label", c.Name)
		return 0, nil
	case c.number != nil:
		var n int
		n, wrong = c.category(cell)
		v = float32(n)
	default:
		v, wrong = r.numbers.parse(cell, r.line(c.at), c.Name)
	}
	if wrong == blankFault && r.hinted {
		wrong = noNumber
	}
	r.hinted = r.hinted || wrong == blankFault
	r.bad = r.bad || wrong != ""
	if wrong != "" && (wrong != timeFault || !c.timed) {
		r.fault(c.at, "column %q: %q %s", c.Name, cell, wrong)
		c.timed = wrong == timeFault
	}
	if len(c.Categories) > maxValues {
		hint := ""
		if c == r.label {
			hint = "; where it is a number, " + asTarget
		}
		const format = "task: %s: column %q has more than %d distinct values, too many for classes or one-hot%s"
		err = fmt.Errorf(format, r.file, c.Name, maxValues, hint)
	}
	return v, err
}

// end returns all faults of a file that has been read.
func (r *reading) end() []error {
	if r.count > maxFaults {
		r.found = append(r.found, fmt.Errorf("task: %s: %d more faults", r.file, r.count-maxFaults))
	}
	if err := r.numbers.fault(r.file); err != nil {
		r.found = append(r.found, err)
	}
	if r.found == nil && len(r.cells) == 0 && r.rule == "" {
		r.found = append(r.found, fmt.Errorf("task: %s: no rows below the header", r.file))
	} else if r.found == nil && len(r.cells) == 0 {
		r.found = append(r.found, fmt.Errorf("task: %s: no rows below the header with what is needed: a label, or with the "+
			"rule drop all of it", r.file))
	}
	return r.found
}

// csvTable makes one column of each category, in the order that is fixed, or sorted.
func csvTable(name string, features []*column, label *column, cells []float32) *table {
	t := &table{name: name}
	width := len(features) + 1
	for i := width - 1; i < len(cells); i += width {
		if label.number == nil {
			t.targets = append(t.targets, cells[i])
		} else {
			t.labels = append(t.labels, label.Categories[int(cells[i])])
		}
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
			} else if isNaN(v) {
				for _, j := range place[k] {
					row[j] = v
				}
			}
		}
	}
	return t
}
