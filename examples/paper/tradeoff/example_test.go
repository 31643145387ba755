package tradeoff_test

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/examples/paper/tradeoff"
)

// How much less is sent if each client makes 31 local steps between two exchanges?
func ExampleBudget() {
	often, seldom := tradeoff.Budget{Steps: 29791, Tau: 1}, tradeoff.Budget{Steps: 29791, Tau: 31}
	fmt.Printf("%d numbers sent in place of %d: %.1f %% fewer\n", seldom.Scalars(), often.Scalars(),
		100*(1-float64(seldom.Scalars())/float64(often.Scalars())))
	// Output: 768800 numbers sent in place of 23832800: 96.8 % fewer
}
