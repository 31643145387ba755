package fleetfile_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// From two keys to a file that both members have, and back to what a node needs of it.
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
	for _, name := range fleet.Members { // on two devices: only the public keys travel
		key, err := fleetfile.CreateKey(filepath.Join(dir, name+".key"))
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
	key, err := fleetfile.ReadKey(filepath.Join(dir, "a.key"))
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

// Every fault of a file is told at once.
func ExampleParseNode() {
	_, err := fleetfile.ParseNode([]byte(`{
		"version": 1, "name": "a", "fleet": "fleet.json", "key": "node.key", "http": "0.0.0.0:80", "color": "red",
		"oracle": {"builtin": {"fit": "own", "model": "softmax", "data": "csv:patients.csv", "label": "outcome", "pca": -1}}
	}`), ".")
	fmt.Println(err)
	// Output:
	// fleetfile: state is missing, want a path
	// fleetfile: oracle.builtin.pca is -1, want a whole number, 0..2147483647
	// fleetfile: http is "0.0.0.0:80", want host:port on loopback, such as 127.0.0.1:0: whoever reaches it need not say who they are
	// fleetfile: color is unknown, want only version, name, fleet, key, listen, state, ledger, oracle, http, metrics, table, memory_limit, memory, average, linger_seconds, resend_seconds, patience, transport, proxy, proxy_credentials
}

// A model that a fleet has trained says how likely a patient's event is, and which column has moved that most.
func ExampleReadModel() {
	file, err := fleetfile.ReadModel("testdata/model.json")
	if err != nil {
		log.Fatal(err)
	}
	model, err := file.Predictor()
	if err != nil {
		log.Fatal(err)
	}
	said, err := model.PredictRow(map[string]string{
		"age_years": "71", "systolic_mmhg": "128", "bmi_kg_m2": "27.5", "glucose_mmol_l": "6.6", "hdl_mmol_l": "1.1",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %.3f\n", file.Task.Classes[1], said.Probability[1])
	for k, column := range file.Task.Columns {
		fmt.Printf("%+.3f by %s\n", said.Contribution[k], column.Name)
	}
	// Output:
	// yes: 0.825
	// +1.245 by age_years
	// -0.831 by systolic_mmhg
	// -0.184 by bmi_kg_m2
	// +0.459 by glucose_mmol_l
	// +0.862 by hdl_mmol_l
}
