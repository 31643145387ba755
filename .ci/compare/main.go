// Command compare reads models in .npy files that "spade-edge export" wrote, and prints their relative difference: the
// largest difference between two models in any coordinate, divided by the largest absolute value of any coordinate. It
// fails if the relative difference exceeds -tolerance.
package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
)

func main() {
	tolerance := flag.Float64("tolerance", 1e-3, "how much models may differ, as a share of the largest number")
	flag.Parse()
	difference, err := compare(flag.Args())
	if err == nil && !(difference <= *tolerance) {
		err = fmt.Errorf("the relative difference between the models is %.3g, want at most %v", difference, *tolerance)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
	fmt.Printf("%d models, which differ by %.2g\n", flag.NArg(), difference)
}

// compare returns the largest difference between any two of the models, divided by their largest absolute value.
func compare(paths []string) (difference float64, err error) {
	if len(paths) < 2 {
		return 0, errors.New("give at least two .npy files to compare")
	}
	var low, high []float32
	var largest float64
	for i, path := range paths {
		x, err := read(path)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		if i == 0 {
			low, high = append(low, x...), append(high, x...)
		}
		if len(x) != len(low) {
			return 0, fmt.Errorf("%s has %d numbers, want %d as in the first file", path, len(x), len(low))
		}
		for j, v := range x {
			low[j], high[j] = min(low[j], v), max(high[j], v)
			largest = max(largest, math.Abs(float64(v)))
		}
	}
	for j := range low {
		difference = max(difference, float64(high[j])-float64(low[j]))
	}
	if difference == 0 {
		return 0, nil
	}
	return difference / largest, nil
}

// read reads a one-dimensional model of little-endian float32 numbers from a file in NumPy's format 1.0.
func read(path string) ([]float32, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(b) < 10 || string(b[:8]) != "\x93NUMPY\x01\x00" {
		return nil, errors.New("not a .npy file of format version 1.0")
	}
	start := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	var n int
	if start > len(b) {
		return nil, errors.New("the file is truncated")
	}
	const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }"
	if _, err := fmt.Sscanf(string(b[10:start]), header, &n); err != nil || n < 0 || len(b)-start != 4*n {
		return nil, fmt.Errorf("the header is %q, followed by %d bytes of data; want a one-dimensional array of type "+
			"'<f4'", b[10:start], len(b)-start)
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[start+4*i:]))
	}
	return x, nil
}
