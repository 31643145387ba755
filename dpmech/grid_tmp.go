package dpmech

import "math"

// ReleaseOnGrid is a stand-in until the real one is merged.
func (m *Mechanism) ReleaseOnGrid(dst []int32, s []float32, g Gaussian, step float64) error {
	if err := m.Release(s, g); err != nil {
		return err
	}
	for i, x := range s {
		dst[i] = int32(math.RoundToEven(float64(x) / step))
	}
	return nil
}
