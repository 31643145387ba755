package topology

import (
	"math"

	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// Contraction returns the spectral radius of the matrix M of [graph.StabilityLimit] for an eigenvalue lambda. This is the
// factor by which, in the long run, a round shrinks (below 1) or grows (above 1) the disagreement along the mode of
// lambda. With g = a*rho*lambda, M has trace 2-g and determinant 1-g/2, eq. (trace-det) of the paper: its eigenvalues
// are a complex pair of size sqrt(1-g/2) for 0 < g < 2, and real otherwise. As g grows from 0 to 2, Contraction falls
// from 1 to 0; then it rises. Over all modes of a graph it is therefore largest at [graph.Graph.Lambda2] or at
// [graph.Graph.LambdaMax].
func Contraction(a, rho, lambda float64) float64 {
	t := 1 - a*rho*lambda/2 // determinant and half the trace
	if t >= 0 && t <= 1 {
		return math.Sqrt(t)
	}
	return math.Abs(t) + math.Sqrt(float64(t*t)-t)
}

// ContractionOf returns the largest contraction of all modes of the graph, 0 for a single node.
func ContractionOf(g *graph.Graph, a, rho float64) float64 {
	if g.N() == 1 {
		return 0
	}
	return max(Contraction(a, rho, g.Lambda2()), Contraction(a, rho, g.LambdaMax()))
}
