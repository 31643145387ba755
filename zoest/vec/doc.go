// Package vec contains the float32 vector kernels and the transcendental functions of SPADE-Edge. All of them return
// the same bits on every processor, because of three rules:
//
//   - A product is rounded before it is added: float32(x*y) + z, never x*y + z. The Go specification allows a compiler
//     to fuse the second form into one rounding, and on some processors it does.
//   - A reduction has a fixed order. [Dot] and [SumSquares] divide their input into blocks of 4096 elements. Within a
//     block, element i is added to lane i mod 64 in float32, in increasing order of i. The 64 lanes start at +0 and are
//     folded by halves (lane l+32 is added to lane l, then l+16, and so on down to lane 0). Block sums are added in
//     float64, from first to last.
//   - No function calls math.Exp, math.Log or a fused operation. [Exp] and [Log] use only +, -, * and /.
//
// The kernels exist in Go, which is their definition, and in assembly: for arm64 with NEON, and for amd64 with AVX-512F
// or AVX2. On amd64 the choice is made when the program starts, except that [Axpy] and [Dot] use AVX2 instead of
// AVX-512F for 2^23 or more elements. Every variant returns the same bits, except in a NaN. The build tag purego
// excludes the assembly.
//
// The destination is the first argument. If a source is longer than the destination, only its first elements are used;
// if a source is shorter, the kernel panics before it writes anything. Unless stated otherwise, the destination may be
// the same slice as a source, but the kernel panics if the two overlap at an offset. Kernels are fastest on slices that
// are aligned to 64 bytes.
package vec
