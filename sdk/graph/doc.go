// Package graph describes the communication graph of a run: an undirected, connected, simple graph over the nodes
// 0..N-1, its spectrum, and how much noise hides each node if neighbors share noise.
//
// A graph comes from an edge list ([New]) or from a short description such as "ring" or "er:0.3" ([Parse]). All nodes
// of a run must build the same graph, so every result depends on the arguments alone, with the same bits on every
// processor.
//
// The Laplacian of a graph is D - A, degrees on the diagonal and -1 for each edge. Its largest eigenvalue,
// [Graph.LambdaMax], limits how strongly a round may correct disagreement between neighbors without overshooting
// ([StabilityLimit], [Graph.Gain]). Its smallest eigenvalue above zero, [Graph.Lambda2], determines how fast agreement
// spreads.
package graph
