package cell

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Names finds the name of a category, or of a class, that a cell means. The zero value has no names. Names is not safe
// for concurrent use.
type Names struct {
	List []string // the names, in the order of their numbers

	number map[string]int // number of each name, by its clean text
	like   map[string]int // number of the one name with a key, see keys; -1 if several have it
	fold   bool           // upper and lower case are one name unless the list has both
	codes  bool           // a number that begins with zeros, such as 007, is a code and equals no other number
}

// NewNames returns a list that begins with the known names. If fold is true, texts that differ only in case are one name
// unless both are known. Zeros at the beginning of a number belong to a code if no names are known, or if the known
// numbers have such zeros and are equally long.
func NewNames(known []string, fold bool) *Names {
	n := &Names{number: make(map[string]int), like: make(map[string]int), fold: fold}
	numbers := slices.DeleteFunc(slices.Clone(known), func(v string) bool { _, ok := Decimal(v); return !ok })
	n.codes = known == nil || slices.ContainsFunc(numbers, Code) &&
		!slices.ContainsFunc(numbers, func(v string) bool { return len(v) != len(numbers[0]) })
	for _, v := range known {
		n.Add(v)
	}
	return n
}

// Add adds a name and returns its number.
func (n *Names) Add(name string) int {
	at := len(n.List)
	n.List = append(n.List, name)
	n.number[Clean(name)] = at
	for _, key := range n.keys(Clean(name)) {
		if _, taken := n.like[key]; taken {
			n.like[key] = -1
		} else {
			n.like[key] = at
		}
	}
	return at
}

// keys returns what a text has in common with other texts for the same name: its lower-case form and its number.
func (n *Names) keys(text string) (keys []string) {
	if n.fold {
		keys = append(keys, "text "+strings.ToLower(text))
	}
	if number, ok := Decimal(text); ok && !(n.codes && Code(text)) {
		keys = append(keys, "number "+number)
	}
	return keys
}

// Find returns the number of the name with the text of a clean cell. If no name has this text, it returns the number of
// the only name that is the same number or differs from the text in case alone.
func (n *Names) Find(cell string) (number int, ok bool) {
	if number, ok = n.number[cell]; ok {
		return number, true
	}
	for _, key := range n.keys(cell) {
		if number, ok = n.like[key]; ok && number >= 0 {
			return number, true
		}
	}
	return -1, false
}

// Alike says so if names of persons differ only in case, spaces, dots or in how a number is written, such as 007 and 7;
// else it returns "". A person without a name is a line break and a number.
func Alike(persons map[string]int) string {
	first, n, example := map[string]string{}, 0, ""
	for _, name := range slices.Sorted(maps.Keys(persons)) {
		key := Near(name)
		if number, ok := Decimal(name); ok {
			key = number
		}
		if other, seen := first[key]; seen && name[0] != '\n' {
			n, example = n+1, fmt.Sprintf("%.40q and %.40q", other, name)
		} else if name[0] != '\n' {
			first[key] = name
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d names of persons may be other spellings of names in the file, such as %s: each counts as a person of its own, and "+
		"rows under different names are not protected together", n, example)
}

// Hint says which name an unknown cell nearly equals, and which of its characters may be the reason. It is empty or
// begins with a semicolon.
func (n *Names) Hint(cell string) (hint string) {
	for _, v := range n.List {
		if Near(v) == Near(cell) {
			hint = fmt.Sprintf("; it nearly equals %.80q", v)
		}
	}
	if !utf8.ValidString(cell) {
		return "; it is not in UTF-8: save the file as CSV (UTF-8)"
	}
	if mark := Apart(cell); mark != "" {
		hint += "; it has the combining mark " + mark
	}
	return hint
}
