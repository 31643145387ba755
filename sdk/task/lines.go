package task

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// rowRule says what a row of a CSV file is.
type rowRule int

const (
	byRecord  rowRule = iota // as CSV has it: there may be line breaks in quotes, and empty rows are passed over
	oneLine                  // a line below the header, whatever the others are; one that cannot be read is an error
	everyLine                // a line below the header, whatever is in it; one that cannot be read is lost, and stays
)

// rows returns the rule for data that a recipe is fitted on.
func (s Spec) rows() rowRule {
	if s.Records {
		return oneLine
	}
	return byRecord
}

// lines reads each line as a row by itself.
func (r *csvFile) lines(below *bufio.Reader) {
	r.at, _ = r.FieldPos(0) // of the header
	r.numbers.alone, r.numbers.commas = true, r.Comma == ';'
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
		if err != nil { // it is lost, but may say whose it is
			record = strings.Split(line, string(r.Comma))
		}
		r.place(record, err)
	}
}

// place reads a row that keeps its place whatever its content. fault, if not nil, says why it is no row.
func (r *csvFile) place(record []string, fault error) {
	from := len(r.cells)
	r.bad = false
	var wrong *csv.ParseError
	switch {
	case errors.As(fault, &wrong):
		r.fault(0, "%v", wrong.Err)
	case fault != nil || len(filled(record)) == 0:
		r.fault(0, "nothing in it")
	default:
		r.row(record)
		if !r.bad && len(r.cells) == from {
			r.fault(0, "column %s: empty label", short(r.label().Name))
		}
	}
	if r.person != nil {
		who := ""
		if r.person.at < len(record) {
			who = strings.TrimSpace(record[r.person.at])
		}
		if who == "" { // a person of its own: no cell has a line break in it
			r.fault(0, "column %s: empty, want whose row this is", short(r.person.Name))
			who = fmt.Sprintf("\n%d", r.at)
		}
		r.whose(who)
	}
	if r.bad {
		r.cells = append(r.cells[:from], make([]float32, len(r.columns))...)
	}
	r.lost = append(r.lost, r.bad)
}

const noDrop = "each record is protected, and one that is left out changes the number of records, which is public and fixed"

// ForRecords reports why a recipe cannot prepare data of which each record is protected, as [Spec].Records says.
func (r *Recipe) ForRecords() error {
	var faults []error
	if r.Missing != nil && r.Missing.Rule == dropRows {
		faults = append(faults, errors.New(`task: recipe: missing.rule is "drop", want indicator, mean or median: `+noDrop))
	}
	if r.Subset && r.Source != "csv" {
		faults = append(faults, fmt.Errorf("task: recipe: subset is true, want it left out, and data from %s that have samples "+
			"of these classes only: %s", r.Source, noDrop))
	}
	return errors.Join(faults...)
}

// canLose makes rows without one of the classes stay, and be lost. t may be nil.
func (t *table) canLose() {
	if t != nil && t.lost == nil {
		t.lost = make([]bool, max(len(t.labels), len(t.targets)))
	}
}

// keep leaves the lost records of a test set out: what is judged by it stays on the device.
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

// spoil makes the loss of each lost record NaN, whatever the parameters.
func (d *Data) spoil() {
	defer func() { d.lost = nil }()
	for i, lost := range d.lost {
		if lost {
			row := d.Row(i)
			for j := range row {
				row[j] = nan
			}
		}
	}
}
