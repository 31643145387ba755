// Package vec has the float32 vector kernels and the two transcendental functions of SPADE-Edge. All give the same bits
// on every processor, by three rules:
//
//   - A product that feeds a sum is rounded first: float32(x*y) + z, never x*y + z. The Go specification lets a
//     compiler fuse the second form into one rounding, and some processors do.
//   - A reduction has one order. [Dot] and [SumSquares] cut their input into blocks of 4096 elements. Inside a block,
//     element i is added to lane i mod 64 in float32, in increasing i. The 64 lanes start at +0 and are folded by
//     halves (lane l takes in lane l+32, then l+16, and so on down to lane 0). Block sums are added in float64, first
//     to last.
//   - Nothing calls math.Exp, math.Log or a fused operation. [Exp] and [Log] are built from +, -, * and / alone.
//
// The kernels exist in Go, which is their definition, and in assembly: for amd64 with AVX-512F or AVX2, chosen when the
// program starts (always AVX2 for [Axpy] and [Dot] of 2^23 elements and more), and for arm64 with NEON. Every variant
// gives the same bits, except that a NaN may be another NaN. The build tag purego leaves the assembly out.
//
// The destination comes first. A longer source is used up to the destination's length. A shorter one is a bug in the
// caller and panics like any index out of range, before anything is written. Except where a comment says otherwise, the
// destination may be the same slice as a source; one that overlaps a source at an offset panics. Kernels are fastest on
// slices that start at a multiple of 64 bytes.
package vec
