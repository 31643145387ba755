package wire

import (
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// someBlock returns the i-th block of many: of one of many lengths, with symbols of one of many laws.
func someBlock(i int) []byte {
	s := rng.New(1, rng.Address{Purpose: rng.Generate, Client: 4, Component: uint32(i)})
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

// TestHuffSize compares the lengths of blocks with those that huff0 makes. A longer run: HUFFSIZE=10000000 go test
// -timeout 0 -run HuffSize ./sdk/wire
func TestHuffSize(t *testing.T) {
	runs := 6_000
	if n, err := strconv.Atoi(os.Getenv("HUFFSIZE")); err == nil {
		runs = n
	}
	sized, full := packer{sizer: new(huffSizer)}, packer{}
	var forms [3]int
	same := func(i int) {
		t.Helper()
		block := someBlock(i)
		want, _ := full.block(nil, block, math.MaxInt)
		if got, _ := sized.block(nil, block, math.MaxInt); len(got) != len(want) || got[0] != want[0] {
			t.Fatalf("block %d of %d bytes: form %d and %d bytes, huff0's has form %d and %d bytes", i, len(block), got[0],
				len(got), want[0], len(want))
		}
		forms[want[0]]++
	}
	for i := range runs {
		same(i)
	}
	t.Logf("blocks by form: %v", forms)
	if forms[blockRaw] < runs/4 || forms[blockRepeat] == 0 || forms[blockHuff0] < runs/4 {
		t.Errorf("of %d blocks %v are raw, repeated and coded: not enough of each", runs, forms)
	}
	for _, i := range []int{45936, 129652, 242679} {
		if n, err := sized.sizer.size(someBlock(i)); n != -1 || err != nil {
			t.Errorf("block %d: %d, %v, want it left to huff0", i, n, err)
		}
		same(i)
	}
}
