// Bench times the kernels of zoest/vec against what else a Go program could call, and against the machine's memory, in
// one process and in turns, and prints a table of nanoseconds and ratios. See README.md.
//
//	go run .                        the whole table, about a minute
//	go run . -op axpy,dot -n 10,40  a part of it
//	go test -bench .                the same loops under the testing package
package main
