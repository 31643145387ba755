package hospitals_test

import (
	"context"
	"fmt"
	"io"

	"github.com/spade-dfl/spade-edge/examples/paper/hospitals"
)

// Run needs at least two seeds, because a single seed yields no spread and no confidence interval.
func ExampleRun() {
	err := hospitals.Run(context.Background(), "data", "../../hospital", "results", 1, io.Discard)
	fmt.Println(err)
	// Output: hospitals: found 1 seeds, want at least 2, because a single seed has no spread
}
