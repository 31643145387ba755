package dpmech_test

import (
	"crypto/rand"
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// How much noise do fifty releases need, and what would the same spend be called elsewhere?
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

// One release of a three-dimensional update.
func ExampleMechanism_Release() {
	mech, err := dpmech.NewMechanism(3, rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	update := []float32{0.3, -4, 0.1}
	g := dpmech.Gaussian{Clip: 1, Sigma: 8}
	if err := mech.Release(update, g); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d noisy numbers, at a cost of %.5f in zCDP\n", len(update), g.Rho())
	// Output: 3 noisy numbers, at a cost of 0.03125 in zCDP
}
