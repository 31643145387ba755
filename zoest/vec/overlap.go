package vec

import "unsafe"

// inPlace panics if a destination and a source of the same length overlap without being the same slice: then a kernel
// that takes several elements at a time would read what it has just written, or not, depending on the processor.
func inPlace(dst, src []float32) {
	if dist := distance(dst, src); dist != 0 && near(dist, len(dst)) {
		panic("vec: destination and source overlap at an offset")
	}
}

// apart panics if two slices of the same length share any element.
func apart(a, b []float32) {
	if near(distance(a, b), len(a)) {
		panic("vec: slices overlap that must not")
	}
}

// distance returns how many bytes b begins after a, modulo the size of the address space.
func distance(a, b []float32) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(a)))
}

// near reports whether two slices of n elements at this distance share memory.
func near(dist uintptr, n int) bool {
	size := uintptr(n) * 4
	return dist < size || -dist < size
}
