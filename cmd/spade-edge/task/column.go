package task

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
)

// maxFaults is the maximum number of invalid cells per file that errors describe; further invalid cells are only
// counted.
const maxFaults = 10

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

	timed bool // a cell with a date or time was reported; later such cells are not reported

	texts []error  // errors of the first cells that are not numbers, kept because the whole column may hold text
	count int      // number of cells that are not numbers
	some  []string // up to three different cells among those that are not numbers
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

func (r *csvFile) text(c *column, text string) {
	c.count++
	if r.count++; r.count <= maxFaults {
		c.texts = append(c.texts, fmt.Errorf("task: %s: line %d: column %s: %s %s", r.name, r.line(c.at), short(c.Name), short(text),
			cell.NoNumber))
	}
	if len(c.some) < 3 && !slices.Contains(c.some, text) {
		c.some = append(c.some, strings.Clone(text))
	}
}

// textFault returns the error for a column that holds text.
func (r *csvFile) textFault(c *column) error {
	if !r.open {
		return fmt.Errorf("task: %s: column %s holds text in %d lines, such as %s, want numbers", r.name, short(c.Name), c.count,
			short(c.some[0]))
	}
	advice := "name it in onehot to turn each text into a column, or in drop to ignore it"
	if len(c.some) == 2 {
		advice += "; with two texts it may be the label"
	}
	return fieldError("onehot", "lacks %s, which holds text in %d lines of %s, such as %s: %s", short(c.Name), c.count, r.name,
		short(c.some[0]), advice)
}
