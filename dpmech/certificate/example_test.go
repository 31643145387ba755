package certificate_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
)

func init() { certificate.Text = explain.Certificate }

// Two runs on one data set: their costs add up.
func ExampleComposition() {
	lifetime, err := certificate.NewComposition("patients 2020-2025", "2025-06-01T08:00:00Z", dpmech.Client, nil, certificate.Declaration{NeverUsed: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fleet := sha256.Sum256([]byte("the fleet file"))
	g := dpmech.Gaussian{Clip: 1, Sigma: 8}
	for _, run := range []string{"tuning", "final"} {
		id := certificate.RunID{Run: run, Fleet: hex.EncodeToString(fleet[:]), Member: "clinic-3"}
		for round := 1; round <= 10; round++ {
			if err := lifetime.Add(id, round, g); err != nil {
				fmt.Println(err)
				return
			}
		}
		fmt.Printf("after %-6s epsilon %.3f\n", run, lifetime.Lifetime(certificate.Head{}, 1e-5).EpsilonGDP)
	}
	// Output:
	// after tuning epsilon 3.341
	// after final  epsilon 4.983
}
