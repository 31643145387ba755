package task

import (
	"slices"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Judge says what parameters are worth on all samples, which must have classes. It fails where Loss would fail, and if a
// probability is NaN.
func (m *Model) Judge(x []float32) (*ClassMetrics, error) {
	if err := m.check(x); err != nil {
		return nil, err
	}
	said := make([]int, m.data.Len())
	if m.head.classes != 2 {
		for i := range said {
			said[i] = m.predict(x, i)
		}
		return JudgeClasses(m.head.classes, m.data.Y, said, nil)
	}
	ones := make([]float64, m.data.Len())
	for i := range said {
		ones[i] = m.score(x, i)
		said[i] = sideOf(ones[i])
	}
	vec.Sigmoids(ones)
	return JudgeClasses(m.head.classes, m.data.Y, said, ones)
}

// Majority returns the accuracy of always saying the most frequent class, in [0, 1]; 0 without classes.
func (m *Model) Majority() float64 {
	if m.err != nil || m.goal != nil {
		return 0
	}
	of := make([]int, m.head.classes)
	for _, y := range m.data.Y {
		of[y]++
	}
	return float64(slices.Max(of)) / float64(m.data.Len())
}
