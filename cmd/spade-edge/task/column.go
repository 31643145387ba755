package task

import (
	"strings"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
)

// column is a column of a CSV file.
type column struct {
	Column              // without Categories
	at      int         // index of the column in the file
	names   *cell.Names // the categories; nil: numbers
	classes bool        // the label: a class may be called like a marker of a missing value
	time    bool        // the time of a survival task: each row has one
	fixed   bool        // categories that are not among the names are not allowed

	ignored bool                      // every cell counts as the first category
	unknown func(column, cell string) // called for a cell that is not a category; nil: such a cell is an error
}

// known makes c a column of categories, the first of which are the given ones. Texts that differ only in case are one
// category unless both are known. known returns c.
func (c *column) known(categories []string) *column {
	c.names, c.classes = cell.NewNames(categories, true), true
	return c
}

// category returns the category number of a cell, or a description of what is wrong with the cell.
func (c *column) category(text string) (_ int, fault string) {
	n, ok := c.names.Find(text)
	switch {
	case ok:
		return n, ""
	case c.unknown != nil:
		c.unknown(c.Name, strings.Clone(text))
		return -1, ""
	case c.fixed:
		return 0, "is not one of its categories, which are " + quoted(c.names.List) + c.names.Hint(text)
	case !utf8.ValidString(text):
		return 0, "is not in UTF-8: save the file as CSV (UTF-8)"
	}
	return c.names.Add(strings.Clone(text)), "" // cloned, because a cell keeps its whole line in memory
}

// named reports whether a cell is the name of a class or of a known category.
func (c *column) named(text string) bool {
	if !c.classes {
		return false
	}
	_, ok := c.names.Find(text)
	return ok
}
