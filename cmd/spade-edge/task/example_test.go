package task_test

import (
	"context"
	"fmt"
	"log"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
)

// Patients are generated, prepared and divided among four hospitals with different shares of events. An oracle on the
// patients of each hospital then computes losses.
func Example() {
	set, err := task.Load(task.Spec{Source: "synthetic:clinical", Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	partition, err := task.ParsePartition("dirichlet:0.3")
	if err != nil {
		log.Fatal(err)
	}
	parts, err := partition.Assign(set.Train.Y, set.Train.Classes, 4, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Train.Features)
	for i, part := range parts {
		own := set.Train.Select(part)
		events := 0
		for _, y := range own.Y {
			events += y
		}
		oracle := task.NewSoftmax(own)
		loss, err := oracle.Loss(context.Background(), make([]float32, oracle.Dim()), 0)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("hospital %d: %d patients, %d with an event; a loss at zero %v\n", i, oracle.Len(), events, loss)
	}
	// The sum of the columns, with a minus sign for HDL, is nearly the best linear rule.
	rule := []float32{1, 1, 1, 1, -1, 0}
	fmt.Printf("test accuracy %.3f\n", task.NewSoftmax(set.Test).Accuracy(rule))
	// Output:
	// [age_years systolic_mmhg bmi_kg_m2 glucose_mmol_l hdl_mmol_l bias]
	// hospital 0: 800 patients, 59 with an event; a loss at zero 0.25
	// hospital 1: 800 patients, 799 with an event; a loss at zero 0.25
	// hospital 2: 800 patients, 681 with an event; a loss at zero 0.25
	// hospital 3: 800 patients, 32 with an event; a loss at zero 0.25
	// test accuracy 0.891
}

// A recipe fitted on public data prepares the data of a device, and its model determines the start vector.
func ExampleRecipe() {
	public := task.Spec{Source: "synthetic:clinical", Seed: 1}
	recipe, err := task.Fit(public, task.ModelSpec{Name: task.PerceptronModel, Hidden: 4}, "generated patients")
	if err != nil {
		log.Fatal(err)
	}
	own, err := recipe.Apply(task.Spec{Source: "synthetic:clinical", TestFraction: 0.25, Seed: 2}) // other patients
	if err != nil {
		log.Fatal(err)
	}
	model, x0 := recipe.Model.New(own.Train), recipe.Start(1)
	fmt.Println(model.Len(), "samples,", model.Dim(), "parameters,", len(x0), "numbers in the start")
	fmt.Println(own.Train.Features)
	// Output:
	// 2999 samples, 29 parameters, 29 numbers in the start
	// [age_years systolic_mmhg bmi_kg_m2 glucose_mmol_l hdl_mmol_l bias]
}
