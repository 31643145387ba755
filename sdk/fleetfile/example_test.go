package fleetfile_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/secret"
)

// In this example a fleet file is made from the public keys of two members. Then one of the two nodes reads the file
// and finds its neighbor.
func Example() {
	dir, err := os.MkdirTemp("", "fleetfile")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	fleet := &sdk.Fleet{
		Run: "ward-study", Dim: 10, Members: []string{"a", "b"}, Edges: [][2]string{{"a", "b"}},
		Method: sdk.Method{Rounds: 50, Cooldown: 30, Tau: 2, Rho: 1, Gain: 0.75, Eta: []float64{0.8}, Mu: []float64{0.5},
			Seed: 1},
		Privacy: sdk.Privacy{Clip: 0.1, Sigma: 0.9, Delta: 1e-5, EpsilonLimit: 8},
	}
	file := &fleetfile.File{Fleet: fleet}
	for _, name := range fleet.Members { // in practice on two devices; only the public keys leave them
		key, err := secret.CreateKey(filepath.Join(dir, name+".key"))
		if err != nil {
			fmt.Println(err)
			return
		}
		m := fleetfile.Member{Name: name, Addresses: []string{"wss://" + name + ".example:7443/"}}
		m.Keys = append(m.Keys, key)
		file.Members = append(file.Members, m)
	}
	path := filepath.Join(dir, "fleet.json")
	if err := file.Write(path); err != nil {
		fmt.Println(err)
		return
	}

	file, err = fleetfile.Read(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	key, err := secret.ReadKey(filepath.Join(dir, "a.key"))
	if err != nil {
		fmt.Println(err)
		return
	}
	node := &fleetfile.Node{Name: "a", Listen: "127.0.0.1:0"}
	if err := node.CheckIdentity(file, key); err != nil {
		fmt.Println(err)
		return
	}
	peer := file.Peers("a")[0]
	fmt.Println(node.Name, "talks to", peer.Name, "at", peer.Addresses[0])
	// Output: a talks to b at wss://b.example:7443/
}
