package rng_test

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Each draw has an address. It can be repeated at any time and in any order, without stored state.
func Example() {
	const seed = 2024
	direction := func(round, component uint32) uint64 {
		s := rng.New(seed, rng.Address{Purpose: rng.Table, Client: 3, Round: round, Component: component})
		return s.Uint64()
	}
	a := direction(1, 0)
	b := direction(2, 7)
	fmt.Println("again the same:", direction(1, 0) == a, direction(2, 7) == b)
	fmt.Println("elsewhere another:", a != b)
	// Output:
	// again the same: true true
	// elsewhere another: true
}

// A stream is a value: a copy repeats the draws from the position at which it was copied.
func ExampleStream() {
	s := rng.New(1, rng.Address{Purpose: rng.Generate})
	s.Uint32()
	mark := s
	first := []int{s.IntN(6), s.IntN(6), s.IntN(6), s.IntN(6)}
	again := []int{mark.IntN(6), mark.IntN(6), mark.IntN(6), mark.IntN(6)}
	fmt.Println(first, again)
	// Output: [4 0 2 3] [4 0 2 3]
}

func ExampleStream_Shuffle() {
	s := rng.New(1, rng.Address{Purpose: rng.Split})
	names := []string{"ann", "bob", "cleo", "dan"}
	s.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	fmt.Println(names)
	// Output: [cleo ann dan bob]
}
