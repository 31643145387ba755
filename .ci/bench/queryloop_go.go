//go:build !cgo

package main

// loopQueries returns nothing without a C compiler.
func loopQueries(d, m, b, steps int) (model []float32, ns float64) { return nil, 0 }
