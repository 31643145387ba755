package fleetfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits on what a file may cost its reader.
const (
	maxFile   = 16 << 20 // bytes of a file
	maxFaults = 50       // faults told in full; the rest is counted
	maxShown  = 60       // bytes of a value in a message
)

// codec reads or writes one file. Each format is described once, by functions that name every field, with the values
// that it may have and the place in memory that holds it, and the same functions serve both directions. Reading goes on
// after a fault and leaves memory as it was, which is why that holds valid values at the start. Writing checks nothing:
// what was written is read again.
type codec struct {
	name  string // of the file, or empty
	limit int    // bytes of the file, or 0 for maxFile
	errs  []error
	more  int // faults beyond maxFaults

	writing bool
	out     bytes.Buffer
	indent  string
	filled  bool // the open object or array has something in it
}

func (c *codec) fault(format string, args ...any) {
	if len(c.errs) == maxFaults {
		c.more++
		return
	}
	c.errs = append(c.errs, fmt.Errorf("fleetfile: %s%w", c.prefix(), fmt.Errorf(format, args...)))
}

// faults returns how many faults there are so far.
func (c *codec) faults() int { return len(c.errs) + c.more }

func (c *codec) prefix() string {
	if c.name != "" {
		return c.name + ": "
	}
	return ""
}

// err returns all faults, or nil.
func (c *codec) err() error {
	if c.more > 0 {
		return errors.Join(append(c.errs, fmt.Errorf("fleetfile: %sand %d faults more", c.prefix(), c.more))...)
	}
	return errors.Join(c.errs...)
}

// include adds the faults that another package has found, each on its own.
func (c *codec) include(prefix string, err error) {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range all.Unwrap() {
			c.include(prefix, e)
		}
	} else if err != nil {
		c.fault("%s%w", prefix, err)
	}
}

// read checks that data is one JSON value and nothing else, and gives it to schema.
func (c *codec) read(data []byte, schema func(v *value)) error {
	v := &value{c: c, needed: true}
	if limit := cmp.Or(c.limit, maxFile); len(data) > limit {
		c.fault("the file has %d bytes, want at most %d", len(data), limit)
	} else if !utf8.Valid(data) {
		c.fault("the file is not valid UTF-8")
	} else if err := json.Unmarshal(data, &v.raw); err != nil {
		at := len(data)
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			at = min(int(syntax.Offset), len(data))
		}
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		c.fault("line %d, column %d: %w", line, at-1-bytes.LastIndexByte(data[:at], '\n'), err)
	} else {
		schema(v)
	}
	return c.err()
}

// write returns the text that schema writes.
func (c *codec) write(schema func(v *value)) ([]byte, error) {
	c.writing = true
	schema(&value{c: c, needed: true})
	c.out.WriteByte('\n')
	return c.out.Bytes(), c.err()
}

// json writes a value.
func (c *codec) json(x any) {
	enc := json.NewEncoder(&c.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		c.fault("%w", err) // a number without a JSON form
	} else {
		c.out.Truncate(c.out.Len() - 1) // the end of the line
	}
}

// value is one place in a file.
type value struct {
	c      *codec
	parent *value
	key    string // within parent, or
	index  int    // if key is empty
	needed bool   // it is a fault if it is not there
	inline bool   // its fields or elements are written into one line

	raw   json.RawMessage // when reading
	shown bool            // when writing: it is written even if it is the zero value
}

// at returns the place as it is written in messages: method.eta[3].
func (v *value) at() string {
	switch {
	case v.parent == nil:
		return "the file"
	case v.key == "":
		return v.parent.at() + "[" + strconv.Itoa(v.index) + "]"
	case v.parent.parent == nil:
		return v.key
	}
	return v.parent.at() + "." + v.key
}

// present reports whether there is anything at this place of a file that is read.
func (v *value) present() bool { return v.raw != nil }

// kind returns the first byte of the value, which determines its type; 0 if there is none.
func (v *value) kind() byte {
	if v.present() {
		return v.raw[0]
	}
	return 0
}

// found describes the value for a message.
func (v *value) found() string {
	switch {
	case !v.present():
		return "missing"
	case v.kind() == '{':
		return "an object"
	case v.kind() == '[':
		return "an array"
	case len(v.raw) > maxShown:
		return strings.ToValidUTF8(string(v.raw[:maxShown]), "") + "..."
	}
	return string(v.raw)
}

// wrong reports a fault: something else was wanted here. An optional value that is missing is not wrong.
func (v *value) wrong(want string) {
	if v.present() || v.needed {
		v.c.fault("%s is %s, want %s", v.at(), v.found(), want)
	}
}

// begin writes what stands before a value: a comma, the space or the new line, and its name.
func (v *value) begin() {
	if v.parent == nil {
		return
	}
	c := v.c
	if c.filled {
		c.out.WriteByte(',')
	}
	if !v.parent.inline {
		c.out.WriteString("\n" + c.indent)
	} else if c.filled {
		c.out.WriteByte(' ')
	}
	if v.key != "" {
		c.json(v.key)
		c.out.WriteString(": ")
	}
	c.filled = true
}

