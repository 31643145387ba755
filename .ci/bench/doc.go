// Bench measures the project's speed as ratios to other programs that do the same job on the same machine at the same
// time. See README.md.
//
//	bash run                        the page of all ratios, in some minutes: results.md is its output
//	go run . -op axpy,dot -n 10,40  only kernels, or some of them
//	go test -bench .                the kernels under the testing package
package main
