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

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
)

type rowRule int

const (
	byRecord  rowRule = iota // a row is a CSV record: quoted cells may contain line breaks; empty rows are skipped
	eachLine                 // a row is one line below the header; an unreadable line is an error
	everyLine                // a row is one line below the header; an unreadable line is lost but keeps its place
)

func (r *csvFile) lines(below *bufio.Reader) {
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
		one.Reset(strings.NewReader(line))
		record, err := newReader(one, r.Comma).Read()
		if err != nil { // the line is lost, but its person may be readable
			r.broken(line, len(record), err)
			record = strings.Split(line, string(r.Comma))
		}
		r.place(record, err != nil)
	}
}

// reason is why lines are lost: one kind of error in one column.
type reason struct {
	kind, text         string // text describes the first of the lines
	first, last, lines int
}

func (r *csvFile) reason(kind, text string) {
	if r.within {
		kind = lineBreak
	}
	i := slices.IndexFunc(r.reasons, func(one *reason) bool { return one.kind == kind })
	if i < 0 && len(r.reasons) < maxFaults {
		r.reasons = append(r.reasons, &reason{kind: kind, text: text, first: r.at, last: r.at, lines: 1})
	} else if i >= 0 && r.reasons[i].last < r.at {
		r.reasons[i].last = r.at
		r.reasons[i].lines++
	}
}

// tell adds the reasons why lines are lost to r.unread.
func (r *csvFile) tell() {
	for _, one := range r.reasons {
		all := ""
		if one.lines > 1 {
			all = fmt.Sprintf(" (the first of %d such lines)", one.lines)
		}
		r.unread = append(r.unread, fmt.Errorf("task: %s: line %d: %s%s", r.name, one.first, one.text, all))
	}
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
		r.fault(0, "empty", "empty line")
	case open && wrong.Err == csv.ErrQuote && at < min(len(r.names), len(cells)):
		r.fault(at, lineBreak, fmt.Sprintf("column %s: %s %s", short(r.names[at]), short(strings.Trim(cells[at], " \"\r\n")), noLineBreak))
		r.within = true
	default:
		r.fault(at, "quote", fmt.Sprintf("cell %d: %s", at+1, badQuote))
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

// place adds exactly one row for a line, whatever the line contains. broken tells that the line is not a CSV record.
func (r *csvFile) place(record []string, broken bool) {
	from := len(r.cells)
	r.bad = broken
	switch {
	case broken:
	case len(filled(record)) == 0:
		r.fault(0, "empty", "empty line")
	default:
		r.row(record)
		if !r.bad && len(r.cells) == from {
			r.noLabel()
		}
	}
	if r.person != nil {
		who := ""
		if r.person.at < len(record) {
			who = cell.Clean(record[r.person.at])
		}
		r.whose(who)
	}
	if r.bad {
		r.cells = append(r.cells[:from], make([]float64, len(r.columns))...)
	} else {
		r.within = false
	}
	r.lost = append(r.lost, r.bad)
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
