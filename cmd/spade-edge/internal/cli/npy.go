package cli

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/spade-dfl/spade-edge/transport"
)

const npyMagic = "\x93NUMPY"

// NpyHeader returns the header of a NumPy file (numpy.lib.format 1.0) for a vector of n float32 numbers. The header
// consists of the magic string, version, header length and description. It is padded so that the numbers begin at a
// multiple of 64 bytes.
func NpyHeader(n int) []byte {
	header := npyDict(n)
	const before = len(npyMagic) + 2 + 2
	header += strings.Repeat(" ", 63-(before+len(header))%64) + "\n"
	b := append([]byte(npyMagic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	return append(b, header...)
}

func npyDict(n int) string {
	return fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", n)
}

// ParseNpy parses a one-dimensional float32 array as written by [NpyHeader] and [AppendFloats], or by numpy.save. It
// returns an error for any other layout and for numbers that are not finite.
func ParseNpy(data []byte) ([]float32, error) {
	const before = len(npyMagic) + 2 + 2
	if len(data) < before || string(data[:before-2]) != npyMagic+"\x01\x00" {
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
			"float32 array, as numpy.save writes for x.astype('<f4').ravel()",
			transport.Printable(header), len(numbers))
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
