package task

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
)

// csvFile is a CSV file while it is read: its header, its cells, and the errors in both.
type csvFile struct {
	*csv.Reader
	name    string
	names   []string       // names of all columns
	where   map[string]int // index of the first column with each name
	columns []*column      // the feature columns, then the time of a survival task, then the label column
	person  *column        // column that identifies the person of a row; nil for none
	id      *column        // column that identifies a row to the user; nil for none
	rule    string         // rule for missing cells, "" for none; see [Missing]
	na      []string       // further markers of a missing cell; see [Spec].NA
	numbers cell.Numbers

	cells  []float64      // values of the cells in columns, row by row
	people []int          // number of the person of each row
	ids    []string       // cells of the column in the field id
	known  map[string]int // number of each person
	lost   []bool         // true for each row that could not be read; used only if each row is a line

	notes   []string  // what is strange about the file as a whole
	reasons []*reason // why rows cannot be read
	more    int       // number of errors of other kinds
	unread  []error   // the reasons, for the owner of the file

	faults []error // of the header
	stop   error   // why reading stopped early; nil if the whole file was read
	lines  bool    // each row is a line
	open   bool    // true if no recipe determines which columns are numbers: then each row must be readable
	lacks  bool    // a column is missing
	within bool    // the previous line was lost because of a line break in a cell
	bad    bool    // the current row has an error
	first  string  // the first cell of the current row
	at     int     // number of the line in which the current row begins
}

// header reads the names of the columns, up to the last column whose name is not empty. An earlier column without a
// name is named after its position, such as "column 3".
func (r *csvFile) header(record []string) {
	for i, name := range filled(record) {
		name = strings.Clone(cell.Clean(name))
		if !utf8.ValidString(name) {
			r.wrong("task: %s: the name of column %d, %s, is not in UTF-8: save the file as CSV (UTF-8)", r.name, i+1, short(name))
		}
		name = cmp.Or(name, "column "+strconv.Itoa(i+1))
		if first, again := r.where[name]; again {
			r.wrong("task: %s: columns %d and %d are both called %s", r.name, first+1, i+1, short(name))
		} else {
			r.where[name] = i
		}
		r.names = append(r.names, name)
	}
}

func (r *csvFile) label() *column { return r.columns[len(r.columns)-1] }

func (r *csvFile) wrong(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}

// filled returns the cells of a record up to the last cell that is not empty.
func filled(record []string) []string {
	last := len(record)
	for last > 0 && strings.TrimSpace(record[last-1]) == "" {
		last--
	}
	return record[:last]
}

// column returns the column with the given name. If the file has no such column, column records the given error.
func (r *csvFile) column(name string, missing error) *column {
	at, there := r.where[cell.Clean(name)]
	if !there {
		r.faults, r.lacks = append(r.faults, missing), true
	}
	return &column{Column: Column{Name: name}, at: at}
}

// layout is a function that returns the feature columns of a file, in order, followed by the label column. It may set
// r.person, r.id, r.rule, r.na and r.open.
type layout func(r *csvFile) (columns []*column)

func (s Spec) columns(r *csvFile) (columns []*column) {
	r.rule, _ = s.missing()
	r.na, r.open = s.NA, true
	found := make(map[string]*column)
	for _, named := range s.namedColumns() {
		field, name := named[0], named[1]
		if _, there := r.where[name]; field == "drop" && s.Files != nil && !there {
			continue // another file may have the column
		}
		found[name] = r.column(name, fieldError(field, "%s: %s has no such column", short(name), r.name))
	}
	onehot := numbered(s.OneHot)
	for i, name := range r.names {
		c := &column{Column: Column{Name: name}, at: i}
		if _, categories := onehot[name]; categories {
			columns = append(columns, c)
			c.names = cell.NewNames(nil, false)
		} else if found[name] == nil {
			columns = append(columns, c)
		}
	}
	r.person = found[s.Person]
	if len(columns) == 0 {
		r.wrong("task: %s: no feature columns: every column is the label, the person or dropped", r.name)
	}
	if s.Target != "" {
		return append(columns, found[s.Target])
	}
	if h, _ := s.horizon(); h != nil {
		found[h.Time].time = true
		columns = append(columns, found[h.Time])
	}
	return append(columns, found[s.label()].known(s.Labels))
}

