package task

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
)

// readLines reads each line below the header as a row.
func (r *csvFile) readLines(below *bufio.Reader) {
	r.at, _ = r.FieldPos(0) // the line of the header
	r.numbers.Alone, r.numbers.Commas = true, r.Comma == ';'
	one := bufio.NewReader(nil)
	for r.stop == nil {
		line, err := below.ReadString('\n')
		if line == "" && err == io.EOF {
			return
		} else if err != nil && err != io.EOF {
			r.stop = fmt.Errorf("task: %s: %w", r.name, err)
			return
		}
		r.at++
		r.bad = false
		one.Reset(strings.NewReader(line))
		record, err := newReader(one, r.Comma).Read()
		if err != nil { // the line is lost, but its person may be readable
			r.broken(line, len(record), err)
			record = strings.Split(line, string(r.Comma))
		}
		r.row(record)
	}
}

// reason is why rows cannot be read: one kind of error in one column.
type reason struct {
	kind, text        string // text describes the first of the rows
	first, last, rows int    // where the first and the latest row begin, and how many there are

	column *column  // if cells have text in place of numbers, their column
	texts  []string // up to three different such cells
}

// maxReasons is the maximum number of kinds of errors per file that are described.
const maxReasons = 10

// fault records an error in the current row. Errors of one kind are reported once. It returns nil if there are too many
// kinds.
func (r *csvFile) fault(kind, text string) *reason {
	r.bad = true
	if r.within {
		kind = lineBreak
	}
	i := slices.IndexFunc(r.reasons, func(one *reason) bool { return one.kind == kind })
	if i < 0 && len(r.reasons) == maxReasons {
		r.more++
		return nil
	} else if i < 0 {
		i = len(r.reasons)
		r.reasons = append(r.reasons, &reason{kind: kind, text: text, first: r.at})
	}
	one := r.reasons[i]
	if one.last < r.at {
		one.last = r.at
		one.rows++
	}
	return one
}

// told returns the reasons as errors. A column of which most cells are text has an error of its own.
func (r *csvFile) told() (all []error) {
	for _, one := range r.reasons {
		if one.rows > 3 && one.column != nil && 2*one.rows*len(r.columns) >= len(r.cells) {
			all = append(all, r.textFault(one))
			continue
		}
		such := ""
		if one.rows > 1 && one.column != nil && !strings.ContainsAny(one.texts[0], "0123456789") {
			such = "; if that stands for a missing value, list it in na"
		}
		if one.rows > 1 {
			such += fmt.Sprintf(" (the first of %d such lines)", one.rows)
		}
		all = append(all, fmt.Errorf("task: %s: line %d: %s%s", r.name, one.first, one.text, such))
	}
	if r.more > 0 {
		all = append(all, fmt.Errorf("task: %s: %d more errors", r.name, r.more))
	}
	return all
}

// textFault returns the error for a column that holds text.
func (r *csvFile) textFault(one *reason) error {
	name := short(one.column.Name)
	if !r.open {
		return fmt.Errorf("task: %s: column %s holds text in %d lines, such as %s, want numbers", r.name, name, one.rows, short(one.texts[0]))
	}
	advice := "name it in onehot to turn each text into a column, or in drop to ignore it"
	if len(one.texts) == 2 {
		advice += "; with two texts it may be the label"
	} else if !slices.ContainsFunc(one.texts, func(text string) bool { return strings.IndexFunc(text, unicode.IsDigit) != 0 }) {
		advice += "; if these are measurements, write the numbers alone"
	}
	return fieldError("onehot", "lacks %s, which holds text in %d lines of %s, such as %s: %s", name, one.rows, r.name, short(one.texts[0]), advice)
}

const (
	lineBreak   = "line break" // the kind of a reason
	noLineBreak = "contains a line break or an open quote, but each line is a record: export without line breaks in cells, for instance with " +
		"replace(NOTE, chr(10), ' ') in SQL or SUBSTITUTE(A2,CHAR(10),\" \") in a spreadsheet"
)

// broken records why a line is not a CSV record. The parser failed in the cell with the index "at". If the line ends in
// a quoted cell, the next lines that cannot be read count as parts of that cell.
func (r *csvFile) broken(line string, at int, err error) {
	var wrong *csv.ParseError
	open := strings.Count(line, `"`)%2 == 1
	switch cells := strings.Split(line, string(r.Comma)); {
	case !errors.As(err, &wrong):
		r.fault("empty", "empty line")
	case open && wrong.Err == csv.ErrQuote && at < min(len(r.names), len(cells)):
		r.fault(lineBreak, fmt.Sprintf("column %s: %s %s", short(r.names[at]), short(strings.Trim(cells[at], " \"\r\n")), noLineBreak))
		r.within = true
	default:
		r.fault("quote", fmt.Sprintf("cell %d: %s", at+1, badQuote))
	}
}

const badQuote = "a quote within a cell, or no quote at its end: put the cell in quotes and double each quote in it"

// unquoted replaces the words of the CSV parser.
func unquoted(err error) error {
	if wrong := (*csv.ParseError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("line %d: %s", wrong.StartLine, badQuote)
	}
	return err
}

const noDrop = "each record is protected, and dropping one would change the number of records, which is public"

// ForRecords returns an error if a recipe cannot prepare data in which each record is protected; see [Spec].Records.
func (r *Recipe) ForRecords() error {
	if r.Missing != nil && r.Missing.Rule == dropRows {
		return errors.New(`task: recipe: missing.rule is "drop", want indicator, mean or median: ` + noDrop)
	} else if r.Subset && r.Source != "csv" {
		return fmt.Errorf("task: recipe: subset is true, want false, because a subset of %s data drops samples: %s", r.Source, noDrop)
	}
	return nil
}

// canLose makes t.data mark rows whose label is not one of the classes as lost, instead of removing them. t may be nil.
func (t *table) canLose() {
	if t != nil && t.lost == nil {
		t.lost = make([]bool, max(len(t.labels), len(t.targets)))
	}
}

// keep returns a test set without its lost records. The number of lost records may depend on the data; that is allowed
// here, because results on test data stay on the device.
func (d *Data) keep() *Data {
	if d.lost == nil {
		return d
	}
	var kept []int
	for i, lost := range d.lost {
		if !lost {
			kept = append(kept, i)
		}
	}
	d = d.Select(kept)
	d.lost = nil
	return d
}

// spoil makes the loss of each lost record NaN for all parameters.
func (d *Data) spoil() {
	defer func() { d.lost = nil }()
	for i, lost := range d.lost {
		if lost {
			row := d.Row(i)
			for j := range row {
				row[j] = float32(math.NaN())
			}
		}
	}
}

// Readable returns the samples of d without those of lost records, which have no loss.
func (d *Data) Readable() *Data {
	var rows []int
	for i := range d.Len() {
		if !slices.ContainsFunc(d.Row(i), func(x float32) bool { return x != x }) {
			rows = append(rows, i)
		}
	}
	return d.Select(rows)
}
