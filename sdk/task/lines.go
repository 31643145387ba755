package task

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

type rowRule int

const (
	byRecord  rowRule = iota // a row is a CSV record: quoted cells may contain line breaks; empty rows are skipped
	oneLine                  // a row is one line below the header; an unreadable line is an error
	everyLine                // a row is one line below the header; an unreadable line is lost but keeps its place
)

func (r *csvFile) lines(below *bufio.Reader) {
	r.at, _ = r.FieldPos(0) // the line of the header
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
		if err != nil { // the line is lost, but its person may be readable
			record = strings.Split(line, string(r.Comma))
		}
		r.place(record, err)
	}
}

// place adds exactly one row for a line, whatever the line contains. fault, if not nil, is the reason why the line is
// not a valid CSV record.
func (r *csvFile) place(record []string, fault error) {
	from := len(r.cells)
	r.bad = false
	var wrong *csv.ParseError
	switch {
	case errors.As(fault, &wrong):
		r.fault(0, "%v", wrong.Err)
	case fault != nil || len(filled(record)) == 0:
		r.fault(0, "empty line")
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
		r.whose(who)
	}
	if r.bad {
		r.cells = append(r.cells[:from], make([]float32, len(r.columns))...)
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
				row[j] = nan
			}
		}
	}
}
