package cbor

import (
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// strict is what a map must keep to before it is split. Nesting, array and map limits are the smallest the library
// takes.
var strict = func() cbor.DecMode {
	m, err := cbor.DecOptions{
		IndefLength:      cbor.IndefLengthForbidden,
		BignumTag:        cbor.BignumTagForbidden,
		MaxNestedLevels:  4,
		MaxArrayElements: 16,
		MaxMapPairs:      16,
	}.DecMode()
	if err != nil {
		panic(err) // constant options, so every test would fail here
	}
	return m
}()

// tagSelf says of an item that it is CBOR, and changes nothing about it (RFC 8949 section 3.4.6).
const tagSelf = 55799

// Item is the encoded value of one field. It aliases the input; nil means that the field was absent.
type Item []byte

// Unmarshal splits the map in data: fields[k], which must be nil, becomes the value of key k, from 1 on. It refuses
// what is not one well-formed map, and keys that have no field or are there twice. names[k] is the name of key k in
// errors.
func Unmarshal(data []byte, fields []Item, names []string) error {
	if len(data) == 0 {
		return errors.New("found nothing, wanted a map")
	}
	if data[0]>>5 != majorMap {
		return fmt.Errorf("found %s, wanted a map", describe(data))
	}
	if err := strict.Wellformed(data); err != nil {
		return fmt.Errorf("not one well-formed item: %w", err)
	}
	_, pairs, rest, _ := anyHead(data)
	for i := range pairs {
		key := rest
		major, k, _, _ := anyHead(key)
		value := skip(key)
		rest = skip(value)
		if major != majorUint || k == 0 || k >= uint64(len(fields)) {
			return fmt.Errorf("found an unknown key, %s, as number %d of the map, wanted keys 1..%d",
				describe(key[:len(key)-len(value)]), i+1, len(fields)-1)
		}
		if fields[k] != nil {
			return fmt.Errorf("%s: found key %d twice, wanted it once", names[k], k)
		}
		it := value[:len(value)-len(rest)]
		for {
			major, tag, content, _ := anyHead(it)
			if major != majorTag || tag != tagSelf {
				break
			}
			it = content
		}
		fields[k] = it
	}
	return nil
}

// skip returns what follows the first item of b, which is well-formed and has no indefinite lengths.
func skip(b []byte) []byte {
	for items := uint64(1); items > 0; items-- {
		major, arg, rest, _ := anyHead(b)
		switch major {
		case majorBytes, majorText:
			rest = rest[arg:]
		case majorArray:
			items += arg
		case majorMap:
			items += 2 * arg
		case majorTag:
			items++
		}
		b = rest
	}
	return b
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
