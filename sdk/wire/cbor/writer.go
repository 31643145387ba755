package cbor

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Writer appends the fields of a map to B, each in its shortest form, in the order in which it is called. Keys are
// below 24.
type Writer struct {
	B   []byte
	Err error // of the vectors with numbers that are not finite
}

// Map begins a map of so many pairs.
func (w *Writer) Map(pairs int) { w.B = appendHead(w.B, majorMap, uint64(pairs)) }

// Array begins an array of n items under a key.
func (w *Writer) Array(key byte, n int) { w.B = appendHead(append(w.B, key), majorArray, uint64(n)) }

// Uint writes an integer.
func (w *Writer) Uint(key byte, n uint64) { w.B = appendHead(append(w.B, key), majorUint, n) }

// Uint64 writes an integer in eight bytes, whatever its value.
func (w *Writer) Uint64(key byte, n uint64) {
	w.B = binary.BigEndian.AppendUint64(append(w.B, key, head64), n)
}

// True writes true.
func (w *Writer) True(key byte) { w.B = append(w.B, key, itemTrue) }

// Bytes writes a byte string, or nothing if b is empty.
func (w *Writer) Bytes(key byte, b []byte) {
	if len(b) > 0 {
		w.B = append(appendHead(append(w.B, key), majorBytes, uint64(len(b))), b...)
	}
}

// Text writes a text string, or nothing if s is empty.
func (w *Writer) Text(key byte, s string) {
	if len(s) > 0 {
		w.B = append(appendHead(append(w.B, key), majorText, uint64(len(s))), s...)
	}
}

// Ints writes a typed array, or nothing if v is empty.
func (w *Writer) Ints(key byte, v []int32) {
	if len(v) > 0 {
		w.B = appendInts(w.array(key, tagInt32LE, len(v)), v)
	}
}

// Floats writes a typed array, or nothing if v is empty. Numbers that are not finite make an error with the field's
// name.
func (w *Writer) Floats(key byte, name string, v []float32) {
	if len(v) == 0 {
		return
	}
	var finite bool
	if w.B, finite = AppendFloats(w.array(key, tagFloat32LE, len(v)), v); !finite {
		w.Err = errors.Join(w.Err, fmt.Errorf("%s: %w", name, CheckFinite(v)))
	}
}

// array returns B with the key and the heads of a typed array of n numbers.
func (w *Writer) array(key byte, tag uint64, n int) []byte {
	return appendHead(appendHead(append(w.B, key), majorTag, tag), majorBytes, uint64(4*n))
}

// OpenBytes writes a key, and leaves room for the head of a byte string of fewer than limit bytes. The caller appends
// the string's bytes to B and then calls CloseBytes with what OpenBytes has returned.
func (w *Writer) OpenBytes(key byte, limit int) (start int) {
	start = len(w.B) + 1
	w.B = append(w.B, key)
	w.B = w.B[:start+headSize(uint64(limit))]
	return start
}

// CloseBytes writes the head that OpenBytes has left room for. A head that is shorter than that room moves the bytes
// down.
func (w *Writer) CloseBytes(start, limit int) {
	payload := w.B[start+headSize(uint64(limit)):]
	w.B = append(appendHead(w.B[:start], majorBytes, uint64(len(payload))), payload...)
}
