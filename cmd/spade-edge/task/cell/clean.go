package cell

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Clean returns the form in which texts are compared: without spaces around it and without characters of no width, and
// with each letter and its accents as one character (Unicode's form NFC, for Latin, Greek and Cyrillic letters). It
// leaves text that is not valid UTF-8 as it is, except for spaces around it.
func Clean(s string) string {
	s = strings.TrimSpace(s)
	if isASCII(s) || !utf8.ValidString(s) {
		return s
	}
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, s))
	if strings.ContainsFunc(s, func(r rune) bool {
		return unicode.Is(unicode.Mn, r) || letters().apart[r][1] == 0 && letters().apart[r][0] > 0
	}) {
		return compose(s)
	}
	return s
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hidden reports whether a character has no width and no meaning of its own: joiners, marks of direction and byte order.
func hidden(r rune) bool {
	return r == 0xad || r == 0x61c || r == 0x180e || r == 0xfeff || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x2064 ||
		r >= 0x2066 && r <= 0x2069
}

// tables has the letters of the generated table by their parts.
type tables struct {
	class    map[rune]int     // of each combining mark
	together map[[2]rune]rune // a letter and a mark
	apart    map[rune][2]rune // the letter and the mark of a letter, or one other letter
}

var letters = sync.OnceValue(func() tables {
	t := tables{map[rune]int{}, map[[2]rune]rune{}, map[rune][2]rune{}}
	for pair := range slices.Chunk([]rune(singles), 2) {
		t.apart[pair[0]] = [2]rune{pair[1]}
	}
	for _, m := range marks {
		t.class[m.mark] = m.class
		for pair := range slices.Chunk([]rune(m.letters), 2) {
			t.together[[2]rune{pair[0], m.mark}], t.apart[pair[1]] = pair[1], [2]rune{pair[0], m.mark}
		}
	}
	return t
})

// compose takes each letter apart, puts its marks in canonical order and joins what forms one letter.
func compose(s string) string {
	t := letters()
	var parts []rune
	var take func(r rune)
	take = func(r rune) {
		if of, ok := t.apart[r]; ok {
			take(of[0])
			if r = of[1]; r == 0 {
				return
			}
		}
		parts = append(parts, r)
	}
	for _, r := range s {
		take(r)
	}
	var out []rune
	for len(parts) > 0 {
		n := 1
		for n < len(parts) && t.class[parts[n]] > 0 {
			n++
		}
		marks := parts[1:n]
		slices.SortStableFunc(marks, func(a, b rune) int { return cmp.Compare(t.class[a], t.class[b]) })
		letter, left := parts[0], []rune(nil)
		for _, m := range marks {
			blocked := len(left) > 0 && t.class[left[len(left)-1]] == t.class[m]
			if whole, ok := t.together[[2]rune{letter, m}]; ok && !blocked {
				letter = whole
			} else {
				left = append(left, m)
			}
		}
		out, parts = append(append(out, letter), left...), parts[n:]
	}
	return string(out)
}

// Apart names the first combining mark in a text that is not part of a letter, or returns "".
func Apart(s string) string {
	for _, r := range s {
		if unicode.Is(unicode.Mn, r) {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}

// Near returns a form that texts share which differ only in case, spaces or dots at the end.
func Near(s string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.FieldsFunc(s, unicode.IsSpace), " ")), " .")
}
