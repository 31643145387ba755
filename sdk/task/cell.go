package task

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

var nan = float32(math.NaN()) // a missing number

func isNaN(x float32) bool { return x != x }

// blank reports whether a cell says that there is no value: it is empty, or has a usual marker in large or small
// letters. What may well be a category counts in columns of numbers only.
func blank(cell string, number bool) bool {
	switch strings.ToLower(cell) {
	case "", "na", "n/a", "#n/a", "nan", "null", "?":
		return true
	case "none", "-", ".":
		return number
	}
	return false
}

// numbers reads the numbers of a file, which have decimal points, or all of them decimal commas. Which of the two it is
// shows at the end: 1,234 alone may be either.
type numbers struct {
	point, comma, doubt place

	alone  bool // each cell decides for itself: 1,234 cannot be read
	commas bool // with alone: a comma is a decimal comma, in 1,234 as well
}

// place is the first cell of a kind.
type place struct {
	line         int // 0 if there is none
	column, cell string
}

func (p *place) note(line int, column, cell string) {
	if p.line == 0 {
		*p = place{line, column, strings.Clone(cell)}
	}
}

// parse returns the number in a cell, and what is wrong with the cell.
func (n *numbers) parse(cell string, line int, column string) (_ float32, fault string) {
	comma, point := strings.IndexByte(cell, ','), strings.IndexByte(cell, '.')
	text := cell
	if comma >= 0 && point < 0 {
		text = cell[:comma] + "." + cell[comma+1:]
	}
	f, err := strconv.ParseFloat(text, 32)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, wrongNumber(cell)
	}
	doubtful := comma >= 0 && grouped(cell) && !strings.HasPrefix(strings.TrimLeft(cell, "+-"), "0")
	switch {
	case n.alone && doubtful && !n.commas:
		return 0, "has a decimal comma or a thousands separator: write it with a decimal point, or without a separator"
	case n.alone:
	case doubtful:
		n.doubt.note(line, column, cell)
	case comma >= 0:
		n.comma.note(line, column, cell)
	case point >= 0:
		n.point.note(line, column, cell)
	}
	return float32(f), ""
}

// fault returns what is wrong with the numbers of a file together.
func (n *numbers) fault(file string) error {
	switch first, other := n.comma, n.point; {
	case first.line > 0 && other.line > 0:
		if first.line > other.line {
			first, other = other, first
		}
		return fmt.Errorf("task: %s: line %d: column %q: %q beside %q in line %d, column %q: want decimal points in the "+
			"whole file, or decimal commas, and no other points or commas in numbers",
			file, other.line, other.column, other.cell, first.cell, first.line, first.column)
	case n.doubt.line > 0 && first.line == 0:
		d := n.doubt
		return fmt.Errorf("task: %s: line %d: column %q: %q may be %s or %s, and no other number of the file shows which: "+
			"write it as one of these", file, d.line, d.column, d.cell, strings.Replace(d.cell, ",", "", 1),
			strings.Replace(d.cell, ",", ".", 1))
	}
	return nil
}

const (
	noNumber   = "is no finite number"
	blankFault = noNumber + "; a rule for missing ones would do (missing: mean, median, indicator or drop)"
	timeFault  = "is a date or a time, want a number: leave the column out, or write a number of days or years"
)

// wrongNumber says why a cell is no number.
func wrongNumber(cell string) string {
	switch {
	case isTime(cell):
		return timeFault
	case grouped(cell):
		return "has thousands separators, want digits alone and one decimal point or comma"
	case blank(cell, true):
		return blankFault
	}
	return noNumber
}

// grouped reports whether a cell looks like 1,234 or 1.234.567,5 or 1 234: digits in groups of three.
func grouped(cell string) bool {
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	groups := strings.FieldsFunc(cell, func(r rune) bool { return !digit(r) })
	other := strings.TrimFunc(strings.TrimLeft(cell, "+-"), digit)
	strange := func(r rune) bool { return !digit(r) && !strings.ContainsRune(",.'’_", r) && !unicode.IsSpace(r) }
	return len(groups) > 1 && len(groups[0]) <= 3 && len(groups[1]) == 3 && !strings.ContainsFunc(other, strange)
}

// isTime reports whether a cell is a date, a time of day, or both.
func isTime(cell string) bool {
	date := cell
	if i := strings.IndexAny(cell, "T "); i > 0 {
		date = cell[:i]
	}
	for _, layout := range [...]string{
		"2006-1-2", "2006/1/2", "2006.1.2", "2006-1", "2.1.2006", "2.1.06", "1/2/2006", "1/2/06", "2/1/2006", "2/1/06",
		"2-1-2006", "2-1-06", "2-Jan-2006", "2-Jan-06", "Jan-06", "2 Jan 2006", "2. Jan 2006", "Jan 2, 2006", "15:04",
		"15:04:05", "3:04 PM",
	} {
		_, whole := time.Parse(layout, cell)
		_, part := time.Parse(layout, date)
		if whole == nil || part == nil {
			return true
		}
	}
	return false
}
