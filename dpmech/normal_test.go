package dpmech

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/normal.golden anew")

// floorHeights recomputes the heights below the given peak, rounded down, with a precision of 640 binary digits.
func floorHeights(peak uint64) (h [cells + 1]uint64) {
	for j := range h {
		h[j], _ = new(big.Float).Mul(bigInt(peak), bigBell(uint64(j), bigInt(0))).Uint64()
	}
	return h
}

// TestHeights checks that the committed table is exact to the last bit, that the weights add up to 2^63, and that the
// tail's weight is large enough for its proposal to cover the density. The peak must be the largest possible: with the
// next larger peak, the tail's weight would be too small.
func TestHeights(t *testing.T) {
	tail := func(h [cells + 1]uint64) uint64 {
		left := uint64(1) << 63
		for _, x := range h[:cells] {
			left -= x + 1
		}
		return left
	}
	// need returns the least weight of the tail: its first block has half of it, and covers the density at its start.
	need := func(h [cells + 1]uint64) uint64 { return 2 * (h[cells] + 1) }
	if want := floorHeights(heights[0]); heights != want {
		t.Errorf("the heights are %#x, want %#x", heights, want)
	}
	if got := tail(heights); got != tailWeight || got < need(heights) {
		t.Errorf("the tail's weight is %d; %d is left for it, and it needs %d", tailWeight, got, need(heights))
	}
	if more := floorHeights(heights[0] + 1); tail(more) >= need(more) && tail(more) < 1<<63 {
		t.Error("the peak could be larger")
	}
}

// unit returns a random word that selects the unit of area with l units under it in cell j.
func unit(j int, l uint64) uint64 { return (steps[j].last + 1 - steps[j].area + l) << 1 }

func TestLocate(t *testing.T) {
	for j := range cells + 1 {
		first, last := uint64(1<<63-tailWeight), uint64(1<<63-1)
		if j < cells {
			first, last = unit(j, 0)>>1, steps[j].last
		}
		for under := range uint64(2) {
			under *= last - first
			if cell, height, got := locate(first + under); cell != uint64(j) || height != heights[j] || got != under {
				t.Errorf("locate(%d) is %d, %d, %d; want %d, %d, %d", first+under, cell, height, got, j, heights[j], under)
			}
		}
	}
	if last := steps[cells-1].last; last != 1<<63-tailWeight-1 {
		t.Errorf("the last unit of the cells is %d", last)
	}
}

// slow returns the number that normals draws from the random words that the function next returns. It follows the
// sampler's description in arbitrary-precision arithmetic.
func slow(next func() uint64, shift int) int64 {
	for {
		r := next()
		u := []uint64{next()}
		t, sign := trial{span: 1}, r&1
		for r >>= 1; t.k < cells && r > heights[t.k]; t.k++ {
			r -= heights[t.k] + 1
		}
		t.base = r
		var y []uint64
		switch {
		case t.k == cells:
			t.base, t.span, t.down = 0, tailWeight, 1 // the first block has half the weight
			for w, left := next(), 64; w&1 == 0; t.k, t.down = t.k+1, t.down+1 {
				if w, left = w>>1, left-1; left == 0 {
					w, left = next(), 64
				}
			}
			y = []uint64{next()}
		case math.Abs(minus(bigInt(t.base), bigDensity(t.k, bigFraction(u...)))) < band:
			y = []uint64{next()}
		}
		if !below(t, u, y, next) {
			continue
		}
		x := new(big.Float).Add(bigInt(t.k), bigFraction(u...))
		x.SetMantExp(x, shift-cellBits)
		abs, _ := x.Add(x, big.NewFloat(0.5)).Int64()
		if sign == 1 {
			return -abs
		}
		return abs
	}
}

// below returns the result of the trial t, whose uniform numbers U and Y begin with the digits u and y. It gets further
// digits from the function next.
func below(t trial, u, y []uint64, next func() uint64) bool {
	for {
		// side returns the smallest (if more is 0) or largest (if more has all bits set) number that begins with these
		// digits.
		side := func(digits []uint64, more uint64) *big.Float {
			return bigFraction(append(slices.Clone(digits), more, more)...)
		}
		left := func(more uint64) *big.Float {
			h := new(big.Float).Mul(bigInt(t.span), side(y, more))
			return h.SetMantExp(h, -int(t.down)).Add(h, bigInt(t.base))
		}
		right := func(more uint64) *big.Float { return bigDensity(t.k, side(u, more)) }
		const ones = 1<<64 - 1
		switch {
		case left(ones).Cmp(right(ones)) < 0:
			return true
		case left(0).Cmp(right(0)) > 0:
			return false
		}
		u, y = append(slices.Clone(u), next()), append(slices.Clone(y), next())
	}
}

// TestSameDrawsFromTheSameWords checks that normals and the function slow draw the same numbers from the same stream of
// random words.
func TestSameDrawsFromTheSameWords(t *testing.T) {
	t.Parallel()
	for _, shift := range []int{0, 3, 28, 50} {
		fast, ref := keyed(t, byte(shift)), keyed(t, byte(shift))
		got := make([]int64, trials(1000))
		normals(got, shift, fast.Uint64)
		for i := range got {
			if want := slow(ref.Uint64, shift); got[i] != want {
				t.Fatalf("M = %d: draw %d is %d, want %d", shift, i, got[i], want)
			}
		}
		if fast.Uint64() != ref.Uint64() {
			t.Errorf("M = %d: another number of words was used", shift)
		}
	}
}

