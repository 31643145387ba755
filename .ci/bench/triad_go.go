//go:build !cgo

package main

// triad is the triad of the STREAM benchmark, y = x + a*z.
func triad(y []float32, a float32, x, z []float32) { plainTriad(y, a, x, z) }
