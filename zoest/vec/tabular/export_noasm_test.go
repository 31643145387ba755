//go:build purego || !amd64

package tabular

// Variants returns the instruction sets that this processor has: here, only Go.
func Variants() []uint8 { return []uint8{0} }

// Chosen returns the instruction set that the kernels use, and Choose changes it.
func Chosen() uint8 { return 0 }

func Choose(uint8) {}
