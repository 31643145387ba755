package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/klauspost/compress/huff0"

	"github.com/spade-dfl/spade-edge/sdk/wire/cbor"
)

// The first byte of a block of a packed grid; see the package comment.
const (
	gridRice  = 0  // and up to riceMax more: the parameter
	gridSplit = 32 // and up to splitMax more: how many low bits are stored by themselves
	gridPairs = 64
)

const (
	splitMax = 24  // with so many low bits the high part has eight
	splitEsc = 255 // the symbol of a high part of this or more
	pairEsc  = 15  // the half of a symbol of a number of this or more

	riceMost = 4096 // numbers in a block for which the encoder tries a Rice code: with more, huff0 is the shorter
	escShare = 16   // the encoder looks for a form with at most one escape in so many numbers
)

// grid appends the packed form of g to dst, or reports false if that takes limit bytes or more; dst then has undefined
// bytes beyond its length. It appends less than limit bytes at any time.
func (p *packer) grid(dst []byte, g []int32, limit int) ([]byte, bool) {
	limit += len(dst)
	for len(g) > 0 {
		part := g[:min(len(g), blockSize)]
		g = g[len(part):]
		k, end := uint(0), limit
		if len(part) <= riceMost {
			var n int
			k, n = riceParameter(part)
			end = min(end, len(dst)+1+(n+7)/8)
		}
		out, ok := p.stored(dst, part, p.choose(part), end)
		switch {
		case ok:
			dst = out
		case end < limit:
			dst = appendRice(append(dst, gridRice+byte(k)), part, k)
		default:
			return nil, false
		}
	}
	return dst, true
}

// stored appends a block as a split or as pairs, or reports false if dst would then have limit bytes or more.
func (p *packer) stored(dst []byte, g []int32, form byte, limit int) ([]byte, bool) {
	low, esc := p.fill(g, form)
	if limit -= esc; len(dst)+1+lowBytes(len(g), low) >= limit {
		return nil, false
	}
	dst = append(dst, form)
	if low > 0 {
		w := bitWriter{dst: dst}
		for _, x := range g {
			w.put(zigzag(x)&(1<<low-1), low)
		}
		dst = w.bytes()
	}
	dst, ok := p.block(dst, p.work, limit)
	if !ok || esc == 0 {
		return dst, ok
	}
	least := uint32(splitEsc)
	if form == gridPairs {
		least = pairEsc
	}
	for _, x := range g {
		if high := zigzag(x) >> low; high >= least {
			dst = binary.AppendUvarint(dst, uint64(high-least))
		}
	}
	return dst, true
}

// choose returns the split, or pairs, in which a block promises to be shortest. The promise is made of integers alone,
// so that it is the same on every processor.
func (p *packer) choose(g []int32) byte {
	var longer [33]int // longer[n] is how many numbers have more than n bits
	for _, x := range g {
		longer[bits.Len32(zigzag(x))]++
	}
	sum := 0
	for n := 32; n >= 0; n-- {
		longer[n], sum = sum, sum+longer[n]
	}
	best, least := byte(0), math.MaxInt
	if longer[4] <= len(g)/escShare {
		best, least = gridPairs, p.cost(g, gridPairs)
	}
	first := 0
	for longer[first+8] > len(g)/escShare {
		first++
	}
	for low := first; low <= splitMax; low++ {
		n := p.cost(g, gridSplit+byte(low))
		if n < least {
			best, least = gridSplit+byte(low), n
		} else if low > first+1 {
			break
		}
	}
	return best
}

// cost estimates the bytes of a block in a form.
func (p *packer) cost(g []int32, form byte) int {
	low, esc := p.fill(g, form)
	p.huff.Reuse = huff0.ReusePolicyNone
	n := len(p.work)
	switch table, data, _, err := huff0.EstimateSizes(p.work, &p.huff); {
	case err == nil:
		n = min(n, table+data)
	case errors.Is(err, huff0.ErrUseRLE):
		n = 1
	}
	return lowBytes(len(g), low) + n + esc
}

