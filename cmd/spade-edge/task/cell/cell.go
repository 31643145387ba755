package cell

import (
	"slices"
	"strings"
	"time"
)

// Blank reports whether a cell is empty or holds a common marker of a missing value, in upper or lower case. A marker
// that could also be the name of a category is accepted only in columns of numbers.
func Blank(cell string, number bool) bool {
	switch strings.ToLower(cell) {
	case "", "na", "n/a", "#n/a", "nan", "null", "?":
		return true
	case "none", "-", ".":
		return number
	}
	return false
}

// OneOf reports whether a cell is one of the markers, in any letter case, or the same number as one of them.
func OneOf(cell string, markers []string) bool {
	number, numeric := Decimal(cell)
	return slices.ContainsFunc(markers, func(text string) bool {
		if strings.EqualFold(cell, text) {
			return true
		}
		marker, ok := Decimal(text)
		return numeric && ok && marker == number
	})
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
