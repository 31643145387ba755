package vec_test

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// A vector of a hundred signs takes only two machine words. Bit i%64 of word i/64 is set if sign i is -1.
func Example() {
	signs := make([]uint64, vec.SignWords(100))
	signs[0] = 0b101   // minus at coordinates 0 and 2
	signs[1] = 1 << 35 // and at coordinate 99

	x := make([]float32, 100)
	for i := range x {
		x[i] = 10
	}
	y := make([]float32, 100)
	vec.SignPerturb(y, x, 0.5, signs) // y = x + 0.5*s
	fmt.Println(y[:4], y[98:])

	vec.Axpy(y, -1, x) // the rest is 0.5*s
	fmt.Println(y[:4], y[98:])
	fmt.Println("|y|^2 =", vec.SumSquares(y))
	// Output:
	// [9.5 10.5 9.5 10.5] [10.5 9.5]
	// [-0.5 0.5 -0.5 0.5] [0.5 -0.5]
	// |y|^2 = 25
}

// The order of a sum is part of its definition: Dot adds into 64 float32 lanes within a block of 4096 elements. In a
// plain loop, the large first number would absorb all the small numbers. In Dot it absorbs only the small numbers in
// its own lane.
func ExampleDot() {
	x := make([]float32, 4096)
	for i := range x {
		x[i] = 1
	}
	x[0] = 1 << 24 // the next float32 is 2 more

	var plain float32
	for _, xi := range x {
		plain += xi
	}
	ones := make([]float32, len(x))
	for i := range ones {
		ones[i] = 1
	}
	fmt.Printf("plain loop 2^24 + %.0f\n", plain-(1<<24))
	fmt.Printf("lanes      2^24 + %.0f\n", vec.Dot(x, ones)-(1<<24))
	// Output:
	// plain loop 2^24 + 0
	// lanes      2^24 + 4032
}
