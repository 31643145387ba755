package state_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// A process saves three rounds and exits. The next process continues with the third state. In the meantime,
// ReadSnapshot and Inspect may read the directory.
func ExampleOpen() {
	tmp, err := os.MkdirTemp("", "spade")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "state")

	store, err := state.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	for round := 1; round <= 3; round++ {
		// Send the release only after Save returns nil.
		if err := store.Save(state.Record{Round: round, State: []byte{byte(10 * round)}, Note: `{"cost":0.5}`}); err != nil {
			log.Fatal(err)
		}
	}
	store.Close()

	store, err = state.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	kept, err := store.Load()
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range kept {
		fmt.Println("round", s.Round, "state", s.State)
	}
	report, err := state.Inspect(dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the newest is of round", report.Round)
	// Output:
	// round 3 state [30]
	// round 2 state [20]
	// the newest is of round 3
}

// Two runs use one data set: the lifetime in the second run's certificate includes the cost of both runs.
func ExampleLedger() {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ledger, err := state.CreateLedger(filepath.Join(dir, "patients.ledger"), "patients 2020-2025", dpmech.Client, nil, state.NeverUsed)
	if err != nil {
		log.Fatal(err)
	}
	defer ledger.Close()

	fleet := sha256.Sum256([]byte("the fleet file"))
	g := dpmech.Gaussian{Clip: 1, Sigma: 8}
	for _, run := range []string{"tuning", "final"} {
		id := certificate.RunID{Run: run, Fleet: hex.EncodeToString(fleet[:]), Member: "clinic-3"}
		var spends dpmech.Spends
		for round := 1; round <= 10; round++ {
			with, err := spends.With(round, g, nil)
			if err == nil {
				err = ledger.Reserve(id, round, g)
			}
			if err != nil {
				log.Fatal(err)
			}
			spends = with
		}
		about := certificate.About{RunID: id}
		cert, err := certificate.New(about, 1e-5, spends, nil, ledger.Lifetime(1e-5))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%-6s epsilon %.3f, lifetime %.3f\n", run, cert.EpsilonGDP, cert.Lifetime.EpsilonGDP)
	}
	// Output:
	// tuning epsilon 3.341, lifetime 3.341
	// final  epsilon 3.341, lifetime 4.983
}
