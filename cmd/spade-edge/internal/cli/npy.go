package cli

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/spade-dfl/spade-edge/transport"
)

const npyMagic = "\x93NUMPY\x01\x00" // with the format version, 1.0

// NpyHeader returns the header of a NumPy file (numpy.lib.format 1.0) for a vector of n float32 numbers: 128 bytes, of
// which the last 118 are the description.
func NpyHeader(n int) []byte {
	return fmt.Appendf(nil, "%s%c\x00%-117s\n", npyMagic, 118, npyDict(n))
}

func npyDict(n int) string {
	return fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", n)
}

// AppendFloats appends x to b as little-endian float32.
func AppendFloats(b []byte, x []float32) []byte {
	b, _ = binary.Append(b, binary.LittleEndian, x) // cannot fail for numbers
	return b
}

// ParseNpy parses a one-dimensional float32 array as written by [NpyHeader] and [AppendFloats], or by numpy.save. It
// returns an error for any other layout and for numbers that are not finite.
func ParseNpy(data []byte) ([]float32, error) {
	const before = len(npyMagic) + 2 // the length of the description has two bytes
	if len(data) < before || string(data[:before-2]) != npyMagic {
		return nil, fmt.Errorf("not a NumPy file of format version 1.0; create the file with numpy.save")
	}
	end := before + int(binary.LittleEndian.Uint16(data[before-2:]))
	if end > len(data) {
		return nil, fmt.Errorf("the NumPy header is truncated")
	}
	numbers := data[end:]
	header := strings.TrimSpace(string(data[before:end]))
	if len(numbers)%4 != 0 || header != npyDict(len(numbers)/4) {
		return nil, fmt.Errorf("the NumPy header is %.80q, followed by %d bytes of data; want a one-dimensional "+
			"float32 array, as numpy.save writes for x.astype('<f4').ravel()", transport.Printable(header), len(numbers))
	}
	x := make([]float32, len(numbers)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(numbers[4*i:]))
		if v := float64(x[i]); math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("the number at index %d is %v, want a finite number", i, v)
		}
	}
	return x, nil
}
