package vec

import "unsafe"

// Each function below slices its other arguments to the length of the first, which panics if an argument is shorter. A
// function that writes also checks for overlaps. The Go code or assembly that it calls checks nothing.

// Dot returns the sum of x[i]*y[i], with each product rounded to float32, in the order described in the package
// comment.
func Dot(x, y []float32) float64 { return dot(x, y[:len(x):len(y)]) }

// SumSquares returns the sum of x[i]*x[i], in the same order as [Dot].
func SumSquares(x []float32) float64 { return dot(x, x) }

// Axpy adds a multiple of x to y: y[i] += a*x[i].
func Axpy(y []float32, a float32, x []float32) {
	x = x[:len(y):len(x)]
	inPlace(y, x)
	axpy(y, a, x)
}

// Scale multiplies y by a: y[i] *= a.
func Scale(y []float32, a float32) { scale(y, a) }

// Step performs one local step of SPADE-DFL, eq. (7) (local-update): phi[i] -= eta*(v[i] + c*p[i]), where c = mu*beta
// and p is the frozen penalty.
func Step(phi []float32, eta float32, v []float32, c float32, p []float32) {
	v, p = v[:len(phi):len(v)], p[:len(phi):len(p)]
	inPlace(phi, v)
	inPlace(phi, p)
	step(phi, eta, v, c, p)
}

// The sign kernels take a vector s of signs as packed bits: bit i%64 of word i/64 is clear if s[i] is +1 and set if it
// is -1. They XOR each sign into the sign bit of a number.

// SignWords returns the number of 64-bit words that hold n signs.
func SignWords(n int) int { return (n + 63) / 64 }

// SignAxpy adds a multiple of the sign vector s to y: y[i] += a*s[i].
func SignAxpy(y []float32, a float32, signs []uint64) {
	signPerturb(y, y, a, signs[:SignWords(len(y)):len(signs)])
}

// SignPerturb sets y to x plus a multiple of the sign vector s: y[i] = x[i] + mu*s[i].
func SignPerturb(y, x []float32, mu float32, signs []uint64) {
	x = x[:len(y):len(x)]
	inPlace(y, x)
	signPerturb(y, x, mu, signs[:SignWords(len(y)):len(signs)])
}

// SignAdd sets y to x plus c, with each element of c multiplied by a sign: y[i] = x[i] + c[i]*s[i].
func SignAdd(y, x, c []float32, signs []uint64) {
	x, c = x[:len(y):len(x)], c[:len(y):len(c)]
	inPlace(y, x)
	inPlace(y, c)
	signAdd(y, x, c, signs[:SignWords(len(y)):len(signs)])
}

// SignScale sets y to a multiple of the sign vector s: y[i] = a*s[i].
func SignScale(y []float32, a float32, signs []uint64) {
	signScale(y, a, signs[:SignWords(len(y)):len(signs)])
}

// SignDot returns the sum of x[i]*s[i], in the same order as [Dot], where s is the sign vector.
func SignDot(x []float32, signs []uint64) float64 {
	signs = signs[:SignWords(len(x)):len(signs)]
	var sum float64
	for len(x) > block {
		sum += float64(signFold(x[:block], signs[:block/64]))
		x, signs = x[block:], signs[block/64:]
	}
	return sum + float64(signFold(x, signs))
}

// SignReplace replaces a row of the memory table with a fresh row q[i] = c*s[i], where s is the sign vector. In the
// same pass, it updates the two sums that depend on the row:
//
//	v[i]    += (q[i] - a[i])*byB    one term of eq. (5) (memory-estimator), byB = 1/b
//	abar[i] += (q[i] - a[i])*byM    the table's mean, byM = 1/m
//	a[i]     = q[i]                 the row
//
// SignReplace panics if any two of a, v and abar overlap.
func SignReplace(a, v, abar []float32, c float32, signs []uint64, byB, byM float32) {
	v, abar = v[:len(a):len(v)], abar[:len(a):len(abar)]
	if overlap(a, v) || overlap(a, abar) || overlap(v, abar) {
		panic(overlaps)
	}
	signReplace(a, v, abar, c, signs[:SignWords(len(a)):len(signs)], byB, byM)
}

