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

// Each kernel's entry jumps to the variant that isa names. The arguments have been checked: see vec.go.

//go:noescape
func dot(x, y []float32) float64

//go:noescape
func axpy(y []float32, a float32, x []float32)

//go:noescape
func scale(y []float32, a float32)

//go:noescape
func step(phi []float32, eta float32, v []float32, c float32, p []float32)

//go:noescape
func replace(a, v, abar, q []float32, byB, byM float32)

//go:noescape
func signAxpy(y []float32, a float32, signs []uint64)

//go:noescape
func signPerturb(y, x []float32, mu float32, signs []uint64)

//go:noescape
func signScale(y []float32, a float32, signs []uint64)

// The variants. Only the entries and the tests call them.

func dotAVX2(x, y []float32) float64
func dotAVX512(x, y []float32) float64
func axpyAVX2(y []float32, a float32, x []float32)
func axpyAVX512(y []float32, a float32, x []float32)
func scaleAVX2(y []float32, a float32)
func scaleAVX512(y []float32, a float32)
func stepAVX2(phi []float32, eta float32, v []float32, c float32, p []float32)
func stepAVX512(phi []float32, eta float32, v []float32, c float32, p []float32)
func replaceAVX2(a, v, abar, q []float32, byB, byM float32)
func replaceAVX512(a, v, abar, q []float32, byB, byM float32)
func signAxpyAVX2(y []float32, a float32, signs []uint64)
func signAxpyAVX512(y []float32, a float32, signs []uint64)
func signPerturbAVX2(y, x []float32, mu float32, signs []uint64)
func signPerturbAVX512(y, x []float32, mu float32, signs []uint64)
func signScaleAVX2(y []float32, a float32, signs []uint64)
func signScaleAVX512(y []float32, a float32, signs []uint64)
