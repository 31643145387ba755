package graph

// Chebyshev is a schedule of rounds that reach agreement faster than the method's own consensus. In a step a member
// moves by the sum of its flows f_ij over its neighbors j,
//
//	f_ij <- carry*f_ij + weight*(x_j - x_i),    f_ij = -f_ji,
//
// so that the mean of all members stays constant. After n steps, disagreement in a mode of the Laplacian with
// eigenvalue lambda has been multiplied by a polynomial of degree n in lambda, whose absolute value is at most 1 for
// all lambda in 0..High. This is Chebyshev's semi-iteration (Golub and Varga, Numerische Mathematik 1961; on networks:
// Montijano et al., IEEE Transactions on Automatic Control 2013). The schedule needs O(sqrt(High/Low)) rounds where a
// recursion without carry needs O(High/Low).
type Chebyshev struct {
	High float64 // upper bound of the Laplacian's eigenvalues, > 0
	Low  float64 // least eigenvalue that the polynomial covers, 0 < Low <= High
	// Floor replaces Low in rounds of mixing, because a few steps are most effective if they leave the slowest modes to
	// the method's own steps and the cool-down.
	Floor float64
}

// Chebyshev returns the schedule for a connected graph of two or more nodes. Its bounds are rounded to 24 bits, so they
// do not depend on the last bit of a processor's cosine.
func (g *Graph) Chebyshev() Chebyshev {
	high := float64(float32(g.LambdaMax() * (1 + 0x1p-20)))
	low := min(float64(float32(g.Lambda2())), high)
	return Chebyshev{High: high, Low: low, Floor: max(low, high/6)}
}

// Mixing returns the coefficients of round t, counted from 0, of a block of n rounds of mixing. The polynomial of the
// whole block is a square, multiplied by 1 - lambda/High if n is odd, so all its values are in 0..1. The method is
// therefore stable for the same step sizes as without mixing.
func (c Chebyshev) Mixing(t, n int) (carry, weight float64) {
	if n%2 == 1 {
		if t == 0 {
			return 0, 1 / c.High
		}
		t--
	}
	return semi(t%max(1, n/2), c.Floor, c.High)
}

// Cooldown returns the coefficients of round t, counted from 0, of the cool-down.
func (c Chebyshev) Cooldown(t int) (carry, weight float64) { return semi(t, c.Low, c.High) }

// semi returns the coefficients of step t, counted from 0, of a semi-iteration for the eigenvalues low..high.
func semi(t int, low, high float64) (carry, weight float64) {
	const settled = 200 // the coefficients have converged by then at every ratio in use
	ratio, omega := (high-low)/(high+low), 1.0
	for k := 1; k <= min(t, settled); k++ {
		if omega = 1 / (1 - float64(ratio*ratio)*omega/4); k == 1 {
			omega = 1 / (1 - float64(ratio*ratio)/2)
		}
	}
	return omega - 1, float64(omega*2) / (low + high)
}
