package task

import (
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Scores has the figures of one kind of task; the others are nil.
type Scores struct {
	Classes  *score.ClassMetrics
	Numbers  *score.NumberMetrics
	Survival *survival.Metrics
}

// Judge measures the quality of parameters on all samples. It fails if Loss would fail or an answer is not finite.
func (m *Model) Judge(x []float32) (Scores, error) { return m.judge(x, nil) }

// judge is like Judge. For two classes, threshold, if not nil, chooses the class; see [Predictor].
func (m *Model) judge(x []float32, threshold func(is []int, probability []float64) (float64, error)) (s Scores, err error) {
	answers, err := m.Answers(x)
	if err != nil {
		return s, err
	}
	switch {
	case m.lives != nil:
		risks, _ := m.Marks(x) // fails only if Answers does
		s.Survival = survival.Judge(m.data.Horizon.Cuts(), m.data.Time, m.data.Y, risks, answers)
		return s, nil
	case m.goal != nil:
		s.Numbers = score.Numbers(m.data.Target, slices.Concat(answers...))
		return s, nil
	}
	var said []int
	var ones []float64
	for i, p := range answers {
		if said = append(said, m.predict(x, i)); len(p) == 2 {
			ones = append(ones, p[1])
		}
	}
	if ones != nil && threshold != nil {
		least, err := threshold(m.data.Y, ones)
		if err != nil {
			return s, err
		}
		for i, probability := range ones {
			said[i] = 0
			if probability >= least {
				said[i] = 1
			}
		}
	}
	s.Classes = score.Classes(m.head.classes, m.data.Y, said, ones)
	return s, nil
}

// Answers returns what the model says of each sample: the probability of each class, the predicted target in its unit, or the
// probabilities of surviving each finite interval. It fails if Loss would fail or an answer is not finite.
func (m *Model) Answers(x []float32) ([][]float64, error) {
	if err := m.check(x); err != nil {
		return nil, err
	}
	var constants []float64 // b of each interval, for survival
	for _, b := range x[min(m.data.Dim, len(x)):] {
		constants = append(constants, float64(b))
	}
	all := make([][]float64, m.data.Len())
	for i := range all {
		z := 0.0
		if m.head.classes == 2 {
			z = m.score(x, i)
		}
		switch {
		case m.lives != nil:
			all[i] = survival.Curve(z, constants)
		case m.goal != nil:
			all[i] = []float64{m.data.Range.at(vec.Sigmoid(z))}
		case m.head.classes == 2:
			all[i] = []float64{vec.Sigmoid(-z), vec.Sigmoid(z)}
		default:
			var u units
			w, a := m.last(&u, x, i)
			for k := range m.head.classes {
				all[i] = append(all[i], m.head.logit(w, a, k))
			}
			softmax(all[i])
		}
		if !finite(all[i]) || m.lives != nil && math.IsInf(z, 0) {
			return nil, fmt.Errorf(tooLarge, i+1)
		}
	}
	return all, nil
}

const tooLarge = "task: sample %d has numbers too large for the model" // its output is NaN

// Marks returns the share of each sample in the task's measure: for classes 1 if the predicted class is the true class,
// else 0; for a target the squared error, in the unit of the target; for survival the score <w, x>, of which only
// the order counts. A model whose output is NaN for a sample predicts it as badly as it can.
func (m *Model) Marks(x []float32) ([]float64, error) {
	if err := m.check(x); err != nil {
		return nil, err
	}
	marks := make([]float64, m.data.Len())
	for i, class := range m.data.Y {
		switch {
		case m.lives != nil:
			if marks[i] = m.score(x, i); math.IsNaN(marks[i]) {
				marks[i] = math.Inf(1 - 2*class) // an event at no risk, or a survivor at the highest
			}
		case m.goal != nil:
			y, r := m.data.Target[i], m.data.Range
			off := r.at(vec.Sigmoid(m.score(x, i))) - y
			if math.IsNaN(off) {
				off = max(math.Abs(y-r.Low), math.Abs(y-r.High))
			}
			marks[i] = float64(off * off)
		case m.predict(x, i) == class:
			marks[i] = 1
		}
	}
	return marks, nil
}

// Worth returns the measure of answers that have the given marks, see [Model.Marks] and [Kind.Measure]. A C-index is NaN if
// no two samples can be compared.
func (m *Model) Worth(marks []float64) float64 {
	if m.lives != nil {
		return survival.Concord(m.data.Time, m.data.Y, marks).C
	}
	if m.goal != nil {
		return math.Sqrt(sum(marks) / float64(len(marks)))
	}
	return 100 * sum(marks) / float64(len(marks))
}

func sum(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// On returns the same kind of model for other samples.
func (m *Model) On(d *Data) *Model { return m.spec.New(d) }

// MeanLoss returns the mean loss over all samples, or NaN if Loss would fail.
func (m *Model) MeanLoss(x []float32) float64 {
	if m.check(x) != nil {
		return math.NaN()
	}
	sum := 0.0
	for i := range m.data.Y {
		sum += m.loss(x, i)
	}
	return sum / float64(m.data.Len())
}

// Accuracy returns the share of samples, in [0, 1], whose most probable class is the true class. If several classes are
// equally probable, the first of them is the prediction; a sample whose output is NaN counts as wrong. Accuracy returns
// NaN if Loss would fail or the model predicts no classes.
func (m *Model) Accuracy(x []float32) float64 {
	marks, err := m.Marks(x)
	if err != nil || m.goal != nil || m.lives != nil {
		return math.NaN()
	}
	return sum(marks) / float64(len(marks))
}

// Majority returns the accuracy of always predicting the most frequent class, in [0, 1], or 0 if there are no classes.
func (m *Model) Majority() float64 {
	if m.err != nil || m.goal != nil || m.lives != nil {
		return 0
	}
	most := 0
	for _, members := range byClass(m.data.Y, m.head.classes) {
		most = max(most, len(members))
	}
	return float64(most) / float64(m.data.Len())
}
