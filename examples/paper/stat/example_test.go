package stat_test

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/examples/paper/stat"
)

// Two methods ran with the same ten seeds: is one better?
func ExampleWilcoxon() {
	ours := []float64{0.951, 0.957, 0.948, 0.962, 0.955, 0.949, 0.960, 0.944, 0.953, 0.958}
	theirs := []float64{0.930, 0.941, 0.951, 0.939, 0.935, 0.947, 0.932, 0.939, 0.946, 0.933}
	t, err := stat.Wilcoxon(ours, theirs, stat.PrattZeros)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("W+ = %v of %d pairs, p = %.4f, exact %v\n", t.Plus, t.Pairs, t.P, t.Exact)
	// Output: W+ = 53 of 10 pairs, p = 0.0059, exact true
}

func ExampleTInterval() {
	i, err := stat.TInterval([]float64{94.1, 95.3, 94.8, 95.0, 94.4}, 0.95)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f (%.2f to %.2f)\n", i.Mean, i.Low, i.High)
	// Output: 94.72 (94.13 to 95.31)
}

func ExampleAdjust() {
	p, err := stat.Adjust([]float64{0.04, 0.001, 0.03, 0.6})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", p)
	// Output: [0.0533 0.0040 0.0533 0.6000]
}
