package cell

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Numbers parses the numbers of one file, which all have decimal points or all have decimal commas. A number such as
// 1,234 is ambiguous; the unambiguous numbers of the file decide whether the comma is decimal.
type Numbers struct {
	point, comma, either string // the first number with a decimal point, with a decimal comma, and of ambiguous form

	long string // the first whole number that loses digits

	Alone  bool // each number is parsed without regard to the file's other numbers, and 1,234 is an error
	Commas bool // if Alone is set: every comma is a decimal comma, even in 1,234
}

const eitherFault = "has a decimal comma or a thousands separator"

// Parse returns the number in a cell, or says what is wrong with the cell. where returns its place in the file.
func (n *Numbers) Parse(text string, where func() string) (_ float64, fault string) {
	f, fault := Number(text)
	if fault != "" {
		return 0, fault
	}
	if math.Abs(f) > 1<<53 && n.long == "" {
		read, _ := Decimal(strconv.FormatFloat(f, 'f', 0, 64))
		if exact, ok := Decimal(text); ok && exact != read {
			n.long = fmt.Sprintf("%s: %.80q", where(), text)
		}
	}
	var kind *string
	comma := strings.IndexByte(text, ',') >= 0
	switch either := comma && grouped(text) && !strings.HasPrefix(strings.TrimLeft(text, "+-"), "0"); {
	case n.Alone && either && !n.Commas:
		return 0, eitherFault + ": write it with a decimal point, or without a separator"
	case either:
		kind = &n.either
	case comma:
		kind = &n.comma
	case strings.IndexByte(text, '.') >= 0:
		kind = &n.point
	}
	if kind != nil && *kind == "" {
		*kind = fmt.Sprintf("%s: %.80q", where(), text)
	}
	return f, ""
}

// Fault returns an error if the decimal mark of the file's numbers is inconsistent or ambiguous.
func (n *Numbers) Fault(file string) error {
	switch {
	case n.Alone:
	case n.comma != "" && n.point != "":
		return fmt.Errorf("%s: found both %s and %s: want either decimal points or decimal commas in the whole "+
			"file, and no thousands separators", file, n.comma, n.point)
	case n.either != "" && n.comma == "":
		return fmt.Errorf("%s: %s %s, and no other number in the file shows which of the two is meant: write "+
			"the number with a decimal point, or without a separator", file, n.either, eitherFault)
	}
	return nil
}

// Notes says what is strange about the numbers of the file: decimal marks that differ although each number was read
// alone, and whole numbers with more digits than a float64 keeps.
func (n *Numbers) Notes() (notes []string) {
	if n.Alone && n.point != "" && (n.comma != "" || n.either != "" && n.Commas) {
		notes = append(notes, fmt.Sprintf("found both %s and %s: a point or comma may separate thousands, but each counts as a decimal mark",
			n.point, cmp.Or(n.comma, n.either)))
	}
	if n.long != "" {
		notes = append(notes, n.long+" has more digits than a number keeps: leave the column out if it is an identifier, or subtract a constant")
	}
	return notes
}
