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
	floats   = numbers[float32]
	integers = numbers[int32]
)

// numbers is a vector. All vectors of an item share scratch, the memory for the result of MarshalBinary, because package
// cbor copies the result before the next call. scratch may be nil if list is empty.
type numbers[T float32 | int32] struct {
	list    []T
	scratch *[]byte
}

// MarshalBinary returns four bytes for each number of v. The result is valid until the next call.
func (v numbers[T]) MarshalBinary() (b []byte, err error) {
	if len(v.list) > 0 {
		b, err = binary.Append((*v.scratch)[:0], binary.LittleEndian, v.list)
		*v.scratch = b
	}
	return b, err
}

// UnmarshalBinary parses the output of MarshalBinary. For empty input, the list becomes nil.
func (v *numbers[T]) UnmarshalBinary(b []byte) error {
	if len(b)%4 != 0 {
		return fmt.Errorf("found %d bytes, wanted a multiple of 4", len(b))
	}
	v.list, v.scratch = sized(v.list, len(b)/4), new([]byte)
	_, err := binary.Decode(b, binary.LittleEndian, v.list)
	return err
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
