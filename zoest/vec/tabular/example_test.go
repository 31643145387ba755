package tabular_test

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/zoest/vec/tabular"
)

// A table has the samples (1, 2) and (3, 4). Each of two points is multiplied by the second sample.
func ExampleDotRows() {
	z := make([]float64, 2)
	known := tabular.DotRows(z, [][]float32{{1, 0}, {0.5, 2}}, []float32{1, 2, 3, 4}, []int{1, 1})
	fmt.Println(z, known)
	// Output: [3 9.5] true
}
