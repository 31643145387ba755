// Package method implements the compared methods from their published descriptions, behind a common interface.
//
// All methods run on the same [World]: the same clients and samples, graph, initial model, number of communication
// rounds, and budget of loss queries. A method sees only the losses of a client, unless the method's name says that it
// uses gradients.
package method
