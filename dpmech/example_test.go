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

// The same release as short integers, in steps of sigma/16: what is sent.
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
	if err := mech.ReleaseOnGrid(steps, update, g, step); err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range steps {
		if x := float64(n) * step; x < -80 || x > 80 {
			fmt.Println("noise of ten sigma")
		}
	}
	fmt.Printf("%d numbers; of the update, %v is left\n", len(steps), update)
	// Output: 3 numbers; of the update, [0 0 0] is left
}
