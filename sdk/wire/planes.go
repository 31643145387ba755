package wire

import (
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/huff0"
)

// blockSize is the maximum number of bytes or numbers compressed together. It is part of the format. This size keeps
// the work space small and the block far below huff0's limit, and lets a block's compressed length fit into two bytes.
const blockSize = 1 << 16

// Forms of a block of bytes; see FORMAT.md.
const (
	blockRaw    = 0
	blockRepeat = 1
	blockHuff0  = 2
)

// planes is the number of bytes of a float32.
const planes = 4

// packer holds the encoder's work space. The zero value is ready to use.
type packer struct {
	huff   huff0.Scratch
	counts [256]uint32
	block  []byte
	out    []byte
}

// planes returns v as byte planes, or nil if v is empty. The result is valid until the next call.
func (p *packer) planes(v []float32) []byte {
	if len(v) == 0 {
		return nil
	}
	p.out = p.out[:0]
	for plane := range planes {
		for at := 0; at < len(v); at += blockSize {
			part := v[at:min(at+blockSize, len(v))]
			p.block = sized(p.block, len(part))
			for i, x := range part {
				p.block[i] = byte(math.Float32bits(x) >> (8 * plane & 31))
			}
			p.appendBlock()
		}
	}
	return p.out
}

// appendBlock appends the block to out in its shortest form. It calls huff0 only if huff0 can save bytes, because most
// planes of floats are incompressible, and huff0 takes longer to find out than for everything else.
func (p *packer) appendBlock() {
	n := len(p.block)
	switch {
	case n > 1 && repeats(p.block):
		p.out = append(p.out, blockRepeat, p.block[0])
		return
	case n > leastHuff0 && p.compressible():
		// No frame may reuse the Huffman table of an earlier frame, because frames may be lost.
		p.huff.Reuse = huff0.ReusePolicyNone
		if packed, _, err := huff0.Compress4X(p.block, &p.huff); err == nil && 2+len(packed) < n {
			p.out = append(p.out, blockHuff0, byte(len(packed)), byte(len(packed)>>8))
			p.out = append(p.out, packed...)
			return
		}
	}
	p.out = append(append(p.out, blockRaw), p.block...)
}

func repeats(block []byte) bool {
	for _, b := range block {
		if b != block[0] {
			return false
		}
	}
	return true
}

func (p *packer) compressible() bool {
	clear(p.counts[:])
	distinct, last := 0, byte(0)
	for _, b := range p.block {
		if p.counts[b] == 0 {
			distinct++
		}
		p.counts[b]++
		last = max(last, b)
	}
	return compressible(&p.counts, len(p.block), distinct, int(last))
}

// unpacker holds the decoder's work space. The zero value is ready to use.
type unpacker struct {
	huff  huff0.Scratch
	block []byte
}

func (u *unpacker) planes(v []float32, b []byte) error {
	clear(v)
	for plane := range planes {
		for at := 0; at < len(v); at += blockSize {
			part := v[at:min(at+blockSize, len(v))]
			block, rest, err := u.readBlock(b, len(part))
			if err != nil {
				return fmt.Errorf("plane %d, block %d: %w", plane, at/blockSize, err)
			}
			b = rest
			for i, x := range block {
				part[i] = math.Float32frombits(math.Float32bits(part[i]) | uint32(x)<<(8*plane))
			}
		}
	}
	if len(b) > 0 {
		return fmt.Errorf("found %d bytes after the last block, wanted none", len(b))
	}
	return nil
}

// readBlock reads a block of n bytes, n in 1..blockSize, from b. The block is valid until the next call.
func (u *unpacker) readBlock(b []byte, n int) (block, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, errors.New("found the end of the data, wanted a block")
	}
	form, b := b[0], b[1:]
	least := [...]int{blockRaw: n, blockRepeat: 1, blockHuff0: 2}
	if int(form) >= len(least) {
		return nil, nil, fmt.Errorf("found a block of form %d, wanted 0, 1 or 2", form)
	}
	if len(b) < least[form] {
		return nil, nil, fmt.Errorf("found %d bytes in a block of form %d, wanted at least %d", len(b), form, least[form])
	}
	switch form {
	case blockRaw:
		return b[:n], b[n:], nil
	case blockRepeat:
		u.block = sized(u.block, n)
		for i := range u.block {
			u.block[i] = b[0]
		}
		return u.block, b[1:], nil
	}
	size := int(b[0]) | int(b[1])<<8
	if b = b[2:]; size > len(b) || size+2 >= n {
		return nil, nil, fmt.Errorf("found a compressed length of %d, wanted at most %d", size, min(len(b), n-3))
	}
	_, data, err := huff0.ReadTable(b[:size], &u.huff)
	if err == nil {
		// huff0 fails unless the block exactly fills the capacity of the destination, so the capacity must be n.
		u.block = sized(u.block, n)
		block, err = u.huff.Decoder().Decompress4X(u.block[:0:n], data)
	}
	if err == nil && len(block) != n {
		err = fmt.Errorf("found %d bytes, wanted %d", len(block), n)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("compressed block: %w", err)
	}
	return block, b[size:], nil
}
