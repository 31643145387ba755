package explain_test

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
)

func Example() {
	total := dpmech.Gaussian{Clip: 1, Sigma: 8}.Total(20) // of twenty releases
	fmt.Println(explain.Total(total, 1e-5, dpmech.GDP))
	for _, bar := range explain.Bars(total, 1e-5, dpmech.GDP) {
		fmt.Printf("the best guess is right at most %.0f times in 100\n", 100*bar.Guess)
	}
	// Output:
	// epsilon 4.99 against everybody else together
	// the best guess is right at most 71 times in 100
}
