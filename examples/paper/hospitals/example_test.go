package hospitals_test

import (
	"context"
	"fmt"
	"io"

	"github.com/spade-dfl/spade-edge/examples/paper/hospitals"
)

// Run needs two seeds: a single seed has no spread, and its mean no interval.
func ExampleRun() {
	err := hospitals.Run(context.Background(), "data", "../../hospital", "results", 1, io.Discard)
	fmt.Println(err)
	// Output: hospitals: 1 seeds, want at least 2: one seed has no spread
}
