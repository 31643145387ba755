package tinytest

// BoundedNonconvex returns an objective for one client with the loss q/(1+q) for each sample, where q = c|x - x*|² and
// c in [1/2, 3/2] depends on the sample. The loss lies in [0, 1). It is convex only near its minimum and almost flat
// far from it. The minimum is 0, at a point x* in [-1, 1]^d that all clients with the same seed share.
func BoundedNonconvex(seed uint64, client, dim, samples int) *Objective {
	l := newObjective(seed, client, dim, samples)
	steepness := eighths(seed, uint32(client), everybody, samples)
	for i, c := range steepness {
		steepness[i] = 1 + c/2
	}
	l.at = func(x []float32, sample int) float64 {
		c, q := steepness[sample], 0.0
		for i, least := range l.least {
			off := float64(x[i]) - least
			q += float64(off * off)
		}
		q = float64(c * q)
		return q / (1 + q)
	}
	return l
}
