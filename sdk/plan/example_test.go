package plan_test

import (
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
)

// This example plans a fleet of 200 sensors: the settings follow from public numbers, and the forecast estimates the
// value of the run.
func Example() {
	fleet := &sdk.Fleet{Run: "vibration", Dim: 6}
	for i := range 200 {
		fleet.Members = append(fleet.Members, fmt.Sprint("sensor ", i))
		if i > 0 {
			fleet.Edges = append(fleet.Edges, [2]string{fleet.Members[i-1], fleet.Members[i]})
		}
	}
	known := plan.Known{Dim: fleet.Dim, Samples: slices.Repeat([]int{300}, 200), Open: true, Privacy: sdk.Privacy{EpsilonLimit: 8}}
	var err error
	if fleet.Method, fleet.Privacy, err = plan.Suggest(known); err != nil {
		fmt.Println(err)
		return
	}
	if err := plan.Hopeless(fleet); err != nil {
		fmt.Println(err)
		return
	}
	outlook, err := plan.Forecast(fleet, 300)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d rounds, %v estimates, sigma %v\n", fleet.Method.Rounds, fleet.Method.Estimator, fleet.Privacy.Sigma)
	fmt.Printf("the signal is %.1f times the noise, which is enough: %t\n", outlook.Signal, outlook.Gain >= plan.Enough)
	// Output:
	// 50 rounds, tracking estimates, sigma 0.381984
	// the signal is 4.7 times the noise, which is enough: true
}

// In this example eight clinics have about 400 samples each and a model with 31 numbers. They only have to decide on
// the budget.
func ExampleSuggest() {
	method, privacy, err := plan.Suggest(plan.Known{
		Dim:     31,
		Samples: []int{400, 400, 400, 400, 400, 400, 400, 400},
		Method:  sdk.Method{Batch: 32},
		Privacy: sdk.Privacy{EpsilonLimit: 4},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d rounds of %d local steps, and %d of cool-down\n", method.Rounds, method.Tau, method.Cooldown)
	fmt.Printf("eta %v, mu %v, rho %v, gain %v\n", method.Eta[0], method.Mu[0], method.Rho, method.Gain)
	fmt.Printf("clip %v, sigma %v for epsilon %v at delta %v\n", privacy.Clip, privacy.Sigma, privacy.EpsilonLimit,
		privacy.Delta)
	// Output:
	// 50 rounds of 2 local steps, and 30 of cool-down
	// eta 0.172, mu 0.269, rho 1, gain 0.75
	// clip 0.0449, sigma 0.686519 for epsilon 4 at delta 1e-05
}
