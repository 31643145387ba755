package cbor

import (
	"encoding/binary"
	"fmt"
)

// Major types of CBOR, RFC 8949 section 3.1.
const (
	majorUint   = 0
	majorNegint = 1
	majorBytes  = 2
	majorText   = 3
	majorArray  = 4
	majorMap    = 5
	majorTag    = 6
	majorOther  = 7
)

// majorNames are the names of major types in errors.
var majorNames = [...]string{majorUint: "an integer", majorBytes: "a byte string", majorText: "a text string",
	majorArray: "an array", majorMap: "a map", majorTag: "a tag"}

// itemTrue is the encoding of true.
const itemTrue = majorOther<<5 | 21

// head64 starts an unsigned integer of eight bytes, whatever its value.
const head64 = majorUint<<5 | 27

// head splits the head off an item: its major type and its argument. It takes the shortest form of the argument only,
// so that a value has one encoding.
func head(b []byte) (major byte, arg uint64, rest []byte, ok bool) {
	major, arg, rest, ok = anyHead(b)
	return major, arg, rest, ok && len(b)-len(rest) == headSize(arg)
}

// anyHead is head for an argument in any form, but for indefinite lengths.
func anyHead(b []byte) (major byte, arg uint64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, 0, nil, false
	}
	major, arg, rest = b[0]>>5, uint64(b[0]&31), b[1:]
	if arg < 24 {
		return major, arg, rest, true
	}
	size := 1 << (arg - 24)
	if arg > 27 || len(rest) < size {
		return 0, 0, nil, false
	}
	arg = 0
	for _, c := range rest[:size] {
		arg = arg<<8 | uint64(c)
	}
	return major, arg, rest[size:], true
}

// appendHead appends the head of an item in its shortest form.
func appendHead(dst []byte, major byte, arg uint64) []byte {
	major <<= 5
	switch {
	case arg < 24:
		return append(dst, major|byte(arg))
	case arg < 1<<8:
		return append(dst, major|24, byte(arg))
	case arg < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(arg))
	case arg < 1<<32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(arg))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), arg)
}

// headSize returns the length in bytes of the shortest head with an argument.
func headSize(arg uint64) int {
	switch {
	case arg < 24:
		return 1
	case arg < 1<<8:
		return 2
	case arg < 1<<16:
		return 3
	case arg < 1<<32:
		return 5
	}
	return 9
}

// describe says in a few words what an item is.
func describe(it []byte) string {
	if len(it) == 0 {
		return "nothing"
	}
	if f := it[0] &^ 3; f == majorOther<<5|24 && it[0]&3 != 0 {
		return "a floating-point number"
	}
	major, arg, _, ok := head(it)
	if !ok {
		return fmt.Sprintf("a value with the overlong or broken head %#x", it[:min(len(it), 9)])
	}
	switch major {
	case majorUint:
		return fmt.Sprint(arg)
	case majorNegint:
		if arg == 1<<64-1 {
			return "-18446744073709551616"
		}
		return fmt.Sprintf("-%d", arg+1)
	case majorBytes, majorText, majorArray:
		return fmt.Sprintf("%s of length %d", majorNames[major], arg)
	case majorMap:
		return fmt.Sprintf("a map of %d pairs", arg)
	case majorTag:
		return fmt.Sprintf("tag %d", arg)
	}
	switch it[0] & 31 {
	case 20:
		return "false"
	case 21:
		return "true"
	case 22:
		return "null"
	}
	return fmt.Sprintf("simple value %d", arg)
}
