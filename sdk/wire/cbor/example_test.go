package cbor_test

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/wire/cbor"
)

// A map of a number and a vector is written field by field, and read into items.
func Example() {
	var w cbor.Writer
	w.Map(2)
	w.Uint(1, 7)
	w.Floats(2, "x", []float32{1, -2})

	const id, x = 1, 2
	names := []string{id: "id", x: "x"}
	var fields [3]cbor.Item
	if err := cbor.Unmarshal(w.B, fields[:], names); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(fields[id].Uint("id", 0, 100))
	fmt.Println(fields[x].Floats("x", nil, 2))
	_, err := fields[x].Uint("x", 0, 100)
	fmt.Println(err)
	fmt.Println(cbor.Unmarshal(append(w.B, 0), fields[:], names))
	// Output:
	// 7 <nil>
	// [1 -2] <nil>
	// x: found tag 85, wanted an integer in 0..100
	// not one well-formed item: cbor: 1 bytes of extraneous data starting at index 15
}
