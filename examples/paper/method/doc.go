// Package method implements the methods that the tables compare, each from its published description, behind one
// interface.
//
// All methods run on the same [World]: the same clients and samples, graph, start, number of communication rounds, and
// budget of loss queries. A method sees nothing of a client but its losses, unless its name says that it uses
// gradients.
package method
