package records_test

import (
	"context"
	"fmt"
	"io"

	"github.com/spade-dfl/spade-edge/examples/paper/records"
)

// Run needs at least two seeds, because a single seed yields no standard error.
func ExampleRun() {
	err := records.Run(context.Background(), "data", "results", []string{"fashion"}, 1, io.Discard)
	fmt.Println(err)
	// Output: records: found 1 seeds, want at least 2, because a single seed has no standard error
}
