package dpmech

import (
	"fmt"
	"io"
	"math/rand/v2"
)

// normal draws round(2^M * Z) exactly, where Z is a standard normal number.
type normal struct {
	random io.Reader
	key    [32]byte
	chacha rand.ChaCha8
}

// fill sets each element of dst to 2^shift * Z, rounded to the nearest integer, where each Z is a new standard normal
// number; shift is in 0..50. It reads 32 bytes from n.random and uses them as the key of the ChaCha8 stream (C2SP
// chacha8rand, math/rand/v2) that provides all random words of this call. If the source fails, fill leaves dst as it is.
func (n *normal) fill(dst []int64, shift int) error {
	if _, err := io.ReadFull(n.random, n.key[:]); err != nil {
		clear(n.key[:])
		return fmt.Errorf("dpmech: source of random bytes: %w", err)
	}
	n.expand(dst, shift)
	return nil
}

// expand draws all elements of dst with the key n.key, and then erases the key and the random words.
func (n *normal) expand(dst []int64, shift int) {
	n.chacha.Seed(n.key)
	normals(dst, shift, n.chacha.Uint64)
	clear(n.key[:])
	n.chacha = rand.ChaCha8{}
}

// round returns 2^shift * |Z|, rounded to the nearest integer and negated if negative is 1. x holds the binary digits
// of |Z| up to the 52nd after the point. A tie has probability 0. If |Z| >= 2^12, which has a probability below
// exp(-2^23), x overflows.
func round(x, negative uint64, shift int) int64 {
	half := x >> (uint(51-shift) & 63)
	return int64(((half+1)>>1 ^ -negative) + negative)
}
