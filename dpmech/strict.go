package dpmech

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// decodeJSON reads exactly one JSON value without unknown fields into v.
func decodeJSON(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("dpmech: more than one JSON value")
	}
	return nil
}

// sameNames reports every field of the valid JSON value a that is there twice or not in the valid JSON value b, and
// every field of b that a lacks. Package json itself accepts repeated and missing fields, and names in any letter case.
func sameNames(a, b []byte) error {
	have, want := fieldNames(a), fieldNames(b)
	var f faults
	for i, name := range have {
		_, known := slices.BinarySearch(want, name)
		again := i > 0 && name == have[i-1]
		f.want(!again, "field %s is there twice", name)
		f.want(known || again, "unknown field %s", name)
	}
	for _, name := range want {
		_, there := slices.BinarySearch(have, name)
		f.want(there, "field %s is missing", name)
	}
	return errors.Join(f...)
}

// fieldNames returns the sorted names of all fields of a valid JSON value, as often as they occur. Nested fields are
// "outer.inner" and "list[2].inner".
func fieldNames(data []byte) []string {
	var names []string
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value func(path string)
	value = func(path string) {
		tok, err := dec.Token()
		delim, _ := tok.(json.Delim)
		for i := 0; err == nil && delim != 0 && dec.More(); i++ {
			if delim == '[' {
				value(fmt.Sprintf("%s[%d]", path, i))
				continue
			}
			var key json.Token
			if key, err = dec.Token(); err == nil {
				name := fmt.Sprint(key)
				if path != "" {
					name = path + "." + name
				}
				names = append(names, name)
				value(name)
			}
		}
		if delim != 0 {
			_, _ = dec.Token() // the closing bracket
		}
	}
	value("")
	slices.Sort(names)
	return names
}

// faults are what is wrong with a value.
type faults []error

// want adds a fault unless ok.
func (f *faults) want(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf("dpmech: "+format, args...))
	}
}

// at adds the faults in err, if there are any, with their place.
func (f *faults) at(where string, err error) { *f = append(*f, within(where, err)) }

// within says of every fault in err where it is: "dpmech: where: fault".
func within(where string, err error) error {
	if err == nil {
		return nil
	}
	var errs []error
	for _, fault := range strings.Split(err.Error(), "\n") {
		errs = append(errs, fmt.Errorf("dpmech: %s: %s", where, strings.TrimPrefix(fault, "dpmech: ")))
	}
	return errors.Join(errs...)
}

// validName reports why s cannot stand for a run, a member or a data set in a file that people read.
func validName(what, s string) error { return validText(what, s, 200) }

// validText reports why s is not 1 to most bytes of text on one line, safe to show on a terminal.
func validText(what, s string, most int) error {
	switch {
	case s == "" || len(s) > most:
		return fmt.Errorf("dpmech: %s has %d bytes, want 1..%d", what, len(s), most)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("dpmech: %s is %q, want printable characters only", what, s)
	}
	return nil
}

// validHex reports why s is not size bytes in lower-case hexadecimal digits.
func validHex(what, s string, size int) error {
	if b, err := hex.DecodeString(s); err != nil || len(b) != size || hex.EncodeToString(b) != s {
		return fmt.Errorf("dpmech: %s is %q, want %d hexadecimal digits", what, s, 2*size)
	}
	return nil
}

// validTime reports why s is not a time in the form of RFC 3339.
func validTime(what, s string) error {
	if _, err := time.Parse(time.RFC3339, s); err != nil {
		return fmt.Errorf("dpmech: %s is %q, want a time such as 2006-01-02T15:04:05Z", what, s)
	}
	return nil
}
