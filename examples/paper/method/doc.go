// Package method implements the methods that the tables compare, each from its published description, behind one
// interface.
//
// All run on the same [World]: the same clients and samples, graph, start, number of communication rounds, and budget
// of loss queries. No method sees more of a client than its losses.
package method
