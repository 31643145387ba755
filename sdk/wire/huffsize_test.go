package wire

import (
	"errors"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/klauspost/compress/huff0"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// blockOf returns a block from a stream of draws: of one of many lengths, with symbols of one of many laws.
func blockOf(s *rng.Stream) []byte {
	n := huffLeast + s.IntN(1<<(1+s.IntN(11)))
	if s.IntN(200) == 0 {
		n = blockSize - s.IntN(100)
	}
	block := make([]byte, n)
	symbols, from := 1+s.IntN(256), s.IntN(256)
	law, power := s.IntN(5), math.Exp(4*s.Normal())
	plane, scale := s.IntN(4), math.Exp(8*s.Normal())
	for i := range block {
		switch law {
		case 0: // uniform
			block[i] = byte(from + s.IntN(symbols))
		case 1: // skewed
			block[i] = byte(from + int(float64(symbols)*math.Pow(s.Float64(), power)))
		case 2: // geometric
			block[i] = byte(from + int(-math.Log(1-s.Float64())*power))
		case 3: // runs
			if i > 0 && s.IntN(8) > 0 {
				block[i] = block[i-1]
			} else {
				block[i] = byte(from + s.IntN(symbols))
			}
		case 4: // a plane of normal numbers
			block[i] = byte(math.Float32bits(float32(scale*s.Normal())) >> (8 * plane))
		}
	}
	return block
}

// TestHuffSize compares lengths with those of the library's blocks. A longer run: HUFFSIZE=10000000 go test -timeout 0
// -run HuffSize ./sdk/wire
func TestHuffSize(t *testing.T) {
	runs := 6_000
	if n, err := strconv.Atoi(os.Getenv("HUFFSIZE")); err == nil {
		runs = n
	}
	var h huffSizer
	var p packer
	var coded, left int
	for i := range runs {
		s := rng.New(1, rng.Address{Purpose: rng.Generate, Client: 4, Component: uint32(i)})
		block := blockOf(&s)
		size, err := h.size(block)
		out, want := p.compress(block)
		worth := want == nil && 2+len(out) < len(block)
		switch {
		case size < 0:
			left++
		case err == nil && worth:
			coded++
			if size != len(out) {
				t.Fatalf("block %d, %d bytes %x: %d bytes, huff0 makes %d", i, len(block), block[:min(len(block), 100)], size, len(out))
			}
		case err == nil && !worth && 2+size >= len(block):
		case errors.Is(err, huff0.ErrIncompressible) && !worth && !errors.Is(want, huff0.ErrUseRLE):
		case errors.Is(err, huff0.ErrUseRLE) && errors.Is(want, huff0.ErrUseRLE):
		default:
			t.Fatalf("block %d, %d bytes %x: %d, %v; huff0 %d, %v", i, len(block), block[:min(len(block), 100)], size, err,
				len(out), want)
		}
	}
	t.Logf("%d blocks, %d coded, %d left to huff0", runs, coded, left)
	if coded < runs/4 || left > runs/50 {
		t.Errorf("of %d blocks %d are coded and %d left to huff0", runs, coded, left)
	}
}
