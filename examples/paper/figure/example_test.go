package figure_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/examples/paper/figure"
)

// Draw a figure from a file of results.
func ExampleAccuracy() {
	dir, err := os.MkdirTemp("", "figure")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	var curves []figure.Curve
	for seed := 1; seed <= 2; seed++ {
		for round := 0; round <= 50; round += 10 {
			curves = append(curves,
				figure.Curve{Dataset: "MNIST", Partition: "iid", Method: "SPADE-DFL", Seed: seed, Round: round,
					Accuracy: 0.5 + 0.009*float64(round)},
				figure.Curve{Dataset: "MNIST", Partition: "iid", Method: "1P-DSG", Seed: seed, Round: round,
					Accuracy: 0.5 + 0.003*float64(round)})
		}
	}
	if err := figure.Accuracy(curves, filepath.Join(dir, "mnist.svg")); err != nil {
		fmt.Println(err)
		return
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		fmt.Println(f.Name())
	}
	// Output:
	// mnist.svg
}
