// Package tinytest is the kit that SPADE-Edge tests itself with, and that an embedder can use: outside go test as well,
// since its functions return errors.
//
// [Sim] runs the machines of a whole network on one goroutine. What it computes is, bit for bit, what the same
// machines compute as nodes with sockets between them.
package tinytest
