package fleetfile

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
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

// readLimited reads a regular file of at most limit bytes. want says what kind of file it should be.
func readLimited(path string, limit int64, want string) ([]byte, error) {
	info, err := os.Stat(path) // before opening: a pipe would wait for a writer
	if err != nil {
		return nil, fmt.Errorf("fleetfile: %s: %w", want, err)
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("fleetfile: %s is a %s of %d bytes, want %s of at most %d",
			path, kindOf(info.Mode()), info.Size(), want, limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("fleetfile: %s: %w", want, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	if err != nil {
		return nil, fmt.Errorf("fleetfile: %s: %w", path, err)
	}
	return data, nil
}

func kindOf(mode os.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "folder"
	}
	return "special file"
}

// reader collects the faults of one file. Reading goes on after a fault, with a valid value in place of the wrong one.
type reader struct {
	name string // of the file, or empty
	errs []error
	more int // faults beyond maxFaults
}

func (r *reader) fault(format string, args ...any) {
	if len(r.errs) == maxFaults {
		r.more++
		return
	}
	r.errs = append(r.errs, fmt.Errorf("fleetfile: %s%w", r.prefix(), fmt.Errorf(format, args...)))
}

func (r *reader) prefix() string {
	if r.name == "" {
		return ""
	}
	return r.name + ": "
}

// err returns all faults, or nil.
func (r *reader) err() error {
	if r.more > 0 {
		return errors.Join(append(r.errs, fmt.Errorf("fleetfile: %sand %d faults more", r.prefix(), r.more))...)
	}
	return errors.Join(r.errs...)
}

// include adds the faults that another package has found, each on its own.
func (r *reader) include(prefix string, err error) {
	if err == nil {
		return
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range all.Unwrap() {
			r.include(prefix, e)
		}
		return
	}
	r.fault("%s%w", prefix, err)
}

// begin returns the object that a file is, if it has a version that can be read; otherwise nil and the faults.
func (r *reader) begin(data []byte, want string) *object {
	if doc := r.document(data); r.errs == nil {
		if o, ok := doc.object(want); ok && o.version() {
			return o
		}
	}
	return nil
}

// document checks that data is one JSON value and nothing else, and returns it.
func (r *reader) document(data []byte) value {
	v := value{r: r, needed: true}
	if len(data) > maxFile {
		r.fault("the file has %d bytes, want at most %d", len(data), maxFile)
		return v
	}
	if !utf8.Valid(data) {
		r.fault("the file is not valid UTF-8")
		return v
	}
	if err := json.Unmarshal(data, &v.raw); err != nil {
		at := len(data)
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			at = min(int(syntax.Offset), len(data))
		}
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		r.fault("line %d, column %d: %w", line, at-1-bytes.LastIndexByte(data[:at], '\n'), err)
	}
	return v
}

// value is one place in a file.
type value struct {
	r      *reader
	parent *value
	key    string // within parent, or
	index  int    // if key is empty
	raw    json.RawMessage
	needed bool // it is a fault if it is not there
}

// at returns the place as it is written in messages: method.eta[3].
func (v value) at() string {
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

// present reports whether there is anything at this place.
func (v value) present() bool { return v.raw != nil }

// kind returns the first byte of the value, which determines its type; 0 if there is none.
func (v value) kind() byte {
	if len(v.raw) == 0 {
		return 0
	}
	return v.raw[0]
}

// found describes the value for a message.
func (v value) found() string {
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
func (v value) wrong(want string) {
	if v.present() || v.needed {
		v.r.fault("%s is %s, want %s", v.at(), v.found(), want)
	}
}

// decoder returns a decoder that has read the opening bracket. The file is known to be well formed, so it does not
// fail.
func (v value) decoder() *json.Decoder {
	dec := json.NewDecoder(bytes.NewReader(v.raw))
	_, _ = dec.Token()
	return dec
}

// object is a value's fields.
type object struct {
	value
	fields map[string]json.RawMessage
	known  []string
}

// object reads the value's fields. If it is no object, ok is false, and all fields are missing without further faults.
func (v value) object(want string) (o *object, ok bool) {
	o = &object{value: v, fields: map[string]json.RawMessage{}}
	if v.kind() != '{' {
		v.wrong(want)
		return o, false
	}
	for dec := v.decoder(); dec.More(); {
		token, _ := dec.Token()
		key, _ := token.(string)
		var raw json.RawMessage
		_ = dec.Decode(&raw)
		if _, twice := o.fields[key]; twice {
			v.r.fault("%s is there twice", value{parent: &v, key: shortKey(key)}.at())
		}
		o.fields[key] = raw
	}
	return o, true
}

// shortKey makes an unknown name fit for a message.
func shortKey(key string) string {
	plain := strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
	if plain && key != "" && len(key) <= maxShown {
		return key
	}
	return strconv.Quote(key[:min(len(key), maxShown)])
}

// need returns a required field, and may an optional one. All other fields are unknown.
func (o *object) need(key string) value {
	v := o.may(key)
	v.needed = true
	return v
}

func (o *object) may(key string) value {
	o.known = append(o.known, key)
	return value{r: o.r, parent: &o.value, key: key, raw: o.fields[key]}
}

// close reports the unknown fields.
func (o *object) close() {
	var unknown []string
	for key := range o.fields {
		if !slices.Contains(o.known, key) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	for _, key := range unknown {
		place := value{parent: &o.value, key: shortKey(key)}.at()
		o.r.fault("%s is unknown, want only %s", place, strings.Join(o.known, ", "))
	}
}

// elements goes through the value's elements. If it is no array there are none, and ok is false.
func (v value) elements(want string) (all iter.Seq[value], ok bool) {
	if v.kind() != '[' {
		v.wrong(want)
		return func(func(value) bool) {}, false
	}
	return func(yield func(value) bool) {
		for dec, i := v.decoder(), 0; dec.More(); i++ {
			var raw json.RawMessage
			_ = dec.Decode(&raw)
			if !yield(value{r: v.r, parent: &v, index: i, raw: raw, needed: true}) {
				return
			}
		}
	}, true
}

// text reads a string that ok accepts.
func (v value) text(want string, ok func(string) bool) (string, bool) {
	var s string
	if v.kind() != '"' || json.Unmarshal(v.raw, &s) != nil || !ok(s) {
		v.wrong(want)
		return "", false
	}
	return s, true
}

// choice reads one of the given strings; empty if it is not there.
func (v value) choice(options ...string) string {
	last := len(options) - 1
	want := strings.Join(options[:last], ", ") + " or " + options[last]
	if last == 0 {
		want = options[0]
	}
	s, _ := v.text(want, func(s string) bool { return slices.Contains(options, s) })
	return s
}

// setting reads one of the options, which are the names of to's values, into to. It leaves to alone if the value is not there.
func (v value) setting(to encoding.TextUnmarshaler, options ...string) {
	if name := v.choice(options...); name != "" {
		_ = to.UnmarshalText([]byte(name)) // it is one of the options
	}
}

// texts reads an array of strings that ok accepts; nil if it is missing or empty.
func (v value) texts(want string, ok func(string) bool) []string {
	var list []string
	all, _ := v.elements("an array of strings, each " + want)
	for e := range all {
		if s, ok := e.text(want, ok); ok {
			list = append(list, s)
		}
	}
	return list
}

// integer reads a whole number of lo..hi, and returns otherwise if it is missing or wrong.
func (v value) integer(lo, hi, otherwise int) int {
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil || n < int64(lo) || n > int64(hi) {
		v.wrong(fmt.Sprintf("a whole number, %d..%d", lo, hi))
		return otherwise
	}
	return int(n)
}

// number reads a number that ok accepts, and reports whether it has.
func (v value) number(want string, ok func(float64) bool) (float64, bool) {
	x, err := strconv.ParseFloat(string(v.raw), 64)
	if k := v.kind(); k != '-' && !(k >= '0' && k <= '9') || err != nil || !ok(x) {
		v.wrong(want)
		return 0, false
	}
	return x, true
}

// Conditions on numbers and text.
func positive(x float64) bool { return x > 0 }
func share(x float64) bool    { return x > 0 && x < 1 }
func anything[T any](T) bool  { return true }
func trimmed(s string) bool   { return s == strings.TrimSpace(s) }

func within(lo, hi float64) func(float64) bool {
	return func(x float64) bool { return x >= lo && x <= hi }
}

// boolean reads true or false; false if it is not there.
func (v value) boolean() bool {
	switch string(v.raw) {
	case "true":
		return true
	case "false":
	default:
		v.wrong("true or false")
	}
	return false
}
