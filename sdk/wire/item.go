package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"
)

// encoding writes deterministic CBOR (RFC 8949, section 4.2.1): shortest heads, keys in ascending order.
var encoding = func() cbor.UserBufferEncMode {
	options := cbor.CoreDetEncOptions()
	options.NilContainers = cbor.NilContainerAsEmpty
	mode, err := options.UserBufferEncMode()
	if err != nil {
		panic(err) // the options are constant, so an error would fail every test
	}
	return mode
}()

var decoding = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		MaxNestedLevels:   4,
	}.DecMode()
	if err != nil {
		panic(err) // the options are constant, so an error would fail every test
	}
	return mode
}()

// appendItem appends the encoding of v to dst. It does not allocate if dst has room.
func appendItem(dst []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	err := encoding.MarshalToBuffer(v, buf)
	return buf.Bytes(), err
}

// decodeItem decodes b into the struct at v. It rejects bytes that appendItem would not write.
func decodeItem(b []byte, v any) error {
	if err := decoding.Unmarshal(b, v); err != nil {
		return err
	}
	again, err := appendItem(make([]byte, 0, len(b)), v)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, b) {
		return errors.New("found a null or empty field, a hash of another length, an item head that is not in its shortest " +
			"form, or keys that are missing or out of order; wanted deterministic CBOR")
	}
	return nil
}

// floats and integers encode vectors as byte strings of little-endian numbers.
type (
	floats   []float32
	integers []int32
)

// MarshalBinary returns four bytes for each number of v.
func (v floats) MarshalBinary() ([]byte, error) { return join(v, math.Float32bits), nil }

// UnmarshalBinary parses the output of MarshalBinary. For empty input, v becomes nil.
func (v *floats) UnmarshalBinary(b []byte) error { return split(b, v, math.Float32frombits) }

// MarshalBinary returns four bytes for each number of v.
func (v integers) MarshalBinary() ([]byte, error) {
	return join(v, func(n int32) uint32 { return uint32(n) }), nil
}

// UnmarshalBinary parses the output of MarshalBinary. For empty input, v becomes nil.
func (v *integers) UnmarshalBinary(b []byte) error {
	return split(b, v, func(bits uint32) int32 { return int32(bits) })
}

func join[T any](v []T, bits func(T) uint32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, bits(x))
	}
	return b
}

func split[S ~[]T, T any](b []byte, v *S, number func(bits uint32) T) error {
	if len(b)%4 != 0 {
		return fmt.Errorf("found %d bytes, wanted a multiple of 4", len(b))
	}
	*v = sized(*v, len(b)/4)
	for i := range *v {
		(*v)[i] = number(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}

// wide is a number that always takes eight bytes.
type wide uint64

// MarshalBinary returns eight bytes, little-endian.
func (n wide) MarshalBinary() ([]byte, error) {
	return binary.LittleEndian.AppendUint64(nil, uint64(n)), nil
}

// UnmarshalBinary parses the output of MarshalBinary.
func (n *wide) UnmarshalBinary(b []byte) error {
	if len(b) != 8 {
		return fmt.Errorf("found a number of %d bytes, wanted 8", len(b))
	}
	*n = wide(binary.LittleEndian.Uint64(b))
	return nil
}

// sized returns n elements with arbitrary content, or nil if n is 0. It reuses v's storage if that is large enough.
func sized[S ~[]T, T any](v S, n int) S {
	if n == 0 {
		return nil
	}
	if cap(v) < n {
		return make(S, n)
	}
	return v[:n]
}

// checkFinite returns an error for the first coordinate of a vector that is not finite.
func checkFinite(v []float32) error {
	for i, x := range v {
		if math.Float32bits(x)&0x7f800000 == 0x7f800000 {
			return fmt.Errorf("vector: found %v at coordinate %d, wanted a finite number", x, i)
		}
	}
	return nil
}
