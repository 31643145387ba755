package method

import "slices"

// Averages is the running mean of each client's releases, in float32. The zero value is the mean of no release.
type Averages struct {
	releases int
	models   [][]float32
}

// Add takes the next release of every client into the mean.
func (m *Averages) Add(models [][]float32) {
	m.releases++
	for i, x := range models {
		if m.releases == 1 {
			m.models = append(m.models, make([]float32, len(x)))
		}
		for k, v := range x {
			m.models[i][k] += (v - m.models[i][k]) / float32(m.releases)
		}
	}
}

// Models returns a copy of each client's mean.
func (m *Averages) Models() [][]float32 {
	all := make([][]float32, len(m.models))
	for i, x := range m.models {
		all[i] = slices.Clone(x)
	}
	return all
}
