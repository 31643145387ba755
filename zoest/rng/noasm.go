//go:build purego || !(amd64 || arm64)

package rng

func run(dst []uint64, c0, c1, c2, c3, k0, k1 uint32) { runGo(dst, c0, c1, c2, c3, k0, k1) }

func rows(dst []uint64, components []int, c0, c2, c3, k0, k1 uint32) {
	rowsGo(dst, components, c0, c2, c3, k0, k1)
}
