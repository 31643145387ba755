package wire

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/huff0"

	"github.com/spade-dfl/spade-edge/sdk/wire/cbor"
)

// blockSize is the most bytes that are compressed together. It is part of the format. It keeps the work space small, a
// block's compressed length within two bytes, and the block far below huff0's own limit.
const blockSize = 1 << 16

// How a block of bytes is stored; see the package comment.
const (
	blockRaw    = 0
	blockRepeat = 1
	blockHuff0  = 2
)

// huffLeast is the length of the shortest block that can be shorter as blockHuff0: huff0 adds a table of two bytes or
// more and three lengths of two to four streams of a byte or more, and the block its form and two bytes.
const huffLeast = 15

// packer holds the encoder's work space. The zero value is ready.
type packer struct {
	huff huff0.Scratch
	work []byte
}

// compress returns huff0's form of a block, in the packer's work space, or its error.
func (p *packer) compress(block []byte) ([]byte, error) {
	// A table of one frame is never used in the next: frames may get lost.
	p.huff.Reuse = huff0.ReusePolicyNone
	out, _, err := huff0.Compress4X(block, &p.huff)
	return out, err
}

// block appends a block of 1..blockSize bytes in the shortest of its forms, or reports false if dst would then have
// limit bytes or more.
func (p *packer) block(dst, block []byte, limit int) ([]byte, bool) {
	var out []byte
	err := huff0.ErrIncompressible
	if len(block) >= huffLeast {
		out, err = p.compress(block)
	} else if len(block) > 1 && repeats(block) {
		err = huff0.ErrUseRLE
	}
	switch {
	case errors.Is(err, huff0.ErrUseRLE):
		if len(dst)+2 >= limit {
			return nil, false
		}
		return append(dst, blockRepeat, block[0]), true
	case err == nil && 2+len(out) < len(block):
		if len(dst)+3+len(out) >= limit {
			return nil, false
		}
		dst = append(dst, blockHuff0, byte(len(out)), byte(len(out)>>8))
		return append(dst, out...), true
	}
	// Incompressible, or by too little to pay for the length.
	if len(dst)+1+len(block) >= limit {
		return nil, false
	}
	return append(append(dst, blockRaw), block...), true
}

// repeats reports whether all bytes of a block are the same.
func repeats(block []byte) bool {
	for _, b := range block {
		if b != block[0] {
			return false
		}
	}
	return true
}

// unpacker holds the decoder's work space. The zero value is ready.
type unpacker struct {
	huff huff0.Scratch
	work []byte
}

// block takes a block of n bytes, n in 1..blockSize, off b. The block is good until the next call.
func (u *unpacker) block(b []byte, n int) (block, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, errors.New("found the end, wanted a block")
	}
	form, b := b[0], b[1:]
	switch form {
	case blockRaw:
		if len(b) < n {
			return nil, nil, fmt.Errorf("found %d raw bytes, wanted %d", len(b), n)
		}
		return b[:n], b[n:], nil
	case blockRepeat:
		if len(b) < 1 {
			return nil, nil, errors.New("found the end, wanted the byte to repeat")
		}
		u.work = cbor.Room(u.work, n)
		for i := range u.work {
			u.work[i] = b[0]
		}
		return u.work, b[1:], nil
	case blockHuff0:
		if len(b) < 2 {
			return nil, nil, errors.New("found the end, wanted the length of a compressed block")
		}
		size := int(b[0]) | int(b[1])<<8
		if b = b[2:]; size > len(b) || size+2 >= n {
			return nil, nil, fmt.Errorf("found a compressed length of %d, wanted at most %d", size, min(len(b), n-3))
		}
		_, data, err := huff0.ReadTable(b[:size], &u.huff)
		if err != nil {
			return nil, nil, fmt.Errorf("compressed block: %w", err)
		}
		// huff0 fills the capacity of its destination exactly or fails.
		u.work = cbor.Room(u.work, n)
		block, err = u.huff.Decoder().Decompress4X(u.work[:0:n], data)
		if err != nil {
			return nil, nil, fmt.Errorf("compressed block: %w", err)
		}
		if len(block) != n {
			return nil, nil, fmt.Errorf("compressed block: found %d bytes, wanted %d", len(block), n)
		}
		return block, b[size:], nil
	}
	return nil, nil, fmt.Errorf("found a block of form %d, wanted 0, 1 or 2", form)
}
