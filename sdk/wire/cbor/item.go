package cbor

import (
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// decMode is how every map is read. Nesting, array and map limits are the smallest the library takes.
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

// Item is the encoded value of one field. It aliases the input; nil means that the field was absent.
type Item []byte

// UnmarshalCBOR keeps the value, uncopied, for one of the other methods to read.
func (it *Item) UnmarshalCBOR(data []byte) error {
	*it = data
	return nil
}

// Unmarshal reads the map in data into fields, a pointer to a struct of items with tags such as `cbor:"1,keyasint"`. It
// refuses what is not one well-formed map, and keys that are unknown or there twice. names[k] is the name of key k in
// errors.
func Unmarshal(data []byte, fields any, names []string) error {
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
func mapKey(data []byte, index int) Item {
	_, _, rest, ok := head(data)
	var key Item
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

// Exact reports bytes of a map that are not accounted for by the heads of the map and its keys, all below 24, and by
// the values: they hide where the library is lenient, in an overlong head or in a tag that it skips.
func Exact(data []byte, values ...Item) error {
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

// String says in a few words what the item is.
func (it Item) String() string { return describe(it) }

// True reports whether the item is true.
func (it Item) True() bool { return len(it) == 1 && it[0] == itemTrue }

// Uint reads an unsigned integer in lo..hi, in its shortest form.
func (it Item) Uint(name string, lo, hi uint64) (uint64, error) {
	major, arg, rest, ok := head(it)
	if !ok || major != majorUint || len(rest) != 0 || arg < lo || arg > hi {
		return 0, fmt.Errorf("%s: found %s, wanted an integer in %d..%d", name, describe(it), lo, hi)
	}
	return arg, nil
}

// Bytes returns the contents of a byte string, without copying them.
func (it Item) Bytes(name string) ([]byte, error) { return it.contents(name, majorBytes) }

// Text returns the contents of a text string. Their encoding is not checked.
func (it Item) Text(name string) (string, error) {
	b, err := it.contents(name, majorText)
	return string(b), err
}

func (it Item) contents(name string, want byte) ([]byte, error) {
	major, n, rest, ok := head(it)
	if !ok || major != want || n != uint64(len(rest)) {
		return nil, fmt.Errorf("%s: found %s, wanted %s", name, describe(it), majorNames[want])
	}
	return rest, nil
}

// Floats reads a typed array of dim finite numbers into v's storage if there is room.
func (it Item) Floats(name string, v []float32, dim int) ([]float32, error) {
	b, err := it.array(name, tagFloat32LE, dim)
	if err != nil {
		return v, err
	}
	v = Room(v, dim)
	if err := getFloats(v, b); err != nil {
		return v, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// Ints is Floats for integers.
func (it Item) Ints(name string, v []int32, dim int) ([]int32, error) {
	b, err := it.array(name, tagInt32LE, dim)
	if err != nil {
		return v, err
	}
	v = Room(v, dim)
	getInts(v, b)
	return v, nil
}

// array returns the bytes of a typed array of dim numbers, four bytes each.
func (it Item) array(name string, tag uint64, dim int) ([]byte, error) {
	major, found, rest, ok := head(it)
	if !ok || major != majorTag || found != tag {
		return nil, fmt.Errorf("%s: found %s, wanted tag %d", name, describe(it), tag)
	}
	b, err := Item(rest).Bytes(name)
	if err != nil {
		return nil, err
	}
	if len(b) != 4*dim {
		return nil, fmt.Errorf("%s: found %d bytes, wanted %d, 4 for each of %d coordinates", name, len(b), 4*dim, dim)
	}
	return b, nil
}

// AnyUint reads an unsigned integer in any form, as other programs may write it.
func (it Item) AnyUint(name string) (uint64, error) {
	major, arg, rest, ok := anyHead(it)
	if !ok || major != majorUint || len(rest) != 0 {
		return 0, fmt.Errorf("%s: found %s, wanted a whole number", name, describe(it))
	}
	return arg, nil
}

// AnyText returns the contents of a text string in any form. Their encoding is not checked.
func (it Item) AnyText(name string) ([]byte, error) {
	major, n, rest, ok := anyHead(it)
	if !ok || major != majorText || n != uint64(len(rest)) {
		return nil, fmt.Errorf("%s: found %s, wanted a text string", name, describe(it))
	}
	return rest, nil
}

// AnyNumber reads an integer of either sign or a floating-point number in any form into v, and null as NaN.
func (it Item) AnyNumber(name string, v *float64) error {
	if len(it) == 1 && it[0] == itemNull {
		*v = nan
		return nil
	}
	if len(it) == 0 || it[0]>>5 == majorTag || it[0]>>5 == majorOther && it[0] < itemHalf || decMode.Unmarshal(it,
		v) != nil {
		return fmt.Errorf("%s: found %s, wanted a number", name, describe(it))
	}
	return nil
}
