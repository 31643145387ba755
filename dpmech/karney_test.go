package dpmech

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"testing"
)

// karney is an exact sampler that implements Algorithm N of Karney, "Sampling exactly from the normal distribution"
// (ACM Transactions on Mathematical Software 42:3, 2016). It shares no code with the sampler of the package and is
// twenty times slower. It draws uniform numbers digit by digit, and only as many digits as comparisons need.
type karney struct {
	random  io.Reader
	err     error // first error of random, after which every loop ends
	buf     [4096]byte
	unread  int
	x       uniform // the fractional part of the number being drawn
	y, z, r uniform // scratch space of the trials
}

// uniform is a random number in (0, 1). It holds the digits drawn so far, in base 2^64, with the most significant digit
// first.
type uniform struct{ digits []uint64 }

// fill sets every element of dst to 2^shift * Z, rounded to the nearest integer, where each Z is a new standard normal
// number. shift is at most 50.
func (n *karney) fill(dst []int64, shift int) error {
	for i := range dst {
		dst[i] = n.draw(shift)
	}
	if n.err != nil {
		return fmt.Errorf("dpmech: source of random bytes: %w", n.err)
	}
	return nil
}

// draw returns 2^shift * Z, rounded to the nearest integer, for a standard normal number Z. In the code, k is the
// integer part of |Z|, and n.x is the fractional part.
func (n *karney) draw(shift int) int64 {
	for n.err == nil {
		// Step N1: draw k with probability proportional to exp(-k/2).
		k := 0
		for n.err == nil && n.expHalf() {
			k++
		}
		// Step N2: accept k with probability exp(-k(k-1)/2).
		if !n.all(k*(k-1), n.expHalf) {
			continue
		}
		// Steps N3 and N4: draw a fraction x and accept it with probability exp(-x(2k+x)/2): k+1 trials must succeed,
		// each with the (k+1)-th root of this probability.
		n.x.reset()
		if !n.all(k+1, func() bool { return n.accept(k) }) {
			continue
		}
		// Step N5: round, and draw the sign. One digit beyond the grid determines whether to round down or up; a tie
		// has probability 0. A value of k above 2^12 would overflow, but has a probability below exp(-2^23).
		half := int64(n.digit(&n.x, 0) >> (63 - shift))
		abs := int64(k)<<shift + (half+1)>>1
		if n.word()&1 == 1 {
			return -abs
		}
		return abs
	}
	return 0
}

// all reports whether count trials in a row succeed; it stops at the first failure.
func (n *karney) all(count int, trial func() bool) bool {
	for range count {
		if n.err != nil || !trial() {
			return false
		}
	}
	return true
}

// expHalf returns true with probability exp(-1/2), by von Neumann's method: it returns true if a run of decreasing
// uniform numbers below 1/2 has even length.
func (n *karney) expHalf() bool {
	last, z := &n.y, &n.z
	last.reset()
	if n.digit(last, 0)>>63 == 1 {
		return true
	}
	for length := 1; ; length++ {
		z.reset()
		if !n.less(z, last) {
			return length%2 == 0
		}
		last, z = z, last
	}
}

// accept returns true with probability exp(-x(2k+x)/(2k+2)). It is like expHalf, but the run of uniform numbers starts
// below x, and each number in the run must also pass a trial with probability (2k+x)/(2k+2). This is Karney's Algorithm
// B.
func (n *karney) accept(k int) bool {
	last, run := &n.x, [2]*uniform{&n.y, &n.z}
	for length := 0; ; length++ {
		z := run[length%2]
		z.reset()
		if !n.less(z, last) || !n.odds(k) {
			return length%2 == 0
		}
		last = z
	}
}

// odds returns true with probability (2k+x)/(2k+2): of 2k+2 equally likely cases, 2k succeed, one fails, and one
// succeeds with probability x.
func (n *karney) odds(k int) bool {
	c := n.intN(uint64(2*k + 2))
	if c == uint64(2*k) {
		n.r.reset()
		return n.less(&n.r, &n.x)
	}
	return c < uint64(2*k)
}

func (u *uniform) reset() { u.digits = u.digits[:0] }

// digit returns the i-th digit of u. If necessary, it first draws this digit and all digits before it.
func (n *karney) digit(u *uniform, i int) uint64 {
	for len(u.digits) <= i {
		u.digits = append(u.digits, n.word())
	}
	return u.digits[i]
}

func (n *karney) less(u, w *uniform) bool {
	for i := 0; n.err == nil; i++ {
		if a, b := n.digit(u, i), n.digit(w, i); a != b {
			return a < b
		}
	}
	return false
}

// intN returns an unbiased uniform integer in [0, m), for m >= 1.
func (n *karney) intN(m uint64) uint64 {
	for n.err == nil {
		hi, lo := bits.Mul64(n.word(), m)
		if lo >= m || lo >= -m%m {
			return hi
		}
	}
	return 0
}

// word returns 64 uniform random bits, or 0 after the source has failed.
func (n *karney) word() uint64 {
	if n.unread == 0 && n.err == nil {
		if _, n.err = io.ReadFull(n.random, n.buf[:]); n.err == nil {
			n.unread = len(n.buf)
		}
	}
	if n.err != nil {
		return 0
	}
	w := binary.LittleEndian.Uint64(n.buf[len(n.buf)-n.unread:])
	n.unread -= 8
	return w
}

// TestUniformTies checks that a comparison continues with the next digits if two 64-bit digits are equal, a case that
// random draws practically never reach.
func TestUniformTies(t *testing.T) {
	n := karney{random: stream(13)}
	a, b := uniform{digits: []uint64{5, 9}}, uniform{digits: []uint64{5}}
	first := n.less(&a, &b)
	if len(b.digits) < 2 {
		t.Fatal("the tie did not draw a digit")
	}
	if want := 9 < b.digits[1]; first != want {
		t.Errorf("0.5:9 < 0.5:%d is %v", b.digits[1], first)
	}
	if n.less(&a, &b) == n.less(&b, &a) {
		t.Error("the order is not antisymmetric")
	}
}
