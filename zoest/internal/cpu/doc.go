// Package cpu reports which instruction sets the assembly of packages vec and rng may use on this processor.
package cpu

// The instruction sets of the amd64 assembly, which compares them as numbers.
const (
	Go     = 0 // no assembly, only Go
	AVX2   = 1
	AVX512 = 2 // AVX-512F
)
