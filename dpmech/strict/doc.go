// Package strict reads JSON so that a text has one meaning.
package strict

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
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
