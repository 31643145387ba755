// Package cpu reports which instruction sets the assembly of packages vec and rng may use on this processor.
package cpu

// The instruction sets that the amd64 assembly may use. The assembly compares their numbers: a higher set includes the
// lower ones.
const (
	Go     = 0 // no assembly, only Go
	AVX2   = 1
	AVX512 = 2 // AVX-512F
)
