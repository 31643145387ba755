package ring_test

import (
	"context"
	"fmt"
	"io"

	"github.com/spade-dfl/spade-edge/examples/paper/ring"
)

// Run needs at least two seeds, because a single seed yields no spread and no confidence interval.
func ExampleRun() {
	err := ring.Run(context.Background(), "data", "results", 1, io.Discard)
	fmt.Println(err)
	// Output: ring: found 1 seeds, want at least 2, because a single seed has no spread
}
