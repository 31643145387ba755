package sdk_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk"
)

// A process that saves three rounds and ends, the next one that goes on from there, and what anyone may read meanwhile.
func ExampleOpenDir() {
	tmp, err := os.MkdirTemp("", "spade")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "state")

	store, err := sdk.OpenDir(dir, 1024)
	if err != nil {
		fmt.Println(err)
		return
	}
	for round := 1; round <= 3; round++ {
		// Only once Save has returned nil may the release be sent.
		if err := store.Save(sdk.Saved{Round: round, State: []byte{byte(10 * round)}, Note: `{"cost":0.5}`}); err != nil {
			fmt.Println(err)
			return
		}
	}
	store.Close()

	store, err = sdk.OpenDir(dir, 1024)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	kept, err := store.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range kept {
		fmt.Println("round", s.Round, "state", s.State)
	}
	report, err := sdk.InspectDir(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(report.Log), "releases; even slot of round", report.Slots[0].Round)
	// Output:
	// round 3 state [30]
	// round 2 state [20]
	// 3 releases; even slot of round 2
}
