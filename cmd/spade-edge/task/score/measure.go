package score

import (
	"fmt"
	"slices"
)

// Measure is the one number that says how well answers fit the samples of a task.
type Measure string

// The measures.
const (
	Accuracy Measure = "accuracy" // of classes, in percent
	RMSE     Measure = "rmse"     // of numbers, in their unit
	CIndex   Measure = "c_index"  // of survival, in [0, 1]
)

// Name returns the name of the measure for people.
func (m Measure) Name() string {
	return map[Measure]string{Accuracy: "accuracy", RMSE: "RMSE", CIndex: "C-index"}[m]
}

// Text formats a value of the measure. digits is the number of decimals of an accuracy.
func (m Measure) Text(value float64, digits int) string {
	switch m {
	case RMSE:
		return fmt.Sprintf("%.4g", value)
	case CIndex:
		return fmt.Sprintf("%.3f", value)
	}
	return fmt.Sprintf("%.*f %%", digits, value)
}

// Named is like Text, but begins with the name of a measure other than the accuracy.
func (m Measure) Named(value float64, digits int) string {
	if m == Accuracy {
		return m.Text(value, digits)
	}
	return m.Name() + " " + m.Text(value, digits)
}

// Better reports whether the value a is strictly better than b.
func (m Measure) Better(a, b float64) bool { return m == RMSE && a < b || m != RMSE && a > b }

// Worst returns the worst of at least one value.
func (m Measure) Worst(values []float64) float64 {
	if m == RMSE {
		return slices.Max(values)
	}
	return slices.Min(values)
}
