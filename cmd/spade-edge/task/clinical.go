package task

import (
	"math"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

const (
	clinicalPatients = 4000 // number of patients in synthetic:clinical
	clinicalSlope    = 2    // change in the log odds of an event per unit of risk
)

// clinicalColumns resemble the records of a cardiology outpatient clinic. step is the precision of a column's values,
// severity is the effect of disease severity on the column, in standard deviations, and risk is the weight of the
// column in the risk of an event.
var clinicalColumns = [...]struct {
	name                 string
	mean, std, low, high float64
	step                 float64
	severity, risk       float64
}{
	{name: "age_years", mean: 62, std: 11, low: 30, high: 95, step: 1, severity: 0.30, risk: 1},
	{name: "systolic_mmhg", mean: 138, std: 18, low: 90, high: 210, step: 1, severity: 0.35, risk: 1},
	{name: "bmi_kg_m2", mean: 28, std: 4.5, low: 16, high: 48, step: 0.1, severity: 0.25, risk: 1},
	{name: "glucose_mmol_l", mean: 6.2, std: 1.3, low: 3.5, high: 14, step: 0.1, severity: 0.35, risk: 1},
	{name: "hdl_mmol_l", mean: 1.3, std: 0.35, low: 0.4, high: 2.8, step: 0.01, severity: -0.30, risk: -1},
}

// Clinical generates records of n patients (none if n is negative): age in years, systolic blood pressure in mmHg, body
// mass index in kg/m², fasting glucose and HDL cholesterol in mmol/l, and whether a cardiovascular event followed
// (class 0 no, 1 yes). About half of the patients have an event.
//
// Disease severity slightly shifts all columns. The risk of an event is logistic in a weighted sum of the columns; HDL
// lowers the risk. A single column classifies two thirds of the patients correctly, and the best linear rule nine
// in ten. Patient i depends only on seed and i, and describes no real person.
func Clinical(n int, seed uint64) *Data {
	d := &Data{Dim: len(clinicalColumns), Classes: 2, ClassNames: []string{"no", "yes"}}
	for _, c := range clinicalColumns {
		d.Features = append(d.Features, c.name)
	}
	for i := range max(n, 0) {
		s := rng.New(seed, rng.Address{Purpose: rng.Generate, Component: uint32(i)})
		severity := s.Normal()
		risk := 0.0
		for _, c := range clinicalColumns {
			own := math.Sqrt(1 - float64(c.severity*c.severity))
			z := float64(c.severity*severity) + float64(own*s.Normal())
			x := c.mean + float64(c.std*z)
			x = max(c.low, min(math.Floor(x/c.step+0.5)*c.step, c.high))
			d.X = append(d.X, float32(x))
			risk += float64(c.risk * ((x - c.mean) / c.std))
		}
		event := 0
		if s.Float64() < vec.Sigmoid(clinicalSlope*risk) {
			event = 1
		}
		d.Y = append(d.Y, event)
	}
	return d
}
