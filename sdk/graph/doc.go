// Package graph describes the communication graph of a run, which is undirected, connected and simple, with the nodes
// 0..N-1. The package also computes the spectrum of the graph, and how much noise hides each node if neighbors share
// noise.
//
// A graph comes from an edge list ([New]); package topology makes graphs from short descriptions such as "ring". All nodes
// of a run must build the same graph, so every result depends on the arguments alone, with the same bits on every
// processor.
//
// The Laplacian of a graph is D - A: the degrees are on the diagonal, and each edge has two entries of -1. Its largest
// eigenvalue, [Graph.LambdaMax], limits how strongly a round may correct disagreement between neighbors without
// overshooting ([StabilityLimit], [Graph.Gain]). Its smallest eigenvalue above zero, [Graph.Lambda2], determines how
// fast the members reach agreement. [Graph.Chebyshev] has the weights of the rounds of mixing and cool-down.
package graph
