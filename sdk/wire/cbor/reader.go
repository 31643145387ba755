package cbor

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// Reader reads the fields of a map from B in the order in which it is called. After the first fault, which Err says, it
// reads nothing more and returns zero values.
type Reader struct {
	B   []byte // what has not been read
	Err error
}

// Fail notes what is wrong with a field, if nothing was wrong before.
func (r *Reader) Fail(name, format string, a ...any) {
	if r.Err == nil {
		r.Err = fmt.Errorf("%s: %w", name, fmt.Errorf(format, a...))
	}
}

// Map begins a map of at most so many pairs and returns their number.
func (r *Reader) Map(name string, most int) int { return int(r.head(name, majorMap, uint64(most))) }

// Array begins an array of at most so many items and returns their number.
func (r *Reader) Array(name string, most int) int { return int(r.head(name, majorArray, uint64(most))) }

// Uint reads an integer in its shortest form.
func (r *Reader) Uint(name string) uint64 { return r.head(name, majorUint, 1<<64-1) }

// At reports whether the next field has this key, which it takes.
func (r *Reader) At(key byte) bool {
	if r.Err != nil || len(r.B) == 0 || r.B[0] != key {
		return false
	}
	r.B = r.B[1:]
	return true
}

// Must is At for a field that has to be there.
func (r *Reader) Must(key byte, name string) bool {
	ok := r.At(key)
	if !ok {
		r.Fail(name, "found %s, wanted the key %d", describe(r.B), key)
	}
	return ok
}

// head takes the head of an item of one major type, whose argument is most or less, in its shortest form. It returns
// the argument.
func (r *Reader) head(name string, want byte, most uint64) uint64 {
	major, arg, rest, ok := head(r.B)
	if r.Err == nil && (!ok || major != want || arg > most) {
		r.Fail(name, "found %s, wanted %s of %d or less", describe(r.B), majorNames[want], most)
	}
	if r.Err != nil {
		return 0
	}
	r.B = rest
	return arg
}

// Bytes returns a byte string of lo..hi bytes, a part of the input.
func (r *Reader) Bytes(name string, lo, hi int) []byte { return r.contents(name, majorBytes, lo, hi) }

func (r *Reader) contents(name string, major byte, lo, hi int) []byte {
	n := r.head(name, major, uint64(hi))
	switch {
	case r.Err != nil:
		return nil
	case n < uint64(lo):
		r.Fail(name, "found %d bytes, wanted %d..%d", n, lo, hi)
		return nil
	case n > uint64(len(r.B)):
		r.Fail(name, "found the end after %d bytes, wanted %d", len(r.B), n)
		return nil
	}
	b := r.B[:n]
	r.B = r.B[n:]
	return b
}

// Text reads a text of 1..most bytes into s, if the field is there, and makes s empty otherwise. It allocates nothing
// if s is that text already.
func (r *Reader) Text(s *string, there bool, name string, most int) {
	var b []byte
	if there {
		b = r.contents(name, majorText, 1, most)
	}
	if *s != string(b) {
		*s = string(b)
	}
	if !utf8.ValidString(*s) {
		r.Fail(name, "found %q, wanted valid UTF-8", *s)
	}
}

// Uint64 reads a field with an integer of eight bytes, most or less.
func (r *Reader) Uint64(key byte, name string, most uint64) uint64 {
	if !r.Must(key, name) {
		return 0
	}
	if len(r.B) < 9 || r.B[0] != head64 {
		r.Fail(name, "found %s, wanted an integer of eight bytes", describe(r.B))
		return 0
	}
	n := binary.BigEndian.Uint64(r.B[1:])
	if n > most {
		r.Fail(name, "found %d, wanted at most %d", n, most)
		return 0
	}
	r.B = r.B[9:]
	return n
}

// OptionalUint64 is Uint64 for a field that may be absent, which then is 0, and is not 0 otherwise.
func (r *Reader) OptionalUint64(key byte, name string, most int) int {
	if r.Err != nil || len(r.B) == 0 || r.B[0] != key {
		return 0
	}
	n := r.Uint64(key, name, uint64(most))
	if r.Err == nil && n == 0 {
		r.Fail(name, "found 0, wanted 1..%d or no such field", most)
	}
	return int(n)
}

// OptionalBytes copies a byte string of 1..most bytes, which may be absent, into b's storage if there is room; nil if
// absent.
func (r *Reader) OptionalBytes(b []byte, key byte, name string, most int) []byte {
	if !r.At(key) {
		return nil
	}
	return append(b[:0], r.Bytes(name, 1, most)...)
}

// Floats reads a typed array of lo..hi finite numbers, if the field is there, into v's storage if there is room. It
// returns nil if the field is not there.
func (r *Reader) Floats(v []float32, there bool, name string, lo, hi int) []float32 {
	if !there {
		return nil
	}
	b := r.array(name, tagFloat32LE, lo, hi)
	v = Room(v, len(b)/4)
	if err := getFloats(v, b); err != nil {
		r.Fail(name, "%w", err)
	}
	return v
}

// Ints is Floats for dim integers.
func (r *Reader) Ints(v []int32, there bool, name string, dim int) []int32 {
	if !there {
		return nil
	}
	b := r.array(name, tagInt32LE, dim, dim)
	v = Room(v, len(b)/4)
	getInts(v, b)
	return v
}

// array takes a typed array of lo..hi numbers after its key, and returns their bytes.
func (r *Reader) array(name string, tag uint64, lo, hi int) []byte {
	if found := r.head(name, majorTag, 1<<64-1); r.Err == nil && found != tag {
		r.Fail(name, "found tag %d, wanted tag %d", found, tag)
	}
	b := r.Bytes(name, 4*lo, 4*hi)
	if len(b)%4 != 0 {
		r.Fail(name, "found %d bytes, wanted 4 a number", len(b))
	}
	if r.Err != nil {
		return nil
	}
	return b
}
