// Package cpu reports which instruction sets the assembly in packages vec and rng may use on this processor.
package cpu

// These constants number the instruction sets that the amd64 assembly may use. The assembly compares the numbers: each
// set includes all sets with lower numbers.
const (
	Go     = 0 // no assembly, only Go
	AVX2   = 1
	AVX512 = 2 // AVX-512F
)
