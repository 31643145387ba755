package experiment_test

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
)

func ExamplePlan() {
	jobs := experiment.Plan([]string{experiment.Sensitivity}, []string{"brain"}, 30)
	j := jobs[len(jobs)-1]
	fmt.Println(len(jobs), "runs; the last one:", j.Clients, "clients,", j.Partition, "epsilon", j.Epsilon, "seed", j.Seed)
	// Output: 1620 runs; the last one: 100 clients, dirichlet:0.3,unbalanced epsilon 24 seed 30
}
