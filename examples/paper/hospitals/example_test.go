package hospitals_test

import (
	"context"
	"fmt"
	"io"

	"github.com/spade-dfl/spade-edge/examples/paper/hospitals"
)

// One seed gives no spread, and no interval around its mean.
func ExampleRun() {
	err := hospitals.Run(context.Background(), "data", "../../hospital", "results", 1, io.Discard)
	fmt.Println(err)
	// Output: hospitals: 1 seeds, want at least 2: one has no spread
}
