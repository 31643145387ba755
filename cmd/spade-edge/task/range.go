package task

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// sides names the two classes of data with a target: "low" for targets below the middle of its range, and "high" for
// targets at or above the middle.
var sides = []string{"low", "high"}

// Range is the expected range of a target; it is public. Targets are scaled so that Low becomes 0 and High becomes 1;
// targets outside the range are clipped to it.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func rangeOf(targets []float64) (*Range, error) {
	n := len(targets)
	s, err := FitStandardizer(&Data{X: make([]float32, n), exact: targets, Y: make([]int, n), Dim: 1, Classes: 2})
	if err != nil {
		return nil, err
	}
	low, high, two := slices.Min(targets), slices.Max(targets), 2*s.Std[0]
	r := &Range{Low: max(low, s.Mean[0]-two), High: min(high, s.Mean[0]+two)}
	if low == high || r.check() != nil {
		return nil, errors.New("all rows have nearly the same target: there is nothing to predict")
	}
	return r, nil
}

func (r *Range) check() error {
	if !(r.Low < r.High && math.Abs(r.Low) <= math.MaxFloat32 && math.Abs(r.High) <= math.MaxFloat32) {
		return fmt.Errorf("task: range is %v to %v, want two float32 numbers, the lower one first", r.Low, r.High)
	}
	return nil
}

func (r *Range) side(y float64) int {
	if r.scale(y) < 0.5 {
		return 0
	}
	return 1
}

func (r *Range) scale(y float64) float64 {
	return min(max((y-r.Low)/(r.High-r.Low), 0), 1)
}

func (r *Range) at(share float64) float64 { return r.Low + float64((r.High-r.Low)*share) }

func (r *Range) scaled(targets []float64) []float64 {
	var out []float64
	for _, y := range targets {
		out = append(out, r.scale(y))
	}
	return out
}
