package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/fxamacker/cbor/v2"
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

// cborTrue is the encoding of true.
const cborTrue = majorOther<<5 | 21

// decMode is how every item is read. Nesting, array and map limits are the smallest the library takes.
var decMode = func() cbor.DecMode {
	m, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		BignumTag:         cbor.BignumTagForbidden,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		MaxNestedLevels:   4,
		MaxArrayElements:  16,
		MaxMapPairs:       16,
	}.DecMode()
	if err != nil {
		panic(err) // constant options, so every test would fail here
	}
	return m
}()

// item is the encoded value of one field. After decoding it aliases the input; nil means that the field was absent.
type item []byte

// UnmarshalCBOR keeps the value for the field's own reader to look at. The library calls it with a part of its
// input, which is not copied.
func (it *item) UnmarshalCBOR(data []byte) error {
	*it = data
	return nil
}

// unmarshal reads the map in data into fields, a pointer to a struct of items, and adds the names of fields, where
// names[k] is the name of key k, to the library's errors.
func unmarshal(data []byte, fields any, names []string) error {
	if len(data) == 0 {
		return errors.New("found nothing, wanted a map")
	}
	if data[0]>>5 != majorMap {
		return fmt.Errorf("found %s, wanted a map", describe(data))
	}
	if err := decMode.Unmarshal(data, fields); err != nil {
		return explain(err, data, names)
	}
	return nil
}

// explain adds the names of fields to an error of the library.
func explain(err error, data []byte, names []string) error {
	if dup := (*cbor.DupMapKeyError)(nil); errors.As(err, &dup) {
		if k, ok := dup.Key.(int64); ok && k > 0 && k < int64(len(names)) {
			return fmt.Errorf("%s: found key %d twice, wanted it once", names[k], k)
		}
		return fmt.Errorf("found key %v twice, wanted it once", dup.Key)
	}
	if unknown := (*cbor.UnknownFieldError)(nil); errors.As(err, &unknown) {
		return fmt.Errorf("found an unknown key, %s, as number %d of the map, wanted keys 1..%d",
			describe(mapKey(data, unknown.Index)), unknown.Index+1, len(names)-1)
	}
	if key := (*cbor.UnmarshalTypeError)(nil); errors.As(err, &key) { // of a key: items take any value
		return fmt.Errorf("found an unknown key, a %s, wanted keys 1..%d", key.CBORType, len(names)-1)
	}
	return fmt.Errorf("not one well-formed item: %w", err)
}

// mapKey returns the key of the pair at index of a well-formed map, or nil if there is none.
func mapKey(data []byte, index int) item {
	_, _, rest, ok := head(data)
	var key item
	for k := 0; ok && k <= 2*index; k++ {
		var err error
		rest, err = decMode.UnmarshalFirst(rest, &key)
		ok = err == nil
	}
	if !ok {
		return nil
	}
	return key
}

// head splits the head off an item: its major type and its argument. It takes the shortest form of the argument
// only, so that a value has one encoding.
func head(b []byte) (major byte, arg uint64, rest []byte, ok bool) {
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
	least := uint64(24)
	switch size {
	case 1:
		arg = uint64(rest[0])
	case 2:
		arg, least = uint64(binary.BigEndian.Uint16(rest)), 1<<8
	case 4:
		arg, least = uint64(binary.BigEndian.Uint32(rest)), 1<<16
	case 8:
		arg, least = binary.BigEndian.Uint64(rest), 1<<32
	}
	return major, arg, rest[size:], arg >= least
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

// headSize returns the length of what appendHead appends.
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

// appendArray appends the heads of a typed array of size bytes, and the room for these, which starts at at.
func appendArray(dst []byte, tag uint64, size int) (out []byte, at int) {
	dst = appendHead(appendHead(dst, majorTag, tag), majorBytes, uint64(size))
	return slices.Grow(dst, size)[:len(dst)+size], len(dst)
}

// uint reads an unsigned integer in lo..hi.
func (it item) uint(name string, lo, hi uint64) (uint64, error) {
	major, arg, rest, ok := head(it)
	if !ok || major != majorUint || len(rest) != 0 || arg < lo || arg > hi {
		return 0, fmt.Errorf("%s: found %s, wanted an integer in %d..%d", name, describe(it), lo, hi)
	}
	return arg, nil
}

// bytes returns the contents of a byte string, without copying them.
func (it item) bytes(name string) ([]byte, error) {
	major, n, rest, ok := head(it)
	if !ok || major != majorBytes || n != uint64(len(rest)) {
		return nil, fmt.Errorf("%s: found %s, wanted a byte string", name, describe(it))
	}
	return rest, nil
}

// array returns the bytes of a typed array of dim numbers, four bytes each.
func (it item) array(name string, tag uint64, dim int) ([]byte, error) {
	major, found, rest, ok := head(it)
	if !ok || major != majorTag || found != tag {
		return nil, fmt.Errorf("%s: found %s, wanted tag %d", name, describe(it), tag)
	}
	b, err := item(rest).bytes(name)
	if err != nil {
		return nil, err
	}
	if len(b) != 4*dim {
		return nil, fmt.Errorf("%s: found %d bytes, wanted %d, 4 for each of %d coordinates", name, len(b), 4*dim, dim)
	}
	return b, nil
}

// shorter returns the contents of a byte string that stands for the typed array called plain, of dim numbers, and is
// shorter.
func (it item) shorter(name, plain string, dim int) ([]byte, error) {
	b, err := it.bytes(name)
	if err != nil {
		return nil, err
	}
	if len(b) >= 4*dim {
		return nil, fmt.Errorf("%s: found %d bytes, wanted fewer than the %d of the plain %s", name, len(b), 4*dim, plain)
	}
	return b, nil
}

// text returns the contents of a text string, without looking at their encoding.
func (it item) text(name string) (string, error) {
	major, n, rest, ok := head(it)
	if !ok || major != majorText || n != uint64(len(rest)) {
		return "", fmt.Errorf("%s: found %s, wanted a text string", name, describe(it))
	}
	return string(rest), nil
}

// exact reports bytes of a map that are not accounted for by the heads of the map and its keys, all below 24, and by
// the values: they hide where the library is lenient, in an overlong head or in a tag that it skips.
func exact(data []byte, values ...item) error {
	pairs, size := 0, 0
	for _, v := range values {
		if v != nil {
			pairs++
			size += 1 + len(v)
		}
	}
	if size += headSize(uint64(pairs)); size != len(data) {
		return fmt.Errorf("found %d bytes, wanted %d: a key has another form than the shortest, or a value a tag too many",
			len(data), size)
	}
	return nil
}

// describe says in a few words what an item is.
func describe(it item) string {
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
	case majorBytes:
		return fmt.Sprintf("a byte string of length %d", arg)
	case majorText:
		return fmt.Sprintf("a text string of length %d", arg)
	case majorArray:
		return fmt.Sprintf("an array of length %d", arg)
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
