// Package vec has the float32 vector kernels and the two transcendental functions of SPADE-Edge. All return the same
// bits on every processor, by three rules:
//
//   - A product that feeds a sum is rounded first: float32(x*y) + z, never x*y + z. The Go specification lets a
//     compiler fuse the second form into one rounding, and some processors do.
//   - A reduction has one order. [Dot] and [SumSquares] cut their input into blocks of 4096 elements. Inside a block,
//     element i is added to lane i mod 64 in float32, in increasing i. The 64 lanes start at +0 and are folded by
//     halves (lane l adds lane l+32, then l+16, and so on down to lane 0). Block sums are added in float64, first to
//     last.
//   - Nothing calls math.Exp, math.Log or a fused operation. [Exp] and [Log] are built from +, -, * and / alone.
//
// The kernels exist in Go, which is their definition, and in assembly: for amd64 with AVX-512F or AVX2, chosen at
// program start (always AVX2 for [Axpy] and [Dot] of 2^23 elements and more), and for arm64 with NEON. Every variant
// returns the same bits, except in a NaN. The build tag purego excludes the assembly.
//
// The destination is the first argument. A longer source is used up to the destination's length; a shorter one panics
// before anything is written. Unless stated otherwise, the destination may be the same slice as a source; a destination
// that overlaps a source at an offset panics. Kernels are fastest on slices aligned to 64 bytes.
package vec
