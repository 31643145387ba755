package wire

import (
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/huff0"
)

// blockSize is the most bytes of a plane that are compressed together. It is part of the format. It keeps the work
// space small, a block's compressed length within two bytes, and the block far below huff0's own limit.
const blockSize = 1 << 16

// How a block is stored; see the package comment.
const (
	blockRaw    = 0
	blockRepeat = 1
	blockHuff0  = 2
)

// planes is how many bytes a float32 has.
const planes = 4

// planeWriter holds the encoder's work space. The zero value is ready.
type planeWriter struct {
	huff  huff0.Scratch
	block []byte
}

// append appends the planes of v to dst, or reports false if that takes limit bytes or more; dst then has
// undefined bytes beyond its length. It appends less than limit bytes at any time.
func (w *planeWriter) append(dst []byte, v []float32, limit int) ([]byte, bool) {
	// A table of one frame is never used in the next: frames may get lost.
	w.huff.Reuse = huff0.ReusePolicyNone
	if w.block == nil {
		w.block = make([]byte, min(len(v), blockSize))
	}
	limit += len(dst)
	for p := range planes {
		for rest := v; len(rest) > 0; {
			n := min(len(rest), blockSize)
			block := w.block[:n]
			for i, x := range rest[:n] {
				block[i] = byte(math.Float32bits(x) >> (8 * p))
			}
			rest = rest[n:]
			out, _, err := huff0.Compress4X(block, &w.huff)
			switch {
			case errors.Is(err, huff0.ErrUseRLE):
				if len(dst)+2 >= limit {
					return nil, false
				}
				dst = append(dst, blockRepeat, block[0])
			case err == nil && 2+len(out) < n:
				if len(dst)+3+len(out) >= limit {
					return nil, false
				}
				dst = append(dst, blockHuff0, byte(len(out)), byte(len(out)>>8))
				dst = append(dst, out...)
			default: // incompressible, or by too little to pay for the length
				if len(dst)+1+n >= limit {
					return nil, false
				}
				dst = append(dst, blockRaw)
				dst = append(dst, block...)
			}
		}
	}
	return dst, true
}

// planeReader holds the decoder's work space. The zero value is ready.
type planeReader struct {
	huff  huff0.Scratch
	block []byte
}

// read fills v from its planes b. What v holds before does not matter.
func (r *planeReader) read(v []float32, b []byte) error {
	clear(v)
	for p := range planes {
		for at := 0; at < len(v); at += blockSize {
			part := v[at:min(at+blockSize, len(v))]
			block, rest, err := r.next(b, len(part))
			if err != nil {
				return fmt.Errorf("plane %d, block %d: %w", p, at/blockSize, err)
			}
			b = rest
			for i, x := range block {
				part[i] = math.Float32frombits(math.Float32bits(part[i]) | uint32(x)<<(8*p))
			}
		}
	}
	if len(b) > 0 {
		return fmt.Errorf("found %d bytes after the last block, wanted none", len(b))
	}
	return nil
}

// next takes a block of n bytes, n in 1..blockSize, off b. The block is good until the next call.
func (r *planeReader) next(b []byte, n int) (block, rest []byte, err error) {
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
		block = r.room(n)
		for i := range block {
			block[i] = b[0]
		}
		return block, b[1:], nil
	case blockHuff0:
		if len(b) < 2 {
			return nil, nil, errors.New("found the end, wanted the length of a compressed block")
		}
		size := int(b[0]) | int(b[1])<<8
		if b = b[2:]; size > len(b) || size+2 >= n {
			return nil, nil, fmt.Errorf("found a compressed length of %d, wanted at most %d", size, min(len(b), n-3))
		}
		_, data, err := huff0.ReadTable(b[:size], &r.huff)
		if err != nil {
			return nil, nil, fmt.Errorf("compressed block: %w", err)
		}
		// huff0 fills the capacity of its destination exactly or fails.
		block, err = r.huff.Decoder().Decompress4X(r.room(n)[:0:n], data)
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

// room returns n bytes of work space.
func (r *planeReader) room(n int) []byte {
	if cap(r.block) < n {
		r.block = make([]byte, n)
	}
	return r.block[:n]
}
