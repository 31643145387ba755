// Package faults collects the errors in a value, each with its location and the prefix "dpmech".
package faults

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// List collects the errors in a value.
type List []error

// Want appends an error with the given text unless ok is true.
func (f *List) Want(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf("dpmech: "+format, args...))
	}
}

// At appends each error in err, prefixed with a location (the parameter where).
func (f *List) At(where string, err error) { *f = append(*f, Within(where, err)) }

// Within prefixes each error in err with a location: "dpmech: where: error". The result wraps no error.
func Within(where string, err error) error {
	if err == nil {
		return nil
	}
	var errs []error
	for _, fault := range strings.Split(err.Error(), "\n") {
		errs = append(errs, fmt.Errorf("dpmech: %s: %s", where, strings.TrimPrefix(fault, "dpmech: ")))
	}
	return errors.Join(errs...)
}

// Text returns an error unless s is a nonempty single line of text that is safe for a terminal and has at most the
// given number of bytes.
func Text(what, s string, most int) error {
	switch {
	case s == "" || len(s) > most:
		return fmt.Errorf("dpmech: %s has %d bytes, want 1..%d", what, len(s), most)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("dpmech: %s is %q, want printable characters only", what, s)
	}
	return nil
}
