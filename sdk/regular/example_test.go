package regular_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk/regular"
)

// A file that exists is not overwritten, and one that is too long is not read.
func Example() {
	dir, err := os.MkdirTemp("", "regular")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ledger.json")
	fmt.Println(regular.Create(path, []byte("{}"), 0o600), regular.Create(path, []byte("{}"), 0o600) != nil)
	text, err := regular.Read(path, 100)
	fmt.Printf("%s %v\n", text, err)
	_, err = regular.Read(path, 1)
	fmt.Println(err != nil)
	// Output:
	// <nil> true
	// {} <nil>
	// true
}
