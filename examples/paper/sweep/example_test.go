package sweep_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// Store the squares of 0 to 4 as they are computed. A second run finds all of them and computes nothing.
func Example() {
	dir, err := os.MkdirTemp("", "sweep")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for range 2 {
		table, err := sweep.Open(filepath.Join(dir, "squares.csv"), 1, "number", "square")
		if err != nil {
			fmt.Println(err)
			return
		}
		var missing []int
		for n := range 5 {
			if table.Rows(strconv.Itoa(n)) == nil {
				missing = append(missing, n)
			}
		}
		fmt.Println("missing:", missing)
		err = sweep.Do(context.Background(), io.Discard, "squares", len(missing), func(int) float64 { return 1 },
			func(_ context.Context, i int) (string, error) {
				n := missing[i]
				return "", table.Add([]string{strconv.Itoa(n), strconv.Itoa(n * n)})
			})
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := table.Sort(); err != nil {
			fmt.Println(err)
			return
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "squares.csv"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(text))
	// Output:
	// missing: [0 1 2 3 4]
	// missing: []
	// number,square
	// 0,0
	// 1,1
	// 2,4
	// 3,9
	// 4,16
}
