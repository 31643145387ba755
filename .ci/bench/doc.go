// Command bench compares the speed of this project with that of other programs that do the same job on the same
// machine at the same time. See README.md.
//
//	bash run                        prints the page with all ratios, in a few minutes; results.md has its output
//	go run . -op axpy,dot -n 10,40  compares only kernels: these operations at these lengths
//	go test -bench .                runs the kernels as benchmarks of package testing
package main
