// Package method holds the methods that the tables compare, each from its own published description, behind one
// interface.
//
// All run on the same [World]: the same clients with the same samples, the same graph, the same start, the same number
// of communication rounds and the same budget of loss queries. None sees more of a client than its losses.
package method
