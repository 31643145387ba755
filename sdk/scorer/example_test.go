//go:build unix

package scorer_test

import (
	"context"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/zoest"
)

// The program is a shell script with two samples. The loss of a sample is the squared distance between x and the
// sample's number.
func ExampleOpenStream() {
	const script = `
		echo '{"hello":1,"dim":1,"samples":2}'
		while read -r line; do
			echo "$line" | tr -c '0-9.e\n+-' ' ' | awk '{ off = $4 - $3; printf "{\"id\":%d,\"loss\":%.17g}\n", $1, off*off }'
		done`
	o, err := scorer.OpenStream(context.Background(), scorer.StreamConfig{
		Program: scorer.Program{Command: []string{"sh", "-c", script}, Workers: 2},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer o.Close()
	fmt.Println(o.Dim(), "parameter,", o.Samples(), "samples")
	losses := make([]float64, 2)
	err = o.Losses(context.Background(), []zoest.Query{{Point: []float32{0.5}, Sample: 0},
		{Point: []float32{3}, Sample: 1}}, losses)
	fmt.Println(losses, err)
	// Output:
	// 1 parameter, 2 samples
	// [0.25 4] <nil>
}
