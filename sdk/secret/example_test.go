package secret_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk/secret"
)

// A device makes its key once, publishes the public half, and reads the secret one at each start.
func Example() {
	dir, err := os.MkdirTemp("", "secret")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "node.key")
	public, err := secret.CreateKey(path)
	if err != nil {
		log.Fatal(err)
	}
	key, err := secret.ReadKey(path)
	fmt.Println(public.Equal(key.Public()), err)
	// Output: true <nil>
}
