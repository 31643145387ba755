package strict_test

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech/strict"
)

// The second limit, and a limit under another name, would be lost without an error with json.Unmarshal.
func ExampleReadJSON() {
	var budget struct {
		Epsilon float64 `json:"epsilon"`
	}
	for _, text := range []string{`{"epsilon": 1}`, `{"epsilon": 1, "epsilon": 8}`, `{"epsilom": 1}`, `{"epsilon": "1"}`} {
		fmt.Println(strict.ReadJSON([]byte(text), &budget))
	}
	// Output:
	// <nil>
	// field epsilon is given twice
	// unknown field "epsilom"
	// epsilon: found string, want a number
}
