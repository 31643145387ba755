package rng

import (
	"fmt"
	"testing"
)

// BenchmarkFill measures how fast the words of directions are drawn, for many short rows and for long rows.
func BenchmarkFill(b *testing.B) {
	components := []int{3, 9, 2, 7, 1, 0, 5, 4}
	f := NewFamily(1, Step, 2)
	for _, words := range []int{2, 14, 16, 158} {
		b.Run(fmt.Sprint(words), func(b *testing.B) {
			dst := make([]uint64, words*len(components))
			b.SetBytes(int64(8 * len(dst)))
			for b.Loop() {
				f.Fill(dst, 3, 4, components)
			}
		})
	}
}
