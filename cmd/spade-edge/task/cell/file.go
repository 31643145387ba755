package cell

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Foreign says what the first bytes of a file show if it is not a text file in UTF-8, and what to do; else it returns "".
func Foreign(start []byte) string {
	has := func(prefix string) bool { return bytes.HasPrefix(start, []byte(prefix)) }
	begin, zero := start[:min(len(start), 64)], bytes.IndexByte(start, 0)
	switch {
	case has("PK\x03\x04") || has("\xd0\xcf\x11\xe0"):
		return "is a spreadsheet or an archive, want a text file: save it as CSV (UTF-8)"
	case has("\x1f\x8b"):
		return "is compressed, want a text file: unpack it with gunzip"
	case has("\xff\xfe") || has("\xfe\xff") || 3*bytes.Count(begin, []byte{0}) > len(begin):
		return "is UTF-16 or not text, want UTF-8: save it as CSV (UTF-8)"
	case zero >= 0:
		line := 1 + bytes.Count(start[:zero], []byte("\n"))
		return fmt.Sprintf("has a zero byte in line %d, so it is damaged or not text: export it again as CSV (UTF-8)", line)
	case bytes.IndexByte(start, '\r') >= 0 && bytes.IndexByte(start, '\n') < 0:
		return "ends its lines with CR alone, want LF or CR LF: save it again as CSV (UTF-8)"
	}
	return ""
}

// Headless says so if the first line of a file has a single cell or if most names of columns are numbers, except numbers
// that count the columns; else it returns "".
func Headless(names []string) string {
	if len(names) == 1 {
		return "the first line has a single cell: remove a title or a comment above the header line, and separate cells by comma, semicolon, tab or |"
	}
	numbers, counted, first := 0, 0, ""
	for i, name := range names {
		if _, ok := Decimal(name); ok {
			numbers, first = numbers+1, cmp.Or(first, name)
		}
		if name == strconv.Itoa(i) || name == strconv.Itoa(i+1) {
			counted++
		}
	}
	if 2*numbers <= len(names) || counted == numbers {
		return ""
	}
	return fmt.Sprintf("%d of %d names of columns are numbers, such as %.40q: the first line looks like a sample, so the file may lack a header "+
		"line with names", numbers, len(names), first)
}

// Summary says so if the first cell of a file's last row is a word with which programs begin a row that summarizes the
// others; else it returns "".
func Summary(cell string) string {
	words := strings.Fields("total totals sum sums count mean average avg median summe gesamt mittelwert durchschnitt somme moyenne suma media")
	if !slices.Contains(words, strings.TrimPrefix(strings.TrimRight(strings.ToLower(Clean(cell)), ":"), "grand ")) {
		return ""
	}
	return fmt.Sprintf("the last row begins with %.40q, as a row of sums or means does, which is no sample", cell)
}

// Sort sorts distinct values as numbers if all are finite numbers, and as strings otherwise.
func Sort(values []string) {
	number := make(map[string]float64, len(values))
	for _, v := range values {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			slices.Sort(values)
			return
		}
		number[v] = f
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(number[a], number[b]), cmp.Compare(a, b)) })
}
