package task

import (
	"errors"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Judge measures the quality of parameters on all samples. The samples must have classes. Judge fails if Loss would
// fail or a probability is NaN.
func (m *Model) Judge(x []float32) (*score.ClassMetrics, error) { return m.judge(x, nil) }

// judge is like Judge. For two classes, threshold, if not nil, chooses the class; see [Predictor].
func (m *Model) judge(x []float32, threshold func(is []int, probability []float64) (float64, error)) (*score.ClassMetrics, error) {
	answers, err := m.Answers(x)
	if err == nil && m.lives != nil {
		err = errors.New("task: the model predicts survival, want a model of classes")
	}
	if err != nil {
		return nil, err
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
			return nil, err
		}
		for i, probability := range ones {
			said[i] = 0
			if probability >= least {
				said[i] = 1
			}
		}
	}
	return score.Classes(m.head.classes, m.data.Y, said, ones), nil
}

// Survival measures the survival of all samples as predicted and, if corrected is not nil, as it returns it for a sample's
// probabilities of surviving each finite interval. It fails if Loss would fail, the model has no survival task, or a
// prediction is not finite.
func (m *Model) Survival(x []float32, corrected func(curve []float64) []float64) (*survival.Metrics, error) {
	curves, risks, err := m.curves(x)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(curves) && corrected != nil; i++ {
		curves[i] = corrected(curves[i])
	}
	return survival.Judge(m.data.Horizon.Cuts(), m.data.Time, m.data.Y, risks, curves), nil
}

// curves returns each sample's probabilities of surviving each finite interval, and its risk. It fails like risks.
func (m *Model) curves(x []float32) (curves [][]float64, risks []float64, err error) {
	if risks, err = m.risks(x); err != nil {
		return nil, nil, err
	}
	var b []float64
	for _, v := range x[m.data.Dim:] {
		b = append(b, float64(v))
	}
	for _, z := range risks {
		curves = append(curves, survival.Curve(z, b))
	}
	return curves, risks, nil
}

// risks returns the score <w, x> of each sample of a survival task, which is higher for a higher risk. It fails like
// [Model.Survival].
func (m *Model) risks(x []float32) ([]float64, error) {
	if err := m.check(x); err != nil {
		return nil, err
	}
	if m.lives == nil {
		return nil, errors.New("task: the model does not predict survival, want one that does")
	}
	risks := make([]float64, m.data.Len())
	for i := range risks {
		if risks[i] = m.score(x, i); !finite(risks[i : i+1]) {
			return nil, fmt.Errorf(tooLarge, i+1)
		}
	}
	return risks, nil
}

// Answers returns what the model says of each sample: the probability of each class, the predicted target in its unit, or the
// probabilities of surviving each finite interval. It fails if Loss would fail or an answer is not finite.
func (m *Model) Answers(x []float32) ([][]float64, error) {
	if err := m.check(x); err != nil {
		return nil, err
	}
	if m.lives != nil {
		curves, _, err := m.curves(x)
		return curves, err
	}
	all := make([][]float64, m.data.Len())
	for i := range all {
		var u units
		w, a := m.last(&u, x, i)
		switch {
		case m.goal != nil:
			all[i] = []float64{m.data.Range.at(vec.Sigmoid(vec.Dot(w, a)))}
		case m.head.classes == 2:
			z := vec.Dot(w, a)
			all[i] = []float64{vec.Sigmoid(-z), vec.Sigmoid(z)}
		default:
			for k := range m.head.classes {
				all[i] = append(all[i], m.head.logit(w, a, k))
			}
			softmax(all[i])
		}
		if !finite(all[i]) {
			return nil, fmt.Errorf(tooLarge, i+1)
		}
	}
	return all, nil
}

const tooLarge = "task: sample %d has numbers too large for the model" // its output is NaN

// Errors compares predictions with the targets of all samples, in the unit of the targets. It fails if Loss would fail,
// the model has no target, or a target or a prediction is not finite.
func (m *Model) Errors(x []float32) (*score.NumberMetrics, error) {
	if err := m.check(x); err != nil {
		return nil, err
	}
	if m.goal == nil {
		return nil, errors.New("task: the model predicts classes, want a model with a numeric target")
	}
	is, said := make([]float64, m.data.Len()), make([]float64, m.data.Len())
	for i, y := range m.data.Target {
		is[i], said[i] = y, m.data.Range.at(vec.Sigmoid(m.score(x, i)))
		if !finite([]float64{is[i], said[i]}) {
			return nil, fmt.Errorf(tooLarge, i+1)
		}
	}
	return score.Numbers(is, said), nil
}

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
	sum := 0.0
	for _, mark := range marks {
		sum += mark
	}
	if m.goal != nil {
		return math.Sqrt(sum / float64(len(marks)))
	}
	return 100 * sum / float64(len(marks))
}

// On returns the same kind of model for other samples.
func (m *Model) On(d *Data) *Model { return m.spec.New(d) }

// MeanLoss returns the mean loss over all samples, or NaN if Loss would fail.
func (m *Model) MeanLoss(x []float32) float64 { return m.mean(x, m.loss) }

// Accuracy returns the share of samples, in [0, 1], whose most probable class is the true class. If several classes are
// equally probable, the first of them is the prediction; a sample whose output is NaN counts as wrong. Accuracy returns
// NaN if Loss would fail or the model predicts no classes.
func (m *Model) Accuracy(x []float32) float64 {
	if m.goal != nil || m.lives != nil {
		return math.NaN()
	}
	return m.mean(x, func(x []float32, sample int) float64 {
		if m.predict(x, sample) == m.data.Y[sample] {
			return 1
		}
		return 0
	})
}

func (m *Model) mean(x []float32, f func(x []float32, sample int) float64) float64 {
	if m.check(x) != nil {
		return math.NaN()
	}
	sum := 0.0
	for i := range m.data.Y {
		sum += f(x, i)
	}
	return sum / float64(m.data.Len())
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
