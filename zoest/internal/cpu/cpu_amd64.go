//go:build !purego

package cpu

// Best returns the best instruction set that both the processor and the operating system support.
func Best() uint8 {
	const (
		osxsave = 1 << 27 // leaf 1, ECX
		avx     = 1 << 28
		avx2    = 1 << 5 // leaf 7, EBX
		avx512f = 1 << 16

		xcrAVX    = 1<<1 | 1<<2   // XCR0: XMM, YMM
		xcrAVX512 = xcrAVX | 7<<5 // plus masks, upper halves of Z0-Z15, Z16-Z31
	)
	if leaves, _, _, _ := cpuid(0, 0); leaves < 7 {
		return Go
	}
	_, _, c1, _ := cpuid(1, 0)
	if c1&osxsave == 0 || c1&avx == 0 {
		return Go
	}
	_, b7, _, _ := cpuid(7, 0)
	xcr0 := xgetbv(0)
	switch {
	case b7&avx2 == 0 || xcr0&xcrAVX != xcrAVX:
		return Go
	case b7&avx512f == 0 || xcr0&xcrAVX512 != xcrAVX512:
		return AVX2
	}
	return AVX512
}

// DirtyUpper reports whether the upper half of any vector register is in use, which slows down scalar code. ok is false
// if the processor cannot report this.
func DirtyUpper() (dirty, ok bool) {
	if leaves, _, _, _ := cpuid(0, 0); leaves < 13 || Best() == Go {
		return false, false
	}
	if a, _, _, _ := cpuid(13, 1); a&(1<<2) == 0 {
		return false, false
	}
	return xgetbv(1)&(1<<2|1<<6) != 0, true
}

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

// xgetbv returns the lower half of an extended control register. Register 0 lists the register states that the
// operating system saves, and register 1 the states that are in use.
func xgetbv(index uint32) uint32
