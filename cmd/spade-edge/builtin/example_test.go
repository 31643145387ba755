package builtin_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// This example shows that all errors in a file are reported at once.
func Example() {
	_, err := fleetfile.ParseNode([]byte(`{
		"version": 1, "name": "a", "fleet": "fleet.json", "key": "node.key", "http": "0.0.0.0:80",
		"oracle": {"builtin": {"fit": "own", "model": "softmax", "data": "csv:patients.csv", "label": "outcome", "pca": -1}}
	}`), ".")
	fmt.Println(err)
	// Output:
	// fleetfile: state is missing, want a path
	// fleetfile: oracle.builtin: task: pca -1, want a number of components, or 0 for none
	// fleetfile: http is "0.0.0.0:80", want host:port on loopback, such as 127.0.0.1:0: it serves without authentication
}

// A trained model predicts the probability of an event for a patient and reports how much each column contributes.
func ExampleReadModel() {
	file, err := builtin.ReadModel("testdata/model.json")
	if err != nil {
		log.Fatal(err)
	}
	model, err := file.Predictor()
	if err != nil {
		log.Fatal(err)
	}
	patients := strings.NewReader("age_years,systolic_mmhg,bmi_kg_m2,glucose_mmol_l,hdl_mmol_l\n71,128,27.5,6.6,1.1\n")
	said, err := model.Predict("csv:-", patients, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %.3f\n", file.Task.Classes[1], said[0].Probability[1])
	for k, column := range file.Task.Columns {
		fmt.Printf("%+.3f by %s\n", said[0].Contribution[k], column.Name)
	}
	// Output:
	// yes: 0.825
	// +1.245 by age_years
	// -0.831 by systolic_mmhg
	// -0.184 by bmi_kg_m2
	// +0.459 by glucose_mmol_l
	// +0.862 by hdl_mmol_l
}
