package verdict

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
)

// Gain is how much better one answer is than another on the same rows: the difference of accuracies in points, of RMSEs in
// the unit of the target, or of C-indices; positive if the first is better. Low and High are the ends of its 95 % interval, or
// nil for a single row.
type Gain struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`

	deviation float64 // standard error
}

// judge measures answers on the rows of held.
type judge struct{ held *task.Model }

// measure is the measure of the rows' task.
func (j judge) measure() score.Measure { return j.held.Data().Kind().Measure() }

// concord compares risks with the lives of the rows.
func (j judge) concord(risks []float64) *survival.Concordance {
	d := j.held.Data()
	return survival.Concord(d.Time, d.Y, risks)
}

// marks returns the marks of a model, see [task.Model.Marks]. It keeps the first error.
func (j judge) marks(model []float32, err *error) []float64 {
	marks, wrong := j.held.Marks(model)
	*err = cmp.Or(*err, wrong)
	return marks
}

// gain returns how much better the answer with the marks a is than the one with the marks b. For accuracies the interval
// is that of Agresti and Min (2005), which adds half a row for each of the four ways in which two answers can be right or
// wrong: a few rows on which both agree are no certainty. For RMSEs it follows from the mean difference of the squares, for
// C-indices from the influence of each row on their difference.
func (j judge) gain(a, b []float64) Gain {
	if j.measure() == score.CIndex {
		return gainOf(j.concord(a), j.concord(b))
	}
	n, unit, sum, square := float64(len(a)), 100.0, 0.0, 0.0
	numeric := j.measure() == score.RMSE
	for i := range a {
		d := a[i] - b[i]
		sum += d
		square += float64(d * d)
	}
	if numeric {
		unit = -1 / max(j.held.Worth(a)+j.held.Worth(b), math.SmallestNonzeroFloat32)
	}
	g := Gain{Value: unit * sum / n, deviation: math.Inf(1)}
	if len(a) < 2 {
		return g
	}
	if !numeric {
		n, square = n+2, square+1
	}
	mean := sum / n
	g.deviation = math.Abs(unit) * math.Sqrt(max(0, square/n-float64(mean*mean))/(n-1))
	low, high := unit*mean-1.96*g.deviation, unit*mean+1.96*g.deviation
	if !numeric {
		low, high = max(-100, low), min(100, high)
	}
	g.Low, g.High = &low, &high
	return g
}

// gainOf returns how much larger the C-index a is than b. Its standard error is at least that of one of n+2 rows: a few
// rows on which both agree are no certainty.
func gainOf(a, b *survival.Concordance) Gain {
	n, g, square := float64(len(a.Influence)), Gain{Value: a.C - b.C}, 0.0
	for i := range a.Influence {
		off := a.Influence[i] - b.Influence[i]
		square += float64(off * off)
	}
	g.deviation = math.Sqrt(square + 1/float64((n+2)*(n+2)))
	low, high := max(-1, g.Value-1.96*g.deviation), min(1, g.Value+1.96*g.deviation)
	g.Low, g.High = &low, &high
	return g
}

// constant returns the marks of always giving the most frequent class of the rows own (the first of equals), or their
// mean target, and that answer in words.
func (j judge) constant(own *task.Data) (marks []float64, answer string) {
	rows := j.held.Data()
	switch j.measure() {
	case score.CIndex:
		return make([]float64, rows.Len()), "the same risk"
	case score.RMSE:
		mean := 0.0
		for _, y := range own.Target {
			mean += y / float64(own.Len())
		}
		for _, y := range rows.Target {
			off := mean - y
			marks = append(marks, float64(off*off))
		}
		return marks, number(mean)
	}
	count := make([]int, own.Classes)
	for _, y := range own.Y {
		count[y]++
	}
	most := slices.Index(count, slices.Max(count))
	for _, y := range rows.Y {
		marks = append(marks, map[bool]float64{true: 1}[y == most])
	}
	if most < len(own.ClassNames) {
		return marks, own.ClassNames[most]
	}
	return marks, strconv.Itoa(most)
}
