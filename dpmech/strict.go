package dpmech

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ReadJSON decodes exactly one JSON value in UTF-8 into v. Unlike [json.Unmarshal], it rejects unknown and duplicate
// fields, field names with capital letters, and data after the value.
func ReadJSON(data []byte, v any) error {
	if !utf8.Valid(data) {
		return errors.New("not valid UTF-8")
	}
	if !json.Valid(data) {
		err := json.Unmarshal(data, new(any))
		at := len(data)
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			at = min(int(syntax.Offset), len(data))
		}
		column := at - 1 - bytes.LastIndexByte(data[:at], '\n')
		if !bytes.Contains(data, []byte("\n")) { // if data has several lines, the caller adds the line number
			return fmt.Errorf("column %d: %w", column, err)
		}
		return fmt.Errorf("line %d, column %d: %w", 1+bytes.Count(data[:at], []byte("\n")), column, err)
	}
	if err := uniqueNames(data); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("%s: found %s, want %s", jsonPlace(wrong.Field), wrong.Value, jsonWords(wrong.Type.Kind()))
	}
	if err != nil {
		if text, ok := strings.CutPrefix(err.Error(), "json: "); ok {
			return errors.New(text)
		}
	}
	return err
}

// jsonPlace returns the path of a field without the names of embedded types.
func jsonPlace(field string) string {
	names := slices.DeleteFunc(strings.Split(field, "."), func(name string) bool {
		return strings.ContainsFunc(name, unicode.IsUpper)
	})
	return cmp.Or(strings.Join(names, "."), "the file")
}

// jsonWords describes the JSON values that can be decoded into a Go kind.
func jsonWords(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// uniqueNames returns an error if an object, at any depth of a valid JSON value, has a duplicate field or a field name
// with characters other than a-z, 0-9 and _. The latter are rejected because encoding/json ignores case.
func uniqueNames(data []byte) error {
	var open []map[string]bool // the names so far of each enclosing object; nil for an array
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{':
			open = append(open, map[string]bool{})
		case '[':
			open = append(open, nil)
		case '}', ']':
			open = open[:len(open)-1]
		case '"':
			start := i
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			after := bytes.TrimLeft(data[i+1:], " \t\r\n")
			if len(after) == 0 || after[0] != ':' {
				continue // a value, not a name
			}
			name, known := string(data[start+1:i]), open[len(open)-1]
			if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
				return fmt.Errorf("unknown field %.64q, want a name of lower-case letters, digits and underscores", name)
			}
			if known[name] {
				return fmt.Errorf("field %s is given twice", name)
			}
			known[name] = true
		}
	}
	return nil
}

// sameNames compares the field names in two decoded JSON values and reports each field that only one of them has. path
// is the location of both values in the file; it is empty for the whole file.
func (f *faults) sameNames(path string, have, want any) {
	switch want := want.(type) {
	case []any:
		list, _ := have.([]any)
		for i := range min(len(list), len(want)) {
			f.sameNames(fmt.Sprintf("%s[%d].", strings.TrimSuffix(path, "."), i), list[i], want[i])
		}
	case map[string]any:
		fields, _ := have.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			_, there := fields[name]
			f.want(there, "field %s%s is missing", path, name)
			if there {
				f.sameNames(path+name+".", fields[name], want[name])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			_, known := want[name]
			f.want(known, "unknown field %s%s", path, name)
		}
	}
}

// faults collects the errors in a value.
type faults []error

func (f *faults) want(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf("dpmech: "+format, args...))
	}
}

// at appends each error in err, prefixed with a location (the parameter where).
func (f *faults) at(where string, err error) { *f = append(*f, within(where, err)) }

// within prefixes each error in err with a location: "dpmech: where: error".
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

// names has the name of a type, followed by the names of its values 0, 1, ...
type names []string

// of returns the name of a value. If the value has no name, it returns the name of the type and the number.
func (n names) of(value int) string {
	if value < 0 || value >= len(n)-1 {
		return fmt.Sprintf("%s(%d)", n[0], value)
	}
	return n[value+1]
}

func (n names) text(value int) ([]byte, error) {
	name := []byte(n.of(value))
	return name, n.parse(&value, name)
}

// parse sets *value to the number of the given name; an empty name means 0.
func (n names) parse(value *int, name []byte) error {
	i := slices.Index(n[1:], cmp.Or(string(name), n[1]))
	if i < 0 {
		last := len(n) - 1
		return fmt.Errorf("dpmech: %s is %q, want %s or %s", strings.ToLower(n[0]), name, strings.Join(n[1:last], ", "), n[last])
	}
	*value = i
	return nil
}

// validName returns an error if s is not a valid name for a run, a member or a data set.
func validName(what, s string) error { return validText(what, s, 200) }

// validText returns an error unless s is a nonempty single line of text that is safe for a terminal and has at most the
// given number of bytes.
func validText(what, s string, most int) error {
	switch {
	case s == "" || len(s) > most:
		return fmt.Errorf("dpmech: %s has %d bytes, want 1..%d", what, len(s), most)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("dpmech: %s is %q, want printable characters only", what, s)
	}
	return nil
}

func validHex(what, s string, size int) error {
	if b, err := hex.DecodeString(s); err != nil || len(b) != size || hex.EncodeToString(b) != s {
		return fmt.Errorf("dpmech: %s is %q, want %d hexadecimal digits", what, s, 2*size)
	}
	return nil
}

func validTime(what, s string) error {
	if _, err := time.Parse(time.RFC3339, s); err != nil {
		return fmt.Errorf("dpmech: %s is %q, want a time such as 2006-01-02T15:04:05Z", what, s)
	}
	return nil
}
