package stat

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Mean returns the arithmetic mean of x, or NaN if x is empty.
func Mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// SD returns the population standard deviation of x, which divides by len(x), or NaN if x is empty. It measures the
// spread of the values in x, as in the paper's tables and bands.
func SD(x []float64) float64 {
	return math.Sqrt(squares(x) / float64(len(x)))
}

// SampleSD returns the sample standard deviation of x, which divides by len(x)-1, or NaN if x has fewer than two
// values. It estimates the spread of the distribution from which x was drawn.
func SampleSD(x []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	return math.Sqrt(squares(x) / float64(len(x)-1))
}

func squares(x []float64) float64 {
	mean := Mean(x)
	var sum float64
	for _, v := range x {
		diff := v - mean
		sum += float64(diff * diff)
	}
	return sum
}

// Interval is an estimate, Mean, with a confidence interval from Low to High.
type Interval struct {
	Mean, Low, High float64
}

// TInterval returns the mean of x with its two-sided confidence interval, by Student's t distribution with len(x)-1
// degrees of freedom. level is the confidence level, such as 0.95, and must lie between 0 and 1. x must have at least
// two values, because a single value has no spread.
func TInterval(x []float64, level float64) (Interval, error) {
	if !(level > 0 && level < 1) {
		return Interval{}, fmt.Errorf("stat: level is %v, want more than 0 and less than 1", level)
	}
	if len(x) < 2 {
		return Interval{}, fmt.Errorf("stat: found %d values for an interval, want at least 2", len(x))
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(x) - 1)}.Quantile((1 + level) / 2)
	mean := Mean(x)
	half := float64(t*SampleSD(x)) / math.Sqrt(float64(len(x)))
	return Interval{Mean: mean, Low: mean - half, High: mean + half}, nil
}
