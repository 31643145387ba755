package vec

import "math"

// The sign kernels take a vector of signs as packed bits: coordinate i is bit i%64 of word i/64, a clear bit means +1
// and a set bit -1. The signs are never spread out as floats; each is an exclusive or on the sign bit of a number.

// SignWords returns how many 64-bit words hold the signs of an n-vector.
func SignWords(n int) int { return (n + 63) / 64 }

// signMask returns the mask that flips a float32's sign if the lowest bit of w is set.
func signMask(w uint64) uint32 { return uint32(w) << 31 }

// SignAxpy adds a multiple of a sign vector to y: y[i] += a*s[i].
func SignAxpy(y []float32, a float32, signs []uint64) {
	ab := math.Float32bits(a)
	for len(y) > 0 {
		w, n := signs[0], min(64, len(y))
		for i := range y[:n] {
			y[i] += math.Float32frombits(ab ^ signMask(w))
			w >>= 1
		}
		y, signs = y[n:], signs[1:]
	}
}

// SignPerturb moves x along a sign vector: y[i] = x[i] + mu*s[i].
func SignPerturb(y, x []float32, mu float32, signs []uint64) {
	x = x[:len(y):len(x)]
	mb := math.Float32bits(mu)
	for len(y) > 0 {
		w, n := signs[0], min(64, len(y))
		for i, xi := range x[:n] {
			y[i] = xi + math.Float32frombits(mb^signMask(w))
			w >>= 1
		}
		y, x, signs = y[n:], x[n:], signs[1:]
	}
}

// SignScale stores a multiple of a sign vector: y[i] = a*s[i].
func SignScale(y []float32, a float32, signs []uint64) {
	ab := math.Float32bits(a)
	for len(y) > 0 {
		w, n := signs[0], min(64, len(y))
		for i := range y[:n] {
			y[i] = math.Float32frombits(ab ^ signMask(w))
			w >>= 1
		}
		y, signs = y[n:], signs[1:]
	}
}
