package data_test

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/examples/paper/data"
)

// Train a linear model with gradients, and print its accuracy on unseen generated patients.
func ExampleCeiling() {
	train, test := task.Clinical(2000, 1), task.Clinical(1000, 2)
	std, err := task.FitStandardizer(train)
	if err != nil {
		panic(err)
	}
	train, _ = std.Apply(train)
	test, _ = std.Apply(test)
	fmt.Printf("%.0f %%\n", 100*data.Ceiling(data.Split{Train: train.WithBias(), Test: test.WithBias()}, false))
	// Output: 91 %
}
