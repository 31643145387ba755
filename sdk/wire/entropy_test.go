package wire

import (
	"math"
	"testing"

	"github.com/klauspost/compress/huff0"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// blocks calls f with many kinds of blocks: the planes of floats at several scales and with few digits, and bytes of
// which some are more frequent than others.
func blocks(n int, s *rng.Stream, f func(kind string, block []byte)) {
	block := make([]byte, n)
	for _, scale := range []float64{1e-6, 0.1, 1, 300} {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(scale * s.Normal())
			if scale == 300 {
				v[i] = float32(math.Round(float64(v[i])))
			}
		}
		for plane := range planes {
			for i, x := range v {
				block[i] = byte(math.Float32bits(x) >> (8 * plane))
			}
			f("floats", block)
		}
	}
	for range 6 {
		first, many := s.IntN(256), 1+s.IntN(255)
		for i := range block {
			block[i] = byte(first + s.IntN(many))
		}
		f("uniform", block)
		share := s.Float64()
		for i := range block {
			if block[i] = byte(first); s.Float64() < share {
				block[i] += byte(s.IntN(many))
			}
		}
		f("one frequent byte", block)
		for i := range block {
			block[i] = byte(float64(many) * s.Float64() * s.Float64() * s.Float64())
		}
		f("skewed", block)
		block[0] = 255
		f("skewed, with an outlier", block)
	}
}

// TestCompressible checks that no block is left as it is that huff0 shortens, that no block of up to leastHuff0 bytes
// can be shortened, and that huff0 is asked in vain at most once in four times.
func TestCompressible(t *testing.T) {
	huff := huff0.Scratch{Reuse: huff0.ReusePolicyNone}
	s := rng.New(1, rng.Address{Purpose: rng.Generate})
	vain, won := 0, 0
	lengths := []int{2, 10, 12, leastHuff0, leastHuff0 + 1, 18, 20, 30, 40, 64, 100, 127, 128, 200, 300, 500, 784, 1000, 2000, 3000, 5000, 10000, 65536}
	for _, n := range lengths {
		for range max(1, min(10, 20_000/n)) {
			blocks(n, &s, func(kind string, block []byte) {
				p := packer{block: block}
				tries := n > leastHuff0 && !repeats(block) && p.compressible()
				packed, _, err := huff0.Compress4X(block, &huff)
				switch wins := err == nil && 2+len(packed) < n; {
				case wins && !tries:
					t.Fatalf("%s: huff0 shortens %d bytes to %d, but is not asked", kind, n, 2+len(packed))
				case wins:
					won++
				case tries:
					vain++
				}
			})
		}
	}
	t.Logf("asked in vain %d times, %d blocks shortened", vain, won)
	if 3*vain > won {
		t.Errorf("huff0 is asked in vain %d times, and shortens %d blocks", vain, won)
	}
}

func TestLog2(t *testing.T) {
	for c := uint32(1); c < 1<<16; c++ {
		if got, want := float64(log2(c))/one, math.Log2(float64(c)); math.Abs(got-want) > 0.01 {
			t.Fatalf("log2(%d) = %v, want %v", c, got, want)
		}
	}
}
