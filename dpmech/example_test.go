package dpmech_test

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// How many rounds can a device with this noise take part in?
func ExampleMaxRounds() {
	rounds, err := dpmech.MaxRounds(dpmech.Gaussian{Clip: 1, Sigma: 10}, 8, 1e-5, dpmech.GDP)
	fmt.Println(rounds, err)
	// Output: 69 <nil>
}

// A single release of a three-dimensional update.
func ExampleMechanism_Release() {
	mech, err := dpmech.NewMechanism(3, rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	update := []float32{0.3, -4, 0.1}
	g := dpmech.Gaussian{Clip: 1, Sigma: 8}
	if err := mech.Release(update, dpmech.Whole(update), g); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d noisy numbers, at a cost of %.5f in zCDP\n", len(update), g.Rho())
	// Output: 3 noisy numbers, at a cost of 0.03125 in zCDP
}

// A run of three releases with a limit that covers two.
func ExampleSpends_With() {
	limit, spends := &dpmech.Limit{Epsilon: 1.5, Delta: 1e-5, Accounting: dpmech.GDP}, dpmech.Spends(nil)
	g := dpmech.Gaussian{Clip: 1, Sigma: 8}
	for round := 1; round <= 3; round++ {
		with, err := spends.With(round, g, limit)
		if err != nil {
			fmt.Printf("round %d: %v\n", round, errors.Is(err, dpmech.ErrBudget))
			break
		}
		spends = with
		fmt.Printf("round %d: rho %v\n", round, spends.Total().Rho)
	}
	// Output:
	// round 1: rho 0.03125
	// round 2: rho 0.0625
	// round 3: true
}