// The rows kernels process many short rows in one call. They divide signs into equal parts, one for each row. Each part
// has at least SignWords(row length) words; further words are ignored.

// SignPerturbRows applies [SignPerturb] to each row of y: it sets the row to x + mu*s, where s is the row's part of
// signs. Each row has the length of x. y and x must not overlap.
func SignPerturbRows(y, x []float32, mu float32, signs []uint64) {
	d, words := len(x), SignWords(len(x))
	if len(y) == 0 {
		return
	}
	if overlap(y, x) {
		panic(overlaps)
	}
	stride := stride(signs, len(y)/d, words)
	if shortRows(d) && len(y)%d == 0 {
		signPerturbRows(y, x, mu, signs, stride)
		return
	}
	for ; len(y) > 0; y, signs = y[d:], signs[stride:] {
		signPerturb(y[:d:d], x, mu, signs[:words:words])
	}
}

// SignReplaceRows applies [SignReplace] to rows of a table. The rows of the table are adjacent and have the length of
// v. For each i in order, it replaces row rows[i], using the factor c[i] and part i of signs.
func SignReplaceRows(table []float32, rows []int, v, abar, c []float32, signs []uint64, byB, byM float32) {
	d, words := len(v), SignWords(len(v))
	abar, c = abar[:d:d], c[:len(rows)]
	if len(rows) == 0 {
		return
	}
	if overlap(table, v) || overlap(table, abar) || overlap(v, abar) {
		panic(overlaps)
	}
	table, stride := table[:len(table):len(table)], stride(signs, len(rows), words)
	if shortRows(d) {
		if !there(rows, table, d) {
			panic(notThere)
		}
		signReplaceRows(table, rows, v, abar, c, signs, byB, byM, stride)
		return
	}
	for i, row := range rows {
		signReplace(table[row*d:row*d+d:row*d+d], v, abar, c[i], signs[i*stride:][:words:words], byB, byM)
	}
}

// SignFillRows sets rows of a table and adds each of them to sum. The rows of the table are adjacent and have the
// length of sum. For each i in order, it sets row rows[i] to c[i]*s, where s is part i of signs, as in [SignScale], and
// adds c[i]*s to sum, as in [SignAxpy].
func SignFillRows(table []float32, rows []int, sum, c []float32, signs []uint64) {
	d, words := len(sum), SignWords(len(sum))
	c = c[:len(rows)]
	if len(rows) == 0 {
		return
	}
	if overlap(table, sum) {
		panic(overlaps)
	}
	table, stride := table[:len(table):len(table)], stride(signs, len(rows), words)
	if shortRows(d) {
		if !there(rows, table, d) {
			panic(notThere)
		}
		signFillRows(table, rows, sum, c, signs, stride)
		return
	}
	for i, row := range rows {
		s := signs[i*stride:][:words:words]
		signScale(table[row*d:row*d+d], c[i], s)
		signPerturb(sum, sum, c[i], s)
	}
}

func there(rows []int, table []float32, d int) bool {
	n := uint(len(table) / max(1, d))
	for _, row := range rows {
		if uint(row) >= n {
			return false
		}
	}
	return true
}

const notThere = "vec: no such row"

// stride returns the number of words of signs for each of n rows. It panics if this number is below the parameter
// words, the number of words that a kernel reads.
func stride(signs []uint64, n, words int) int {
	if n == 0 || len(signs)/n < words {
		panic("vec: too few signs")
	}
	return len(signs) / n
}

// inPlace panics if a destination and a source of the same length overlap without being the same slice, because the
// result would depend on the processor.
func inPlace(dst, src []float32) {
	if unsafe.SliceData(dst) != unsafe.SliceData(src) && overlap(dst, src) {
		panic("vec: destination and source overlap at an offset")
	}
}

const overlaps = "vec: slices must not overlap"

// overlap reports whether two slices share memory. Both must be nonempty, or both must have the same length. Distances
// are computed modulo the size of the address space.
func overlap(a, b []float32) bool {
	dist := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(a)))
	return dist < uintptr(len(a))*4 || -dist < uintptr(len(b))*4
}
