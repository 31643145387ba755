package wire

import (
	"encoding/binary"
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

// someSpread returns the i-th vector of many whose lower planes are spread over many bytes, in one of many ways.
func someSpread(i int) []float32 {
	s := rng.New(1, rng.Address{Purpose: rng.Generate, Client: 5, Component: uint32(i)})
	v := make([]float32, 1+s.IntN(300))
	var u [256 + 45]uint32
	for plane := range planes {
		symbols, top, law := 16+s.IntN(241), 200+s.IntN(56), s.IntN(3)
		for j := range v {
			x := s.IntN(symbols)
			switch law {
			case 1: // each byte about as often as the others
				x = j % symbols
			case 2: // some twice as often
				x &= s.IntN(symbols) | symbols/2
			}
			u[j] |= uint32(byte(top-x)) << (8 * plane)
		}
	}
	for j := range v {
		v[j] = math.Float32frombits(u[j])
	}
	return v
}

// TestEven compares the lengths of planes that are known not to get shorter with those that huff0 makes.
func TestEven(t *testing.T) {
	runs := 3_000
	if n, err := strconv.Atoi(os.Getenv("HUFFSIZE")); err == nil {
		runs = n
	}
	sizer, full := new(huffSizer), packer{}
	var raw, known, coded int
	for i := range runs {
		v := someSpread(i)
		even := sizer.even(v)
		if n, most := len(v), sizer.pairs; n >= huffLeast && n < 256 &&
			(evenFits(n, most) || most > 0 && !evenFits(n, most-1)) {
			t.Fatalf("planes of %d bytes are taken with fewer than %d pairs", n, most)
		}
		for plane := range planes {
			block := make([]byte, len(v))
			for j, x := range v {
				block[j] = byte(math.Float32bits(x) >> (8 * plane))
			}
			out, _ := full.block(nil, block, math.MaxInt)
			switch {
			case out[0] != blockRaw && even[plane]:
				t.Fatalf("vector %d, plane %d of %d bytes: huff0 makes %d of them", i, plane, len(v), len(out))
			case even[plane]:
				known++
			case out[0] == blockRaw:
				raw++
			default:
				coded++
			}
		}
	}
	t.Logf("%d planes get shorter, %d do not, and %d are known not to", coded, raw, known)
	if known < runs/2 || raw < runs/2 || coded < runs/8 {
		t.Errorf("%d planes get shorter, %d do not, and %d are known not to: not enough of each", coded, raw, known)
	}
	noise := make([]float32, 100)
	s := rng.New(1, rng.Address{Purpose: rng.Generate, Client: 6})
	known = 0
	for range 1000 {
		for i := range noise {
			noise[i] = float32(s.Normal())
		}
		for _, is := range sizer.even(noise) {
			if is {
				known++
			}
		}
	}
	if known < 2900 {
		t.Errorf("of 3000 lower planes of 100 normal numbers %d are known not to get shorter, want 2900 or more", known)
	}
}

// TestWeightBits compares the lengths of weights with the lower bound that even takes for granted.
func TestWeightBits(t *testing.T) {
	s := rng.New(1, rng.Address{Purpose: rng.Generate, Client: 7})
	var f fseSizer
	checked, nearest := 0, math.MaxInt
	for i := range 10_000 {
		n, kinds, share := evenLast+s.IntN(256-evenLast), 1+s.IntN(4), s.IntN(101)
		weights, hist, symbols := make([]uint8, n), make([]uint32, 12), 0
		for j := range weights {
			if law := i % 3; law == 0 && s.IntN(100) < share || law == 1 && 100*j < share*n || law == 2 && share*j/100 > share*(j-1)/100 {
				weights[j] = uint8(1 + s.IntN(kinds))
				symbols++
			}
			hist[weights[j]]++
		}
		size := f.size(n, hist, math.MaxInt, func() []uint8 { return weights })
		if size <= 0 {
			continue
		}
		checked++
		off := size - 3 - int(weightBits(symbols))/8 // two bytes of head, and the bit that ends the states
		if nearest = min(nearest, off); off < 0 {
			t.Fatalf("try %d: %d weights, %d of them not 0, take %d bytes, %d fewer than the least", i, n, symbols, size, -off)
		}
	}
	if t.Logf("%d tries, the nearest takes %d bytes more than the least", checked, nearest); checked < 5000 || nearest > 1 {
		t.Errorf("%d tries, the nearest takes %d bytes more than the least: want 5000 and 0 or 1", checked, nearest)
	}
}

// FuzzSize compares the length of a vector's planes with that of what is written of them.
func FuzzSize(f *testing.F) {
	for i := range 4 {
		var b []byte
		for _, x := range someSpread(i) {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		f.Add(b, uint16(len(b)))
	}
	sized, full := packer{sizer: new(huffSizer)}, packer{}
	f.Fuzz(func(t *testing.T, b []byte, limit uint16) {
		v := make([]float32, len(b)/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		want, wantOK := full.planes(nil, v, int(limit))
		if got, ok := sized.planes(nil, v, int(limit)); ok != wantOK || len(got) != len(want) {
			t.Fatalf("%d numbers, limit %d: %d bytes, %v, want %d, %v", len(v), limit, len(got), ok, len(want), wantOK)
		}
	})
}
