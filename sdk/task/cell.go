package task

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

var nan = float32(math.NaN()) // a missing number

func isNaN(x float32) bool { return x != x }

// blank reports whether a cell is empty or holds a common marker of a missing value, in upper or lower case. A marker
// that could also be the name of a category is accepted only in columns of numbers.
func blank(cell string, number bool) bool {
	switch strings.ToLower(cell) {
	case "", "na", "n/a", "#n/a", "nan", "null", "?":
		return true
	case "none", "-", ".":
		return number
	}
	return false
}

func (r *csvFile) absent(cell string) bool {
	return slices.ContainsFunc(r.na, func(text string) bool {
		a, err := strconv.ParseFloat(text, 64)
		b, err2 := strconv.ParseFloat(strings.Replace(cell, ",", ".", 1), 64)
		return strings.EqualFold(cell, text) || err == nil && err2 == nil && a == b
	})
}

// numbers parses the numbers of one file, which all have decimal points or all have decimal commas. A number such as
// 1,234 is ambiguous; the unambiguous numbers of the file decide whether the comma is decimal.
type numbers struct {
	point, comma, either string // the first number with a decimal point, with a decimal comma, and of ambiguous form

	alone  bool // each number is parsed without regard to the file's other numbers, and 1,234 is an error
	commas bool // if alone is set: every comma is a decimal comma, even in 1,234
}

const eitherFault = "has a decimal comma or a thousands separator"

// parse returns the number in a cell, or a description of what is wrong with the cell.
func (n *numbers) parse(cell string, line int, column string) (_ float32, fault string) {
	comma, point := strings.IndexByte(cell, ','), strings.IndexByte(cell, '.')
	text := cell
	if comma >= 0 && point < 0 {
		text = cell[:comma] + "." + cell[comma+1:]
	}
	f, err := strconv.ParseFloat(text, 32)
	if err != nil || !finite([]float64{f}) {
		return 0, wrongNumber(cell)
	}
	var kind *string
	switch either := comma >= 0 && grouped(cell) && !strings.HasPrefix(strings.TrimLeft(cell, "+-"), "0"); {
	case n.alone && either && !n.commas:
		return 0, eitherFault + ": write it with a decimal point, or without a separator"
	case either:
		kind = &n.either
	case comma >= 0:
		kind = &n.comma
	case point >= 0:
		kind = &n.point
	}
	if kind != nil && *kind == "" {
		*kind = fmt.Sprintf("line %d: column %s: %s", line, short(column), short(cell))
	}
	return float32(f), ""
}

// fault returns an error if the decimal mark of the file's numbers is inconsistent or ambiguous.
func (n *numbers) fault(file string) error {
	switch {
	case n.alone:
	case n.comma != "" && n.point != "":
		return fmt.Errorf("task: %s: found both %s and %s: want either decimal points or decimal commas in the whole "+
			"file, and no thousands separators", file, n.comma, n.point)
	case n.either != "" && n.comma == "":
		return fmt.Errorf("task: %s: %s %s, and no other number in the file shows which of the two is meant: write "+
			"the number with a decimal point, or without a separator", file, n.either, eitherFault)
	}
	return nil
}

const (
	noNumber   = "is not a finite number"
	blankFault = noNumber + "; to accept missing cells, set missing to mean, median, indicator or drop"
	timeFault  = "is a date or a time, want a number: leave the column out, or write a number of days or years"
)

func wrongNumber(cell string) string {
	switch {
	case isTime(cell):
		return timeFault
	case grouped(cell):
		return "has thousands separators, want digits and at most one decimal point or comma"
	case blank(cell, true):
		return blankFault
	}
	return noNumber
}

// grouped reports whether a cell has digits in groups of three, as in 1,234 or 1.234.567,5 or 1 234.
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
	return slices.ContainsFunc([]string{
		"2006-1-2", "2006/1/2", "2006.1.2", "2006-1", "2.1.2006", "2.1.06", "1/2/2006", "1/2/06", "2/1/2006", "2/1/06",
		"2-1-2006", "2-1-06", "2-Jan-2006", "2-Jan-06", "Jan-06", "2 Jan 2006", "2. Jan 2006", "Jan 2, 2006", "15:04",
		"15:04:05", "3:04 PM",
	}, func(layout string) bool {
		_, whole := time.Parse(layout, cell)
		_, part := time.Parse(layout, date)
		return whole == nil || part == nil
	})
}
