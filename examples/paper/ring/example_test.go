package ring_test

import (
	"context"
	"fmt"
	"io"

	"github.com/spade-dfl/spade-edge/examples/paper/ring"
)

// Run needs two seeds: a single seed has no spread, and its mean no interval.
func ExampleRun() {
	err := ring.Run(context.Background(), "data", "results", 1, io.Discard)
	fmt.Println(err)
	// Output: ring: 1 seeds, want at least 2: one seed has no spread
}
