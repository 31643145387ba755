package main

import "math"

// These are the straightforward loops. The compiler must not inline them, because it cannot inline the assembly of the
// other contenders; inlining only the loops would make the comparison unfair.

//go:noinline
func plainAxpy(y []float32, a float32, x []float32) {
	x = x[:len(y)]
	for i, xi := range x {
		y[i] += a * xi
	}
}

//go:noinline
func plainDot(x, y []float32) float32 {
	y = y[:len(x)]
	var sum float32
	for i, xi := range x {
		sum += xi * y[i]
	}
	return sum
}

//go:noinline
func plainScale(y []float32, a float32) {
	for i := range y {
		y[i] *= a
	}
}

//go:noinline
func plainStep(phi []float32, eta float32, v []float32, c float32, p []float32) {
	v, p = v[:len(phi)], p[:len(phi)]
	for i := range phi {
		phi[i] -= eta * (v[i] + c*p[i])
	}
}

// flipped returns a as a float, with its sign flipped if bit i of signs is set.
func flipped(a uint32, signs []uint64, i int) float32 {
	return math.Float32frombits(a ^ uint32(signs[i/64]>>(i%64))<<31)
}

//go:noinline
func plainSignAxpy(y []float32, a float32, signs []uint64) {
	bits := math.Float32bits(a)
	for i := range y {
		y[i] += flipped(bits, signs, i)
	}
}

//go:noinline
func plainSignPerturb(y, x []float32, mu float32, signs []uint64) {
	x = x[:len(y)]
	bits := math.Float32bits(mu)
	for i, xi := range x {
		y[i] = xi + flipped(bits, signs, i)
	}
}

//go:noinline
func plainSignScale(y []float32, a float32, signs []uint64) {
	bits := math.Float32bits(a)
	for i := range y {
		y[i] = flipped(bits, signs, i)
	}
}

//go:noinline
func plainTriad(y []float32, a float32, x, z []float32) {
	x, z = x[:len(y)], z[:len(y)]
	for i := range y {
		y[i] = x[i] + a*z[i]
	}
}
