package vec

import "unsafe"

// inPlace panics if a destination and a source of the same length overlap without being the same slice: a kernel that
// takes several elements at a time would read what it has just written, or not, depending on the processor.
func inPlace(dst, src []float32) {
	if unsafe.SliceData(dst) != unsafe.SliceData(src) && overlap(dst, src) {
		panic("vec: destination and source overlap at an offset")
	}
}

// disjoint panics if any two of four slices of the same length share an element.
func disjoint(a, b, c, d []float32) {
	if overlap(a, b) || overlap(a, c) || overlap(a, d) || overlap(b, c) || overlap(b, d) || overlap(c, d) {
		panic("vec: slices overlap that must not")
	}
}

// overlap reports whether two slices of the same length share memory. Distances are modulo the size of the address
// space.
func overlap(a, b []float32) bool {
	dist := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(a)))
	size := uintptr(len(a)) * 4
	return dist < size || -dist < size
}
