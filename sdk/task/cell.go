package task

import (
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/task/cell"
)

func isNaN(x float32) bool { return x != x }

// numbers parses the numbers of one file, which all have decimal points or all have decimal commas. A number such as
// 1,234 is ambiguous; the unambiguous numbers of the file decide whether the comma is decimal.
type numbers struct {
	point, comma, either string // the first number with a decimal point, with a decimal comma, and of ambiguous form

	alone  bool // each number is parsed without regard to the file's other numbers, and 1,234 is an error
	commas bool // if alone is set: every comma is a decimal comma, even in 1,234
}

const eitherFault = "has a decimal comma or a thousands separator"

// parse returns the number in a cell, or a description of what is wrong with the cell.
func (n *numbers) parse(text string, line int, column string) (_ float64, fault string) {
	f, fault := cell.Number(text)
	if fault != "" {
		return 0, fault
	}
	var kind *string
	comma := strings.IndexByte(text, ',') >= 0
	switch either := comma && cell.Grouped(text) && !strings.HasPrefix(strings.TrimLeft(text, "+-"), "0"); {
	case n.alone && either && !n.commas:
		return 0, eitherFault + ": write it with a decimal point, or without a separator"
	case either:
		kind = &n.either
	case comma:
		kind = &n.comma
	case strings.IndexByte(text, '.') >= 0:
		kind = &n.point
	}
	if kind != nil && *kind == "" {
		*kind = fmt.Sprintf("line %d: column %s: %s", line, short(column), short(text))
	}
	return f, ""
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