// tie returns an l, or for the tail 0, and a y for which the first 64 digits of U and Y do not decide the trial.
func tie(t trial) (l, y uint64) {
	d := bigDensity(t.k, bigFraction(t.u, 1<<63))
	if t.down == 0 {
		l, _ = d.Uint64()
		d.Sub(d, bigInt(l))
	}
	d.SetMantExp(d.Quo(d, bigInt(t.span)), 64+int(t.down))
	y, _ = d.Uint64()
	return l, y
}

// TestEveryPath checks every code path of normals, with random words chosen to reach this path. The number of words used
// confirms the path: two for a point that 64 digits decide, one more for a point in the band, two more for the block of
// the tail and its trial, and two more each time a comparison needs further digits.
func TestEveryPath(t *testing.T) {
	const middle, ones, inTail = 0x8765432187654321, 1<<64 - 1, 1<<64 - 2
	at, y := tie(trial{k: 5, span: 1, u: middle})
	_, second := tie(trial{k: cells + 1, span: tailWeight, down: 2, u: middle})
	far := append([]uint64{inTail, middle, 0, 1 << 4}, make([]uint64, 60)...) // block 68 of the tail, then numbers near 0
	for _, c := range []struct {
		name  string
		words []uint64
		used  int
		cell  int64
	}{
		{"below", []uint64{unit(5, 0), middle}, 2, 5},
		{"negative", []uint64{unit(5, 0) | 1, middle}, 2, 5},
		{"above, and again", []uint64{unit(5, heights[5]), middle, unit(9, 0), middle}, 4, 9},
		{"below in the band", []uint64{unit(5, at-2), middle, ones}, 3, 5},
		{"above in the band, and again", []uint64{unit(5, at+2), middle, 0, unit(9, 0), middle}, 5, 9},
		{"tie, below", []uint64{unit(5, at), middle, y, 0, 0}, 5, 5},
		{"tie, above, and again", []uint64{unit(5, at), middle, y, ones, ones, unit(9, 0), 0}, 7, 9},
		{"tail", []uint64{inTail, middle, 1, 0}, 4, cells},
		{"first of the tail", []uint64{(1<<63 - tailWeight) << 1, middle, 1, 0}, 4, cells},
		{"tail, above, and again", []uint64{inTail, middle, 1, ones, unit(9, 0), middle}, 6, 9},
		{"tail, second block, tie", []uint64{inTail, middle, 2, second, 0, 0}, 6, cells + 1},
		{"far tail", far, 45, cells + 68},
	} {
		used := 0
		next := func() uint64 { used++; return c.words[used-1] }
		var got [1]int64
		normals(got[:], 40, next)
		if used != c.used {
			t.Errorf("%s: %d words were used, want %d", c.name, used, c.used)
		}
		used = 0
		if want := slow(next, 40); got[0] != want {
			t.Errorf("%s: drew %d, want %d", c.name, got[0], want)
		}
		if abs := max(got[0], -got[0]); abs>>(40-cellBits) != c.cell || (got[0] < 0) != (c.name == "negative") {
			t.Errorf("%s: drew %d, which is not in cell %d", c.name, got[0], c.cell)
		}
	}
}

// TestRound checks that, for each grid and sign, round returns the grid point nearest to the number with the given
// digits.
func TestRound(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for shift := range 51 {
		for range 200 {
			x := corner(r)
			exact := new(big.Float).SetMantExp(bigInt(x), shift-52)
			for negative, sign := range []int64{1, -1} {
				got := round(x, uint64(negative), shift)
				diff := new(big.Float).Sub(new(big.Float).SetInt64(got*sign), exact)
				if half := big.NewFloat(0.5); diff.Cmp(half) > 0 || diff.Cmp(half.Neg(half)) < 0 {
					t.Fatalf("M = %d: %d for %v", shift, got, exact)
				}
			}
		}
	}
}

// TestFill checks that a release always reads 32 bytes from its source, leaves none of these bytes in memory, and draws
// from their stream.
func TestFill(t *testing.T) {
	source := make([]byte, 64)
	_, _ = stream(15).Read(source)
	r := bytes.NewReader(source)
	n := normal{random: r}
	var got, want [2][1000]int64
	for i := range got {
		if err := n.fill(got[i][:], 28); err != nil {
			t.Fatal(err)
		}
		if n.key != [32]byte{} || n.chacha != (rand.ChaCha8{}) {
			t.Error("the key is still in memory")
		}
		if left := 64 - 32*(i+1); r.Len() != left {
			t.Errorf("call %d leaves %d bytes, want %d", i, r.Len(), left)
		}
		normals(want[i][:], 28, rand.NewChaCha8([32]byte(source[32*i:])).Uint64)
	}
	if got != want {
		t.Error("the draws are not those of the stream")
	}
	if got[0] == got[1] {
		t.Error("two calls drew the same")
	}
}

// TestNormalGolden checks that the same random words lead to the same noise on every processor and in every version. It
// compares the first 64 draws, and a hash of 100000 draws.
func TestNormalGolden(t *testing.T) {
	var key [32]byte
	for i := range key {
		key[i] = byte(i)
	}
	var got bytes.Buffer
	for _, shift := range []int{4, 28, 50} {
		dst := make([]int64, 100000)
		normals(dst, shift, rand.NewChaCha8(key).Uint64)
		hash := sha256.New()
		if err := binary.Write(hash, binary.LittleEndian, dst); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "M=%d sha256=%x\n", shift, hash.Sum(nil))
		for i := 0; i < 64; i += 8 {
			fmt.Fprintln(&got, dst[i:i+8])
		}
	}
	const file = "testdata/normal.golden"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want = bytes.ReplaceAll(want, []byte("\r"), nil)
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("drew\n%s\nwant\n%s", &got, want)
	}
}
