package graph

// StabilityLimit bounds the round gain. With a = tau*beta*eta*mu, disagreement along a Laplacian mode with eigenvalue
// lambda follows the matrix
//
//	M = [[1 - a*rho*lambda, -a], [rho*lambda/2, 1]]
//
// and all modes decay (every M is Schur stable) exactly when 0 < a*rho*LambdaMax < StabilityLimit. The paper proves
// this in its stability lemma.
const StabilityLimit = 8.0 / 3

// Gain returns the round gain a = share*StabilityLimit/(rho*LambdaMax), or 0 on a single node. The caller checks that
// share is in (0, 1) and rho > 0.
func (g *Graph) Gain(share, rho float64) float64 {
	if g.N() == 1 {
		return 0
	}
	return share * StabilityLimit / (rho * g.LambdaMax())
}

// LambdaMax returns the largest eigenvalue of the Laplacian; 0 for a single node. Up to rounding, the result is never
// too low, so that an error favors stability. For N <= 301 the relative error is below 1e-9. On larger graphs the
// result is exact for the five kinds that [Graph.Lambda2] names. On all other graphs the relative error is at most 1e-5
// unless eigenvalues are crowded, and the result is never above the largest sum of the degrees of the two ends of an
// edge. The graph caches the result.
//
// Up to N = 301 the bits of the result and of [Graph.Gain] are the same in every version, so that one version can
// continue the run of another version. On larger graphs the last digits may change.
func (g *Graph) LambdaMax() float64 { return g.lambdaMax() }

// Lambda2 returns the smallest eigenvalue of the Laplacian above zero, the algebraic connectivity; 0 for a single node.
// The graph caches the result.
//
// Rings, paths, stars and complete graphs in any numbering, and grids numbered by rows, have closed forms. On other
// graphs of up to 301 nodes the relative error is below 1e-9 unless the eigenvalue is tiny; up to rounding, the result
// is never too high. On all other graphs the result is too low by a millionth, or by more if eigenvalues are crowded.
// For these graphs it is not proved, but very likely, that the result is never too high: an iteration with a fixed
// random start could miss a mode that is nearly absent in that start.
func (g *Graph) Lambda2() float64 { return g.lambda2() }

const below = 1e-6 // share by which [Graph.Lambda2] stays below the result of an iteration

func (g *Graph) largest() (theta float64) {
	var residual float64
	if top, _, ok := g.known(); ok && g.N() > maxSteps+1 {
		return top
	} else if g.N() <= maxSteps+1 {
		theta, residual = g.extreme(true)
	} else {
		theta, residual = g.approach(true, tolerance)
	}
	return min(theta+residual, g.bound())
}

func (g *Graph) second() float64 {
	if _, second, ok := g.known(); ok {
		return second
	}
	if g.N() <= maxSteps+1 {
		theta, _ := g.extreme(false)
		return theta
	}
	theta, residual := g.approach(false, below/10)
	n := float64(g.N())
	return max(theta-max(below*theta, 10*residual), 4/(n*n)) // 4/(N*diameter): Mohar, "The Laplacian spectrum of graphs", 1991
}

// bound returns an upper bound on the largest eigenvalue, sometimes the eigenvalue itself: the largest sum of the
// degrees of the two ends of an edge (Anderson and Morley, "Eigenvalues of the Laplacian of a graph", 1985), or the
// number of nodes if that is less.
func (g *Graph) bound() float64 {
	b := 0
	for _, e := range g.edges {
		b = max(b, len(g.neighbors[e[0]])+len(g.neighbors[e[1]]))
	}
	return float64(min(b, g.N()))
}