// nest writes an object or array with the content that fill writes.
func (v *value) nest(brackets string, fill func()) {
	v.begin()
	c, indent := v.c, v.c.indent
	c.out.WriteByte(brackets[0])
	if c.filled = false; !v.inline {
		c.indent += "  "
	}
	fill()
	if c.indent = indent; c.filled && !v.inline {
		c.out.WriteString("\n" + indent)
	}
	c.out.WriteByte(brackets[1])
	c.filled = true
}

// put writes x if the file is written, and reports whether it is.
func put[T comparable](v *value, x T) bool {
	if zero := *new(T); v.c.writing && (v.needed || v.shown || x != zero) {
		v.begin()
		v.c.json(x)
	}
	return v.c.writing
}

// decoder returns a decoder that has read the opening bracket. The file is known to be well formed, so it does not
// fail.
func (v *value) decoder() *json.Decoder {
	dec := json.NewDecoder(bytes.NewReader(v.raw))
	_, _ = dec.Token()
	return dec
}

// object is a value's fields.
type object struct {
	*value
	fields map[string]json.RawMessage // those that nobody has asked for
	known  []string
}

// object reads or writes an object whose fields schema names. It reports whether it is one.
func (v *value) object(want string, schema func(o *object)) bool {
	o := &object{value: v, fields: map[string]json.RawMessage{}}
	if v.c.writing {
		v.nest("{}", func() { schema(o) })
		return true
	}
	if v.kind() != '{' {
		v.wrong(want)
		return false
	}
	for dec := v.decoder(); dec.More(); {
		token, _ := dec.Token()
		key, _ := token.(string)
		var raw json.RawMessage
		_ = dec.Decode(&raw)
		if _, twice := o.fields[key]; twice {
			v.c.fault("%s is there twice", v.field(key))
		}
		o.fields[key] = raw
	}
	schema(o)
	for _, key := range slices.Sorted(maps.Keys(o.fields)) {
		v.c.fault("%s is unknown, want only %s", v.field(key), strings.Join(o.known, ", "))
	}
	return true
}

// optional is object for a field that is written only if there is one. It reports whether one has been read.
func (v *value) optional(want string, there bool, schema func(o *object)) bool {
	if v.c.writing && !there {
		return false
	}
	return v.object(want, schema) && !v.c.writing
}

// field returns the place of a field that may be unknown, fit for a message.
func (v *value) field(key string) string {
	if plain := strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""; !plain || key == "" || len(key) > maxShown {
		key = strconv.Quote(key[:min(len(key), maxShown)])
	}
	return (&value{parent: v, key: key}).at()
}

// may returns an optional field, which is left out if it has the zero value. Fields that nobody asks for are unknown.
func (o *object) may(key string) *value {
	o.known = append(o.known, key)
	v := &value{c: o.c, parent: o.value, key: key, raw: o.fields[key]}
	delete(o.fields, key)
	return v
}

// need returns a required field.
func (o *object) need(key string) *value {
	v := o.may(key)
	v.needed = true
	return v
}

// show returns an optional field that is always written.
func (o *object) show(key string) *value {
	v := o.may(key)
	v.shown = true
	return v
}

// absent reports a fault for each of the fields that is there.
func absent(why string, fields ...*value) {
	for _, v := range fields {
		if v.present() {
			v.wrong("it left out: " + why)
		}
	}
}

// version checks the file's version. It reports whether the rest can be read.
func (o *object) version() bool {
	v := o.need("version")
	if put(v, version) || string(v.raw) == strconv.Itoa(version) {
		return true
	}
	v.wrong(fmt.Sprintf("%d, the version that this program reads", version))
	if v.present() {
		clear(o.fields)
	}
	return !v.present()
}

// array reads an array, or writes one, each item as item does, which may keep an item out of the array. count is how
// many there are in the file, and whole is whether it is an array of which all were kept.
func array[T any](v *value, want string, to *[]T, item func(e *value, x *T) bool) (count int, whole bool) {
	if v.c.writing {
		return v.elements(want, len(*to), func(e *value) bool { return item(e, &(*to)[e.index]) })
	}
	*to = nil
	return v.elements(want, 0, func(e *value) bool {
		var x T
		if !item(e, &x) {
			return false
		}
		*to = append(*to, x)
		return true
	})
}

// elements is array with n items to write.
func (v *value) elements(want string, n int, item func(e *value) bool) (count int, whole bool) {
	whole = true
	next := func(raw json.RawMessage) {
		e := &value{c: v.c, parent: v, index: count, raw: raw, needed: true, inline: true}
		whole = item(e) && whole
		count++
	}
	switch {
	case v.c.writing && (n > 0 || v.needed):
		v.nest("[]", func() {
			for count < n {
				next(nil)
			}
		})
	case v.c.writing:
	case v.kind() != '[':
		v.wrong(want)
		return 0, false
	default:
		for dec := v.decoder(); dec.More(); {
			var raw json.RawMessage
			_ = dec.Decode(&raw)
			next(raw)
		}
	}
	return count, whole
}
