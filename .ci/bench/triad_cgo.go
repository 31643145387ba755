//go:build cgo

package main

/*
#cgo CFLAGS: -O3
#cgo amd64 CFLAGS: -mavx2
static void triad(float *restrict y, float a, const float *restrict x, const float *restrict z, long n) {
	for (long i = 0; i < n; i++)
		y[i] = x[i] + a*z[i];
}
*/
import "C"
import "unsafe"

// triad is the triad of the STREAM benchmark, y = x + a*z, compiled by the C compiler.
func triad(y []float32, a float32, x, z []float32) {
	C.triad((*C.float)(unsafe.SliceData(y)), C.float(a), (*C.float)(unsafe.SliceData(x[:len(y)])),
		(*C.float)(unsafe.SliceData(z[:len(y)])), C.long(len(y)))
}