// readCSV reads a CSV file with a header line. It cleans cells, see [cell.Clean]. A column of categories becomes one
// column of zeros and ones for each category (an empty cell is a category, too; 1 and 1.0 are one category, but 01 is a
// code of its own). Every other cell must be a number that fits a float32. readCSV detects the separator and the decimal
// mark, and skips empty cells after the last named column.
//
// Unless lines is true, a row is a CSV record: quoted cells may contain line breaks, and empty rows are skipped. If lines
// is true, each line below the header is a row. If the layout comes from a recipe, a line that cannot be read is then
// lost but keeps its place; otherwise, and without lines, it is an error.
func readCSV(in io.Reader, name string, lines bool, l layout) (*csvFile, error) {
	r, below, err := openCSV(in, name, lines, l)
	if err != nil {
		return nil, err
	}
	if r.lacks {
		r.wrong("task: the columns of %s are %s", name, quoted(r.names))
	}
	if note := cell.Headless(r.names); note != "" && r.faults != nil {
		r.wrong("task: %s: %s", name, note)
	} else if note != "" {
		r.notes = append(r.notes, note)
	}
	if r.faults != nil {
		return nil, errors.Join(r.faults...)
	}
	if r.lines = lines; lines {
		r.readLines(below)
	} else {
		r.readRecords()
	}
	return r, r.end()
}

func (r *csvFile) readRecords() {
	for r.stop == nil {
		record, err := r.Read()
		if err == io.EOF {
			return
		} else if err != nil {
			r.stop = fmt.Errorf("task: %s: %w", r.name, unquoted(err))
			return
		}
		r.bad = false
		if r.at, _ = r.FieldPos(0); len(filled(record)) > 0 {
			r.row(record)
		}
	}
}

// row adds a row for a record. If each row is a line, it adds exactly one row, whatever the record contains; r.bad is
// already true if the line is no record.
func (r *csvFile) row(record []string) {
	from, last := len(r.cells), len(filled(record))
	switch {
	case r.bad:
	case last == 0:
		r.fault("empty", "empty line")
	case len(record) < len(r.names) || last > len(r.names):
		r.fault("cells", fmt.Sprintf("%d cells, want %d as in the header: put each cell with %q in quotes", len(record), len(r.names), r.Comma))
	default:
		r.first = record[0]
		if !r.values(record) && r.lines {
			r.noLabel()
		}
	}
	if !r.lines && len(r.cells) == from {
		return
	} else if r.lines {
		if r.lost = append(r.lost, r.bad); r.bad {
			r.cells = append(r.cells[:from], make([]float64, len(r.columns))...)
		}
		r.within = r.within && r.bad
	}
	at := func(c *column) string {
		if c.at < len(record) {
			return cell.Clean(record[c.at])
		}
		return ""
	}
	if r.person != nil {
		r.whose(at(r.person))
	}
	if r.id != nil {
		r.ids = append(r.ids, strings.Clone(at(r.id)))
	}
}

// values appends the values of a record's cells. If the label is missing, or another cell and the rule drops such rows, it
// appends none and returns false.
func (r *csvFile) values(record []string) bool {
	from := len(r.cells)
	for _, c := range r.columns {
		v := r.cell(c, cell.Clean(record[c.at]))
		if r.cells = append(r.cells, v); math.IsNaN(v) && (c == r.label() || r.rule == dropRows) {
			r.cells = r.cells[:from]
			return false
		}
	}
	return true
}

func (r *csvFile) noLabel() {
	r.fault("label", fmt.Sprintf("column %s: empty label, each row needs one", short(r.label().Name)))
}

func (r *csvFile) whose(cell string) {
	if cell == "" { // the row counts as a separate person, whose name no cell has: a line break and a number
		r.fault("person", fmt.Sprintf("column %s: empty, want the person of this row", short(r.person.Name)))
		cell = fmt.Sprintf("\n%d", r.at)
	}
	n, known := r.known[cell]
	if !known {
		n = len(r.known)
		r.known[strings.Clone(cell)] = n
	}
	r.people = append(r.people, n)
}

