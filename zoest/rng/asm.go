//go:build !purego && (amd64 || arm64)

package rng

const (
	group = 8 // blocks per assembly iteration; the assembly stores whole groups only
	few   = 2 // up to this many blocks are faster in Go than a group in assembly
)

// run has the same result as runGo but uses assembly where that is faster.
func run(dst []uint64, c0, c1, c2, c3, k0, k1 uint32) {
	if n := len(dst) / (2 * group); n > 0 && vector {
		runAsm(&dst[0], n, c0, c1, c2, c3, k0, k1)
		dst, c0 = dst[2*group*n:], c0+uint32(group*n)
	}
	if len(dst) <= 2*few || !vector {
		runGo(dst, c0, c1, c2, c3, k0, k1)
		return
	}
	var last [2 * group]uint64
	runAsm(&last[0], 1, c0, c1, c2, c3, k0, k1)
	copy(dst, last[:])
}

// rows has the same result as rowsGo but uses assembly where that is faster.
func rows(dst []uint64, components []int, c0, c2, c3, k0, k1 uint32) {
	dst = dst[:2*len(components)]
	if wide && vector && len(components) > few {
		rowsAVX512(&dst[0], &components[0], len(components), c0, c2, c3, k0, k1)
		return
	}
	rest := components
	if n := len(components) / group; n > 0 && vector {
		rowsAsm(&dst[0], &components[0], n, c0, c2, c3, k0, k1)
		rest = components[group*n:]
	}
	if len(rest) <= few || !vector {
		rowsGo(dst[len(dst)-2*len(rest):], rest, c0, c2, c3, k0, k1)
		return
	}
	if from := len(components) - group; from >= 0 { // store some blocks of the group before a second time
		rowsAsm(&dst[2*from], &components[from], 1, c0, c2, c3, k0, k1)
		return
	}
	var last [2 * group]uint64
	var padded [group]int
	copy(padded[:], components)
	rowsAsm(&last[0], &padded[0], 1, c0, c2, c3, k0, k1)
	copy(dst, last[:])
}

// runAsm has the same result as runGo for n groups of blocks. n must be at least 1.
//
//go:noescape
func runAsm(dst *uint64, n int, c0, c1, c2, c3, k0, k1 uint32)

// rowsAsm has the same result as rowsGo for n groups of components. n must be at least 1.
//
//go:noescape
func rowsAsm(dst *uint64, components *int, n int, c0, c2, c3, k0, k1 uint32)
