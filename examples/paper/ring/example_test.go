package ring_test

import (
	"context"
	"fmt"
	"io"

	"github.com/spade-dfl/spade-edge/examples/paper/ring"
)

// One seed gives no spread, and no interval around its mean.
func ExampleRun() {
	err := ring.Run(context.Background(), "data", "results", 1, io.Discard)
	fmt.Println(err)
	// Output: ring: 1 seeds, want at least 2: one has no spread
}
