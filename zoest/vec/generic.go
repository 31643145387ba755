package vec

import "math"

// The Go kernels define the results of the assembly. They explicitly convert each product to float32 before adding it,
// which prevents the compiler from fusing the two operations.

// These sizes determine the order of a reduction, as described in the package comment.
const (
	lanes = 64
	block = 4096
)

func dotGo(x, y []float32) float64 {
	y = y[:len(x)]
	var sum float64
	for len(x) > block {
		sum += float64(dotBlock(x[:block], y[:block]))
		x, y = x[block:], y[block:]
	}
	return sum + float64(dotBlock(x, y))
}

// dotBlock returns the sum of x[i]*y[i] over at most one block of elements.
func dotBlock(x, y []float32) float32 {
	var acc [lanes]float32
	used := min(len(x), lanes)
	for len(x) >= lanes {
		xs, ys := x[:lanes:lanes], y[:lanes:lanes]
		for l := range acc {
			acc[l] += float32(xs[l] * ys[l])
		}
		x, y = x[lanes:], y[lanes:]
	}
	for l := range x {
		acc[l] += float32(x[l] * y[l])
	}
	return fold(&acc, used)
}

// fold returns the sum of all lanes. Only the lanes in acc[:used] have been written. All other lanes are +0, and no
// lane is -0, so fold can skip a half that is entirely unused without changing a bit of the result.
func fold(acc *[lanes]float32, used int) float32 {
	half := lanes / 2
	for half >= used && half > 0 {
		half /= 2
	}
	for ; half > 0; half /= 2 {
		for l := range half {
			acc[l] += acc[l+half]
		}
	}
	return acc[0]
}

func axpyGo(y []float32, a float32, x []float32) {
	x = x[:len(y)]
	for i, xi := range x {
		y[i] += float32(a * xi)
	}
}

func scaleGo(y []float32, a float32) {
	for i := range y {
		y[i] *= a
	}
}

func stepGo(phi []float32, eta float32, v []float32, c float32, p []float32) {
	v, p = v[:len(phi)], p[:len(phi)]
	for i := range phi {
		phi[i] -= float32(eta * (v[i] + float32(c*p[i])))
	}
}

// flip returns the float32 with the bits b, negated if the lowest bit of w is set.
func flip(b uint32, w uint64) float32 { return math.Float32frombits(b ^ uint32(w)<<31) }

func signPerturbGo(y, x []float32, mu float32, signs []uint64) {
	x = x[:len(y)]
	mb := math.Float32bits(mu)
	for len(y) > 0 {
		w, n := signs[0], min(64, len(y))
		for i, xi := range x[:n] {
			y[i] = xi + flip(mb, w)
			w >>= 1
		}
		y, x, signs = y[n:], x[n:], signs[1:]
	}
}

func signAddGo(y, x, c []float32, signs []uint64) {
	x, c = x[:len(y)], c[:len(y)]
	for len(y) > 0 {
		w, n := signs[0], min(64, len(y))
		for i, xi := range x[:n] {
			y[i] = xi + flip(math.Float32bits(c[i]), w)
			w >>= 1
		}
		y, x, c, signs = y[n:], x[n:], c[n:], signs[1:]
	}
}

func signScaleGo(y []float32, a float32, signs []uint64) {
	ab := math.Float32bits(a)
	for len(y) > 0 {
		w, n := signs[0], min(64, len(y))
		for i := range y[:n] {
			y[i] = flip(ab, w)
			w >>= 1
		}
		y, signs = y[n:], signs[1:]
	}
}

func signReplaceGo(a, v, abar []float32, c float32, signs []uint64, byB, byM float32) {
	v, abar = v[:len(a)], abar[:len(a)]
	cb := math.Float32bits(c)
	for i := range a {
		q := flip(cb, signs[i/64]>>(i%64))
		diff := q - a[i]
		v[i] += float32(diff * byB)
		abar[i] += float32(diff * byM)
		a[i] = q
	}
}

// signFoldGo returns the sum of x[i]*s[i] over at most one block of elements, in the same order as dotBlock. Each word
// of signs covers one element of each lane.
func signFoldGo(x []float32, signs []uint64) float32 {
	var acc [lanes]float32
	used := min(len(x), lanes)
	for _, w := range signs {
		n := min(lanes, len(x))
		for l, xl := range x[:n] {
			acc[l] += flip(math.Float32bits(xl), w)
			w >>= 1
		}
		x = x[n:]
	}
	return fold(&acc, used)
}
