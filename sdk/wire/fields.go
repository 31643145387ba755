package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// head64 starts an unsigned integer of eight bytes. Numbers that grow from round to round have this form whatever their
// value, so that a checkpoint's size does not change with them. It is sound CBOR, if not the shortest.
const head64 = majorUint<<5 | 27

// mapWriter appends the fields of a checkpoint in the order in which it is called, leaving out those that are empty.
type mapWriter struct {
	b    []byte
	edge int   // which edge the fields are of, or -1
	err  error // vectors with numbers that are not finite
}

func (w *mapWriter) bytes(key byte, b []byte) {
	if len(b) > 0 {
		w.b = append(appendHead(append(w.b, key), majorBytes, uint64(len(b))), b...)
	}
}

func (w *mapWriter) text(key byte, s string) {
	if len(s) > 0 {
		w.b = append(appendHead(append(w.b, key), majorText, uint64(len(s))), s...)
	}
}

func (w *mapWriter) number(key byte, n uint64) {
	w.b = binary.BigEndian.AppendUint64(append(w.b, key, head64), n)
}

func (w *mapWriter) ints(key byte, v []int32) {
	if len(v) > 0 {
		dst, at := appendArray(append(w.b, key), tagInt32LE, 4*len(v))
		putInts(dst[at:], v)
		w.b = dst
	}
}

func (w *mapWriter) floats(key byte, name string, v []float32) {
	if len(v) > 0 {
		dst, at := appendArray(append(w.b, key), tagFloat32LE, 4*len(v))
		if !putFloats(dst[at:], v) {
			w.err = errors.Join(w.err, inEdge(w.edge, name, checkFinite(v)))
		}
		w.b = dst
	}
}

// mapReader reads the fields of a checkpoint in order. After the first fault it reads nothing more.
type mapReader struct {
	b    []byte // what has not been read
	edge int    // which edge the fields are of, or -1
	err  error
}

// fail notes what is wrong with a field, if nothing was wrong before.
func (r *mapReader) fail(name, format string, a ...any) {
	if r.err == nil {
		r.err = inEdge(r.edge, name, fmt.Errorf(format, a...))
	}
}

// inEdge adds to an error the name of the field, and the edge's number unless that is below 0.
func inEdge(edge int, name string, err error) error {
	if edge < 0 {
		return fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("edge %d: %s: %w", edge, name, err)
}

// at reports whether the next field has this key, which it takes.
func (r *mapReader) at(key byte) bool {
	if r.err != nil || len(r.b) == 0 || r.b[0] != key {
		return false
	}
	r.b = r.b[1:]
	return true
}

// must is at for a field that has to be there.
func (r *mapReader) must(key byte, name string) bool {
	ok := r.at(key)
	if !ok {
		r.fail(name, "found %s, wanted the key %d", describe(r.b), key)
	}
	return ok
}

// head takes the head of an item of one major type, whose argument is most or less, in its shortest form. It returns
// the argument, or 0 after a fault.
func (r *mapReader) head(name string, want byte, most uint64) uint64 {
	major, arg, rest, ok := head(r.b)
	if r.err == nil && (!ok || major != want || arg > most) {
		r.fail(name, "found %s, wanted %s of %d or less", describe(r.b), majorNames[want], most)
	}
	if r.err != nil {
		return 0
	}
	r.b = rest
	return arg
}

// majorNames are the names of major types in errors.
var majorNames = [...]string{majorUint: "an integer", majorBytes: "a byte string", majorText: "a text string",
	majorArray: "an array", majorMap: "a map", majorTag: "a tag"}

// bytes takes a byte or text string of lo..hi bytes, and returns a part of the input, or nil after a fault.
func (r *mapReader) bytes(name string, major byte, lo, hi int) []byte {
	n := r.head(name, major, uint64(hi))
	switch {
	case r.err != nil:
		return nil
	case n < uint64(lo):
		r.fail(name, "found %d bytes, wanted %d..%d", n, lo, hi)
		return nil
	case n > uint64(len(r.b)):
		r.fail(name, "found the end after %d bytes, wanted %d", len(r.b), n)
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// name takes a field with a name.
func (r *mapReader) name(s *string, key byte, field string) {
	if !r.must(key, field) {
		return
	}
	setString(s, r.bytes(field, majorText, 1, maxName))
	if !utf8.ValidString(*s) {
		r.fail(field, "found %q, wanted valid UTF-8", *s)
	}
}

// setString makes s the text in b, and allocates nothing if it is that already.
func setString(s *string, b []byte) {
	if *s != string(b) {
		*s = string(b)
	}
}

// number takes a field with an integer of eight bytes, most or less.
func (r *mapReader) number(key byte, name string, most uint64) uint64 {
	if !r.must(key, name) {
		return 0
	}
	if len(r.b) < 9 || r.b[0] != head64 {
		r.fail(name, "found %s, wanted an integer of eight bytes", describe(r.b))
		return 0
	}
	n := binary.BigEndian.Uint64(r.b[1:])
	if n > most {
		r.fail(name, "found %d, wanted at most %d", n, most)
		return 0
	}
	r.b = r.b[9:]
	return n
}

// optional is number for a field that may be absent, which then is 0, and is not 0 otherwise.
func (r *mapReader) optional(key byte, name string, most int) int {
	if r.err != nil || len(r.b) == 0 || r.b[0] != key {
		return 0
	}
	n := r.number(key, name, uint64(most))
	if r.err == nil && n == 0 {
		r.fail(name, "found 0, wanted 1..%d or no such field", most)
	}
	return int(n)
}

// blob takes a byte string of 1..most bytes that may be absent, and returns it in b's storage if there is room, or nil.
func (r *mapReader) blob(b []byte, key byte, name string, most int) []byte {
	if !r.at(key) {
		return nil
	}
	return append(b[:0], r.bytes(name, majorBytes, 1, most)...)
}

// array takes the rest of a typed array of lo..hi numbers after its key, and returns their bytes, or nil after a fault.
func (r *mapReader) array(name string, tag uint64, lo, hi int) []byte {
	if found := r.head(name, majorTag, 1<<64-1); r.err == nil && found != tag {
		r.fail(name, "found tag %d, wanted tag %d", found, tag)
	}
	b := r.bytes(name, majorBytes, 4*lo, 4*hi)
	if len(b)%4 != 0 {
		r.fail(name, "found %d bytes, wanted 4 a number", len(b))
	}
	if r.err != nil {
		return nil
	}
	return b
}

// floats takes the rest of a field of lo..hi numbers if there is one, and returns it in v's storage if there is room.
// It returns nil if there is none.
func (r *mapReader) floats(v []float32, there bool, name string, lo, hi int) []float32 {
	if !there {
		return nil
	}
	b := r.array(name, tagFloat32LE, lo, hi)
	v = room(v, len(b)/4)
	if err := getFloats(v, b); err != nil {
		r.fail(name, "%w", err)
	}
	return v
}

// ints is floats for integers, dim of them.
func (r *mapReader) ints(v []int32, there bool, name string, dim int) []int32 {
	if !there {
		return nil
	}
	b := r.array(name, tagInt32LE, dim, dim)
	v = room(v, len(b)/4)
	getInts(v, b)
	return v
}

// count compares the pairs that the head of a map tells of with the fields that were read.
func (r *mapReader) count(told, read uint64) {
	if told != read {
		r.fail("map", "found %d pairs in its head, wanted the %d that follow", told, read)
	}
}
