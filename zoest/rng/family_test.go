package rng

import (
	"slices"
	"testing"
)

// TestFamilyBits checks that a family returns the same streams as New, and that Fill returns the first words of the
// components' streams for any length and number of rows.
func TestFamilyBits(t *testing.T) {
	const seed, round, step = 1 << 40, 1<<32 - 1, 9
	f := NewFamily(seed, Batch, 7)
	stream := func(component int) Stream {
		return New(seed, Address{Purpose: Batch, Client: 7, Round: round, Step: step, Component: uint32(component)})
	}
	if got := f.At(round, step, 3); got != stream(3) {
		t.Errorf("stream %+v, want %+v", got, stream(3))
	}
	for n := range 20 {
		components := make([]int, n)
		for i := range components {
			components[i] = (5*i + 2) % 31
		}
		for words := 0; words < 40; words += 2 {
			got := make([]uint64, n*words)
			f.Fill(got, round, step, components)
			var want []uint64
			for _, c := range components {
				s := stream(c)
				for range words {
					want = append(want, s.Uint64())
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d rows of %d words: %x, want %x", n, words, got, want)
			}
		}
	}
}