// cell returns the value of a cell of column c: its number, its category number, or NaN for a missing cell if there is
// a rule for missing cells. It records what is wrong with the cell.
func (r *csvFile) cell(c *column, text string) float64 {
	v, wrong := r.value(c, text)
	if c.time && v < 0 {
		wrong = "is negative, want the time since observation began"
	} else if c.time && (wrong == cell.NoNumber || wrong == cell.NoTime) {
		wrong = cell.NotSince
	}
	if wrong != "" {
		one := r.fault(c.Name+"\n"+wrong, fmt.Sprintf("column %s: %s %s", short(c.Name), short(text), wrong))
		if one != nil && !r.within && wrong == cell.NoNumber && len(one.texts) < 3 && !slices.Contains(one.texts, text) {
			one.column, one.texts = c, append(one.texts, strings.Clone(text))
		}
	}
	if c.names != nil && len(c.names.List) > maxValues {
		r.stop = fmt.Errorf("task: %s: column %s has more than %d distinct values, too many for classes or one-hot "+
			"encoding; for a label, "+asTarget, r.name, short(c.Name), maxValues)
	}
	return v
}

// value returns the value of a cell, and what is wrong with it, if anything.
func (r *csvFile) value(c *column, text string) (v float64, wrong string) {
	switch marked := r.na != nil && cell.OneOf(text, r.na); {
	case c.ignored:
	case c.time && (marked || cell.Blank(text, true)):
		return 0, "is no time; each row needs one: to the event, or to the end of observation without it"
	case marked && r.rule == "":
		return 0, "stands for a missing value; to accept missing cells, set missing to mean, median, indicator or drop"
	case marked, r.rule != "" && cell.Blank(text, c.names == nil) && !c.named(text):
		return math.NaN(), ""
	case c == r.label() && text == "":
		r.noLabel()
	case c.names != nil:
		n, wrong := c.category(text)
		r.bad = r.bad || n < 0 && r.lines
		return float64(n), wrong
	default:
		return r.numbers.Parse(text, func() string { return fmt.Sprintf("line %d: column %s", r.at, short(c.Name)) })
	}
	return 0, ""
}

// end returns the errors of the whole file. Of lines that are lost it keeps the reasons.
func (r *csvFile) end() error {
	r.notes = append(r.notes, r.numbers.Notes()...)
	for _, note := range []string{cell.Summary(r.first), cell.Alike(r.known)} {
		if note != "" {
			r.notes = append(r.notes, note)
		}
	}
	faults := r.told()
	if r.lines && !r.open && r.stop == nil && len(r.cells) > 0 {
		r.unread = faults
		return nil
	}
	r.lost = nil
	if err := r.numbers.Fault(r.name); err != nil {
		faults = append(faults, fmt.Errorf("task: %w", err))
	}
	if faults = append(faults, r.stop); len(r.cells) == 0 && errors.Join(faults...) == nil {
		return fmt.Errorf("task: %s: no rows below the header that can be used: a row to learn from needs a label and, if missing is drop, all its cells", r.name)
	}
	return errors.Join(faults...)
}

// table returns the content of the file. Each category becomes a column. Categories are in the order of the recipe or,
// without a recipe, sorted.
func (r *csvFile) table() *table {
	t := &table{name: r.name, names: r.names, person: r.people, ids: r.ids, lost: r.lost, unread: r.unread, notes: r.notes}
	label, cells, width := r.label(), r.cells, len(r.columns)
	features := r.columns[:width-1]
	if timed := width > 1 && features[width-2].time; timed {
		features = features[:width-2]
		for i := width - 2; i < len(cells); i += width {
			t.times = append(t.times, cells[i])
		}
	}
	for i := width - 1; i < len(cells); i += width {
		if label.names == nil {
			t.targets = append(t.targets, cells[i])
		} else {
			t.labels = append(t.labels, label.names.List[int(cells[i])])
		}
	}
	place := make([][]int, len(features)) // for each feature and category number, the index in the table
	for k, c := range features {
		if c.names == nil {
			place[k] = []int{len(t.features)}
			t.columns, t.features = append(t.columns, Column{Name: c.Name}), append(t.features, c.Name)
			continue
		}
		sorted, number := slices.Clone(c.names.List), numbered(c.names.List)
		if !c.fixed {
			cell.Sort(sorted)
		}
		t.columns = append(t.columns, Column{Name: c.Name, Categories: sorted})
		place[k] = make([]int, len(sorted))
		for _, v := range sorted {
			place[k][number[v]] = len(t.features)
			t.features = append(t.features, c.Name+"="+v)
		}
	}
	t.dim = len(t.features)
	t.fill = func(row []float64, i int) {
		for k, v := range cells[i*width:][:len(features)] {
			if features[k].names == nil {
				row[place[k][0]] = v
			} else if v >= 0 {
				row[place[k][int(v)]] = 1
			} else if math.IsNaN(v) {
				for _, j := range place[k] {
					row[j] = v
				}
			}
		}
	}
	return t
}
