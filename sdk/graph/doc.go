// Package graph describes who talks to whom: an undirected, connected, simple graph over the nodes 0..N-1, and the
// two numbers of its spectrum that the method needs.
//
// A graph comes from an edge list ([New]) or from a short description such as "ring" or "er:0.3" ([Parse]). Every
// node of one run must build the same graph, so everything here is a function of its arguments alone, with the same
// bits on every processor.
//
// The Laplacian of a graph is D - A, degrees on the diagonal and -1 for each edge. Its largest eigenvalue,
// [Graph.LambdaMax], decides how hard disagreement between neighbors may be corrected in a round before the
// correction overshoots for good ([StabilityLimit], [Graph.Gain]); its smallest one above zero, [Graph.Lambda2],
// says how fast agreement spreads.
package graph
