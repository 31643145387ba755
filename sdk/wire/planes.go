package wire

import (
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/sdk/wire/cbor"
)

// planes is how many bytes a float32 has.
const planes = 4

// planes appends the planes of v to dst, or reports false if that takes limit bytes or more; dst then has undefined
// bytes beyond its length. It appends less than limit bytes at any time.
func (p *packer) planes(dst []byte, v []float32, limit int) ([]byte, bool) {
	limit += len(dst)
	for plane := range planes {
		for rest := v; len(rest) > 0; {
			n := min(len(rest), blockSize)
			p.work = cbor.Room(p.work, n)
			work, shift := p.work, 8*plane&31
			for i, x := range rest[:len(work)] {
				work[i] = byte(math.Float32bits(x) >> shift)
			}
			rest = rest[n:]
			var ok bool
			if dst, ok = p.block(dst, work, limit); !ok {
				return nil, false
			}
		}
	}
	return dst, true
}

// planes fills v from its planes b. What v holds before does not matter.
func (u *unpacker) planes(v []float32, b []byte) error {
	clear(v)
	for plane := range planes {
		for at := 0; at < len(v); at += blockSize {
			part := v[at:min(at+blockSize, len(v))]
			block, rest, err := u.block(b, len(part))
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
