// Package cpu says which instructions the assembly of packages vec and rng may use on this processor.
package cpu

// The instruction sets of the amd64 assembly, which compares them by number.
const (
	Go     = 0 // none: what is written in Go
	AVX2   = 1
	AVX512 = 2 // AVX-512F
)