// fill sets the work space to the symbols of g in a form. It returns how many low bits of each number are not in them,
// and the bytes of the escapes.
func (p *packer) fill(g []int32, form byte) (low uint, esc int) {
	if form == gridPairs {
		p.work = cbor.Room(p.work, (len(g)+1)/2)
		clear(p.work)
		for i, x := range g {
			z := zigzag(x)
			if z >= pairEsc {
				esc += varintBytes(z - pairEsc)
				z = pairEsc
			}
			p.work[i/2] |= byte(z) << (i % 2 * 4)
		}
		return 0, esc
	}
	low = uint(form - gridSplit)
	p.work = cbor.Room(p.work, len(g))
	for i, x := range g {
		high := zigzag(x) >> low
		if high >= splitEsc {
			esc += varintBytes(high - splitEsc)
			high = splitEsc
		}
		p.work[i] = byte(high)
	}
	return low, esc
}

// grid fills g from its packed form b. What g holds before does not matter.
func (u *unpacker) grid(g []int32, b []byte) error {
	for at := 0; at < len(g); at += blockSize {
		rest, err := u.numbers(g[at:min(at+blockSize, len(g))], b)
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

// numbers fills g with one block off b and returns what follows.
func (u *unpacker) numbers(g []int32, b []byte) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, errors.New("found the end, wanted a block")
	}
	form, b := b[0], b[1:]
	switch {
	case form <= gridRice+riceMax:
		return readRice(g, b, uint(form-gridRice))
	case form >= gridSplit && form <= gridSplit+splitMax:
		return u.split(g, b, uint(form-gridSplit))
	case form == gridPairs:
		return u.pairs(g, b)
	}
	return nil, fmt.Errorf("found a block of form %d, wanted 0..%d, %d..%d or %d",
		form, gridRice+riceMax, gridSplit, gridSplit+splitMax, gridPairs)
}

func (u *unpacker) split(g []int32, b []byte, low uint) ([]byte, error) {
	n := lowBytes(len(g), low)
	if len(b) < n {
		return nil, fmt.Errorf("found %d bytes, wanted %d of low bits", len(b), n)
	}
	r := bitReader{b: b[:n]}
	symbols, b, err := u.block(b[n:], len(g))
	if err != nil {
		return nil, err
	}
	for i, s := range symbols {
		high := uint32(s)
		if s == splitEsc {
			if high, b, err = escaped(b, splitEsc, math.MaxUint32>>low); err != nil {
				return nil, fmt.Errorf("number %d: %w", i, err)
			}
		}
		r.fill()
		g[i] = unzigzag(high<<low | uint32(r.acc)&(1<<low-1))
		r.skip(low)
	}
	if _, err = r.rest(); err != nil {
		return nil, err
	}
	return b, nil
}

func (u *unpacker) pairs(g []int32, b []byte) ([]byte, error) {
	symbols, b, err := u.block(b, (len(g)+1)/2)
	if err != nil {
		return nil, err
	}
	for i := range g {
		z := uint32(symbols[i/2] >> (i % 2 * 4) & 15)
		if z == pairEsc {
			if z, b, err = escaped(b, pairEsc, math.MaxUint32); err != nil {
				return nil, fmt.Errorf("number %d: %w", i, err)
			}
		}
		g[i] = unzigzag(z)
	}
	if last := symbols[len(symbols)-1]; len(g)%2 == 1 && last>>4 != 0 {
		return nil, fmt.Errorf("found %d after the last number, wanted 0", last>>4)
	}
	return b, nil
}

// escaped takes off b a number in least..most, which is stored as its excess over least: seven bits a byte, the lowest
// first, with 128 added to all bytes but the last.
func escaped(b []byte, least, most uint32) (z uint32, rest []byte, err error) {
	head := b[:min(len(b), binary.MaxVarintLen32)]
	over, n := binary.Uvarint(head)
	switch {
	case len(head) == 0:
		return 0, nil, errors.New("found the end, wanted an escape")
	case n <= 0 || n > 1 && b[n-1] == 0 || over > uint64(most-least):
		return 0, nil, fmt.Errorf("found the escape %#x, wanted %d or less in its shortest form", head, most-least)
	}
	return least + uint32(over), b[n:], nil
}

// lowBytes returns the bytes of n numbers of low bits each.
func lowBytes(n int, low uint) int { return (n*int(low) + 7) / 8 }

// varintBytes returns the length of what binary.AppendUvarint appends.
func varintBytes(z uint32) int { return max(1, (bits.Len32(z)+6)/7) }
