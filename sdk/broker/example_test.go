package broker_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// A program that imports this package reads node files with a broker.
func Example() {
	path := filepath.Join(os.TempDir(), "broker-node.json")
	defer os.Remove(path)
	err := os.WriteFile(path, []byte(`{"version": 1, "name": "pump-1", "fleet": "fleet.json", "key": "node.key", "state": "state",
		"oracle": {"stream": ["./score"]}, "transport": {"mqtt": "tls://broker.example:8883"}}`), 0o600)
	if err != nil {
		log.Fatal(err)
	}
	node, err := fleetfile.ReadNode(path)
	if err != nil {
		log.Fatal(err)
	}
	if at, ok := node.Transport.(*broker.MQTT); ok {
		fmt.Println(broker.Kind(node), at.URL)
	}
	// Output: mqtt tls://broker.example:8883
}
