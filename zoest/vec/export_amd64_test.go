//go:build !purego

package vec

var isaName = [...]string{isaGo: "Go", isaAVX2: "AVX2", isaAVX512: "AVX512"}

// Variants are those that this processor can run.
func Variants() []Kernels {
	return []Kernels{
		Reference,
		{"AVX2", dotAVX2, axpyAVX2, scaleAVX2, stepAVX2, replaceAVX2, signAxpyAVX2,
			signPerturbAVX2, signScaleAVX2},
		{"AVX512", dotAVX512, axpyAVX512, scaleAVX512, stepAVX512, replaceAVX512, signAxpyAVX512,
			signPerturbAVX512, signScaleAVX512},
	}[:detectISA()+1]
}

// Chosen names the variant that the exported functions use.
func Chosen() string { return isaName[isa] }

// Choose makes the exported functions use another variant, where there is a choice, and reports whether they do.
func Choose(name string) bool {
	for i, n := range isaName {
		if n == name && i <= int(detectISA()) {
			isa = uint8(i)
			return true
		}
	}
	return false
}

// DirtyUpper reports whether the upper halves of a vector register are in use, which makes the scalar code that follows
// slow. It returns ok = false if the processor does not tell.
func DirtyUpper() (dirty, ok bool) {
	if leaves, _, _, _ := cpuid(0, 0); leaves < 13 || isa == isaGo {
		return false, false
	}
	if a, _, _, _ := cpuid(13, 1); a&(1<<2) == 0 {
		return false, false
	}
	return xgetbv(1)&(1<<2|1<<6) != 0, true
}
