//go:build !purego

package vec

// isa is the instruction set that the kernels below use; the assembly compares it by number. Processors without AVX2,
// some ten years old and more, run the Go.
var isa = detectISA()

const (
	isaGo     = 0
	isaAVX2   = 1
	isaAVX512 = 2 // AVX-512F
)

// detectISA asks the processor what it can do and the operating system which registers it saves.
func detectISA() uint8 {
	const (
		osxsave = 1 << 27 // leaf 1, ECX
		avx     = 1 << 28
		avx2    = 1 << 5 // leaf 7, EBX
		avx512f = 1 << 16

		xcrAVX    = 1<<1 | 1<<2   // XCR0: XMM, YMM
		xcrAVX512 = xcrAVX | 7<<5 // and masks, upper halves of Z0-Z15, Z16-Z31
	)
	if leaves, _, _, _ := cpuid(0, 0); leaves < 7 {
		return isaGo
	}
	_, _, c1, _ := cpuid(1, 0)
	if c1&osxsave == 0 || c1&avx == 0 {
		return isaGo
	}
	_, b7, _, _ := cpuid(7, 0)
	xcr0 := xgetbv(0)
	switch {
	case b7&avx2 == 0 || xcr0&xcrAVX != xcrAVX:
		return isaGo
	case b7&avx512f == 0 || xcr0&xcrAVX512 != xcrAVX512:
		return isaAVX2
	}
	return isaAVX512
}

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

// xgetbv returns the lower half of an extended control register: 0 has the register states that the operating system
// saves, 1 those of them that are in use.
func xgetbv(index uint32) uint32
