package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// A Rice code (R. F. Rice, JPL Publication 79-22, 1979) with parameter k writes z>>k in unary, as z>>k ones and a zero,
// and then the low k bits of z. Here riceEscape ones without a zero announce the plain 32 bits of z, so a number takes
// at most riceEscape+32 bits, fewer than a filled bitReader holds.
const (
	riceMax    = 30
	riceEscape = 20
)

// gridPlain, as the first byte of a block, announces four bytes for each number. Any other first byte is the parameter
// of the block's Rice code.
const gridPlain = 32

// grid returns g in packed form, or nil if g is empty. The result is valid until the next call.
func (p *packer) grid(g []int32) []byte {
	if len(g) == 0 {
		return nil
	}
	p.out = p.out[:0]
	for at := 0; at < len(g); at += blockSize {
		part := g[at:min(at+blockSize, len(g))]
		if k, n := riceParameter(part); (n+7)/8 < 4*len(part) {
			p.out = appendRice(append(p.out, byte(k)), part, k)
			continue
		}
		p.out = append(p.out, gridPlain)
		for _, x := range part {
			p.out = binary.LittleEndian.AppendUint32(p.out, uint32(x))
		}
	}
	return p.out
}

func readGrid(g []int32, b []byte) error {
	for at := 0; at < len(g); at += blockSize {
		rest, err := readNumbers(g[at:min(at+blockSize, len(g))], b)
		if err != nil {
			return fmt.Errorf("block %d: %w", at/blockSize, err)
		}
		b = rest
	}
	if len(b) > 0 {
		return fmt.Errorf("found %d bytes after the last block, wanted none", len(b))
	}
	return nil
}

// readNumbers fills g from the first block of b and returns the rest of b.
func readNumbers(g []int32, b []byte) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, errors.New("found the end of the data, wanted a block")
	}
	form, b := b[0], b[1:]
	switch {
	case form <= riceMax:
		return readRice(g, b, uint(form))
	case form != gridPlain:
		return nil, fmt.Errorf("found a block of form %d, wanted 0..%d or %d", form, riceMax, gridPlain)
	case len(b) < 4*len(g):
		return nil, fmt.Errorf("found %d plain bytes, wanted %d", len(b), 4*len(g))
	}
	for i := range g {
		g[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return b[4*len(g):], nil
}

// zigzag maps 0, -1, 1, -2, 2... to 0, 1, 2, 3, 4...
func zigzag(x int32) uint32 { return uint32(x)<<1 ^ uint32(x>>31) }

func unzigzag(z uint32) int32 { return int32(z>>1) ^ -int32(z&1) }

// riceParameter returns the lowest parameter with the shortest code for g, and the length of that code in bits. It
// first tries a parameter that fits the mean, so that riceBits stops early for most of the other parameters.
func riceParameter(g []int32) (k uint, least int) {
	var sum uint64
	for _, x := range g {
		sum += uint64(zigzag(x))
	}
	k = min(riceMax, uint(bits.Len64(sum/uint64(len(g)))))
	least = riceBits(g, k, math.MaxInt)
	for try := range uint(riceMax + 1) {
		if n := riceBits(g, try, least); n < least || n == least && try < k {
			k, least = try, n
		}
	}
	return k, least
}

// riceBits returns the length in bits of the Rice code of g with parameter k. If the length is greater than the limit
// "most", the result is an arbitrary number above the limit.
func riceBits(g []int32, k uint, most int) int {
	n := len(g) * int(k+1)
	for i := 0; i < len(g) && n <= most; i++ {
		if q := zigzag(g[i]) >> k; q < riceEscape {
			n += int(q)
		} else {
			n += riceEscape + 31 - int(k)
		}
	}
	return n
}

// appendRice appends g in the Rice code with parameter k, padded with zero bits to a whole byte.
func appendRice(dst []byte, g []int32, k uint) []byte {
	w := bitWriter{dst: dst}
	for _, x := range g {
		z := zigzag(x)
		if q := uint(z >> k); q < riceEscape {
			w.put(1<<q-1, q+1)
			w.put(z&(1<<k-1), k)
		} else {
			w.put(1<<riceEscape-1, riceEscape)
			w.put(z, 32)
		}
	}
	return w.bytes()
}

// readRice fills g from the start of b and returns the rest of b.
func readRice(g []int32, b []byte, k uint) ([]byte, error) {
	r := bitReader{b: b}
	for i := range g {
		r.fill()
		var z uint32
		if q := uint(bits.TrailingZeros64(^r.acc)); q < riceEscape {
			z = uint32(q)<<k | uint32(r.acc>>(q+1))&(1<<k-1)
			if uint64(q)<<k > 1<<32-1 {
				return nil, fmt.Errorf("number %d: found a Rice code with %d leading ones and parameter %d, wanted "+
					"the code of a number of at most 32 bits", i, q, k)
			}
			r.skip(q + 1 + k)
		} else {
			z = uint32(r.acc >> riceEscape)
			if z>>k < riceEscape {
				return nil, fmt.Errorf("number %d: found the value %d in an escape code, wanted at least %d", i, z, uint64(riceEscape)<<k)
			}
			r.skip(riceEscape + 32)
		}
		g[i] = unzigzag(z)
	}
	return r.rest()
}

// bitWriter appends bits to dst, lowest bit of a byte first.
type bitWriter struct {
	dst []byte
	acc uint64
	n   uint // bits in acc, below 32
}

// put appends the low n bits of v, n in 0..32. The other bits of v must be zero.
func (w *bitWriter) put(v uint32, n uint) {
	w.acc |= uint64(v) << w.n
	if w.n += n; w.n >= 32 {
		w.dst = binary.LittleEndian.AppendUint32(w.dst, uint32(w.acc))
		w.acc >>= 32
		w.n -= 32
	}
}

// bytes pads the last byte with zero bits and returns dst.
func (w *bitWriter) bytes() []byte {
	for ; w.n > 0; w.n -= min(w.n, 8) {
		w.dst = append(w.dst, byte(w.acc))
		w.acc >>= 8
	}
	return w.dst
}

// bitReader reads bits from b. Beyond the end of b it returns zeros, and a later call of its method rest fails.
type bitReader struct {
	b   []byte
	at  int // bytes read, including zeros beyond the end of b
	acc uint64
	n   uint // bits in acc
}

// fill loads bits into acc until it has at least 56 bits.
func (r *bitReader) fill() {
	if r.at+8 <= len(r.b) {
		r.acc |= binary.LittleEndian.Uint64(r.b[r.at:]) << r.n
		r.at += int(63-r.n) / 8
		r.n |= 56
		return
	}
	for ; r.n <= 56; r.n += 8 {
		if r.at < len(r.b) {
			r.acc |= uint64(r.b[r.at]) << r.n
		}
		r.at++
	}
}

func (r *bitReader) skip(n uint) {
	r.acc >>= n
	r.n -= n
}

// rest drops the padding up to a whole byte, which must be zero, and returns the remaining bytes.
func (r *bitReader) rest() ([]byte, error) {
	end := r.at - int(r.n)/8
	if end > len(r.b) {
		return nil, errors.New("found the end of the data inside a number")
	}
	if pad := r.acc & (1<<(r.n%8) - 1); pad != 0 {
		return nil, fmt.Errorf("found bits %#b after the last number, wanted zeros", pad)
	}
	return r.b[end:], nil
}
