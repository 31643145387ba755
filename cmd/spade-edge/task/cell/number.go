package cell

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Number returns the number in a cell, with a decimal point or a decimal comma, or says what is wrong with the cell.
func Number(cell string) (_ float64, fault string) {
	f, ok := parse(cell)
	switch {
	case math.Abs(f) > math.MaxFloat32:
		return 0, TooLarge
	case !ok:
		return 0, wrong(cell)
	}
	return f, ""
}

// parse returns the number in a cell, which may be too large. Unlike [Number] it does not search for what is wrong.
func parse(cell string) (f float64, ok bool) {
	text := cell
	if strings.IndexByte(cell, '.') < 0 {
		text = strings.Replace(cell, ",", ".", 1)
	}
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// What is wrong with a cell that is not a number.
const (
	NoNumber = "is not a finite number"
	TooLarge = "is too large, at most 3.4e38"
	NoTime   = "is a date or a time, want a number: leave the column out, or write a number of days or years"
	NotSince = "is no number, want the time since observation began: days, or with TIME:w, TIME:m or TIME:y weeks, months or years"
	Missing  = NoNumber + "; to accept missing cells, set missing to mean, median, indicator or drop"
)

func wrong(cell string) string {
	switch {
	case isTime(cell):
		return NoTime
	case grouped(cell):
		return "has thousands separators, want digits and at most one decimal point or comma"
	case Blank(cell, true):
		return Missing
	}
	return NoNumber
}

// Decimal returns a text that two cells share if they are the same decimal number, such as 1, 1.0, +1 and 01. It
// returns false if the cell is not a number, or if it is not clear which: 1,234 may be either of two.
func Decimal(cell string) (exact string, ok bool) {
	if f, ok := parse(cell); !ok || math.Abs(f) > math.MaxFloat32 || strings.Contains(cell, ",") && grouped(cell) {
		return "", false
	}
	text, power, _ := strings.Cut(strings.ToLower(strings.Replace(cell, ",", ".", 1)), "e")
	exponent, err := strconv.Atoi(cmp.Or(power, "0"))
	if err != nil {
		return "", false
	}
	digits := strings.TrimLeft(text, "+-")
	whole, part, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+part, "0")
	exponent -= len(part)
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0", true
	}
	if strings.HasPrefix(text, "-") {
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(exponent+len(digits)-len(strings.TrimLeft(short, "-"))), true
}

// Code reports whether a text begins with a zero that a number would not have, such as 007.
func Code(cell string) bool {
	digits := strings.TrimLeft(cell, "+-")
	return len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'
}

// grouped reports whether a cell has digits in groups of three, as in 1,234 or 1.234.567,5 or 1 234.
func grouped(cell string) bool {
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	groups := strings.FieldsFunc(cell, func(r rune) bool { return !digit(r) })
	other := strings.TrimFunc(strings.TrimLeft(cell, "+-"), digit)
	strange := func(r rune) bool { return !digit(r) && !strings.ContainsRune(",.'’_", r) && !unicode.IsSpace(r) }
	return len(groups) > 1 && len(groups[0]) <= 3 && len(groups[1]) == 3 && !strings.ContainsFunc(other, strange)
}
