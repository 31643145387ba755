package cbor

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Tags of typed arrays, RFC 8746 section 2.1: a byte string of little-endian numbers.
const (
	tagInt32LE   = 78
	tagFloat32LE = 85
)

// AppendFloats appends the bytes of v, the lowest of each number first. It reports whether all of v is finite.
func AppendFloats(dst []byte, v []float32) (out []byte, finite bool) {
	at := len(dst)
	dst = slices.Grow(dst, 4*len(v))[:at+4*len(v)]
	var top uint32 // its highest bit is set by an exponent of all ones
	for i, x := range v {
		w := math.Float32bits(x)
		top |= w&0x7f800000 + 0x00800000
		binary.LittleEndian.PutUint32(dst[at+4*i:at+4*i+4], w)
	}
	return dst, top>>31 == 0
}

// getFloats fills v from b, which has four bytes for each coordinate. The error names the first that is not finite.
func getFloats(v []float32, b []byte) error {
	var top uint32
	for i := range v {
		w := binary.LittleEndian.Uint32(b[4*i : 4*i+4])
		top |= w&0x7f800000 + 0x00800000
		v[i] = math.Float32frombits(w)
	}
	if top>>31 != 0 {
		return CheckFinite(v)
	}
	return nil
}

// CheckFinite names the first coordinate that is not a number or not finite.
func CheckFinite(v []float32) error {
	for i, x := range v {
		if math.Float32bits(x)&0x7f800000 == 0x7f800000 {
			return fmt.Errorf("found %v at coordinate %d, wanted a finite number", x, i)
		}
	}
	return nil
}

// appendInts appends the bytes of v, the lowest of each number first.
func appendInts(dst []byte, v []int32) []byte {
	at := len(dst)
	dst = slices.Grow(dst, 4*len(v))[:at+4*len(v)]
	for i, x := range v {
		binary.LittleEndian.PutUint32(dst[at+4*i:at+4*i+4], uint32(x))
	}
	return dst
}

// getInts fills v from b, which has four bytes for each coordinate.
func getInts(v []int32, b []byte) {
	for i := range v {
		v[i] = int32(binary.LittleEndian.Uint32(b[4*i : 4*i+4]))
	}
}

// Room returns n elements, v's own storage if it is large enough. What they hold does not matter.
func Room[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:n]
}
