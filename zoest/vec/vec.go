package vec

// Axpy adds a multiple of x to y: y[i] += a*x[i].
func Axpy(y []float32, a float32, x []float32) {
	x = x[:len(y):len(x)]
	for i, xi := range x {
		y[i] += float32(a * xi)
	}
}

// Scale multiplies y by a: y[i] *= a.
func Scale(y []float32, a float32) {
	for i := range y {
		y[i] *= a
	}
}

// Sub stores the difference of x and z: y[i] = x[i] - z[i].
func Sub(y, x, z []float32) {
	x, z = x[:len(y):len(x)], z[:len(y):len(z)]
	for i := range y {
		y[i] = x[i] - z[i]
	}
}

// Step makes one local step of SPADE-DFL, eq. (local-update): phi[i] -= eta*(v[i] + c*p[i]), with c = mu*beta and p the
// frozen penalty.
func Step(phi []float32, eta float32, v []float32, c float32, p []float32) {
	v, p = v[:len(phi):len(v)], p[:len(phi):len(p)]
	for i := range phi {
		phi[i] -= float32(eta * (v[i] + float32(c*p[i])))
	}
}

// Replace puts a fresh row into the memory table and brings the two sums that depend on it up to date, in one pass:
//
//	v[i]    += (q[i] - a[i])*byB    one term of eq. (memory-estimator), byB = 1/b
//	abar[i] += (q[i] - a[i])*byM    the table's mean, byM = 1/m
//	a[i]     = q[i]                 the row
//
// The four slices must not overlap.
func Replace(a, v, abar, q []float32, byB, byM float32) {
	v, abar, q = v[:len(a):len(v)], abar[:len(a):len(abar)], q[:len(a):len(q)]
	for i, qi := range q {
		diff := qi - a[i]
		v[i] += float32(diff * byB)
		abar[i] += float32(diff * byM)
		a[i] = qi
	}
}
