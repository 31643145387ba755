package dpmech_test

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// How much noise do fifty releases need for epsilon 8, and which epsilon do the other conversions compute for the same
// releases?
func ExampleSigmaFor() {
	sigma, err := dpmech.SigmaFor(1, 50, 8, 1e-5, dpmech.GDP)
	if err != nil {
		fmt.Println(err)
		return
	}
	rho := 50 * dpmech.Gaussian{Clip: 1, Sigma: sigma}.Rho()
	fmt.Printf("sigma %.3f\n", sigma)
	for _, acc := range []dpmech.Accounting{dpmech.GDP, dpmech.ZCDP, dpmech.Paper} {
		fmt.Printf("%-5v epsilon %.3f\n", acc, acc.Epsilon(rho, 1e-5))
	}
	// Output:
	// sigma 8.489
	// gdp   epsilon 8.000
	// zcdp  epsilon 8.599
	// paper epsilon 9.382
}

// How many rounds can a device with this noise take part in?
func ExampleMaxRounds() {
	rounds, err := dpmech.MaxRounds(dpmech.Gaussian{Clip: 1, Sigma: 10}, 8, 1e-5, dpmech.GDP)
	fmt.Println(rounds, err)
	// Output: 69 <nil>
}

// Ten cautious rounds, then ten rounds with a smaller clip and less noise: costs add up, whatever the parameters of
// each round.
func ExampleFilter_Total() {
	filter, err := dpmech.NewFilter(nil)
	for round := 1; round <= 20 && err == nil; round++ {
		g := dpmech.Gaussian{Clip: 1, Sigma: 10}
		if round > 10 {
			g = dpmech.Gaussian{Clip: 0.5, Sigma: 4}
		}
		err = filter.Reserve(round, g)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	rho := filter.Total().Rho
	fmt.Printf("rho %.4f, epsilon %.3f at delta 1e-5\n", rho, dpmech.GDP.Epsilon(rho, 1e-5))
	// Output: rho 0.5125, epsilon 4.440 at delta 1e-5
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

// The release of ExampleMechanism_Release as small integers in steps of sigma/16, which is the form in which a node
// sends it.
func ExampleMechanism_ReleaseOnGrid() {
	mech, err := dpmech.NewMechanism(3, rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	g := dpmech.Gaussian{Clip: 1, Sigma: 8}
	step := g.Sigma / 16
	update := []float32{0.3, -4, 0.1}
	steps := make([]int32, len(update))
	if err := mech.ReleaseOnGrid(steps, dpmech.Whole(update), g, step); err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range steps {
		if x := float64(n) * step; x < -80 || x > 80 {
			fmt.Println("noise of ten sigma")
		}
	}
	fmt.Printf("%d noisy numbers\n", len(steps))
	// Output: 3 noisy numbers
}

// A run of three releases with a limit that covers two.
func ExampleFilter() {
	filter, err := dpmech.NewFilter(&dpmech.Limit{Epsilon: 1.5, Delta: 1e-5, Accounting: dpmech.GDP})
	if err != nil {
		fmt.Println(err)
		return
	}
	g := dpmech.Gaussian{Clip: 1, Sigma: 8}
	for round := 1; round <= 3; round++ {
		if err := filter.Reserve(round, g); err != nil {
			fmt.Printf("round %d: %v\n", round, errors.Is(err, dpmech.ErrBudget))
			break
		}
		fmt.Printf("round %d: rho %v\n", round, filter.Total().Rho)
	}
	// Output:
	// round 1: rho 0.03125
	// round 2: rho 0.0625
	// round 3: true
}
