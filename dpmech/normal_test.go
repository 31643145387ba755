package dpmech

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/normal.golden anew")

// floorHeights recomputes a table of heights, rounded down, with a precision of 640 binary digits.
func floorHeights(peak uint64, count int, bits uint) []uint64 {
	h := make([]uint64, count)
	for j := range h {
		h[j], _ = bigDensity(peak, uint64(j), bits, bigInt(0)).Uint64()
	}
	return h
}

// TestHeights checks that the committed tables are exact to the last bit, that the weights add up to 2^63, and that the
// tail's weight is large enough for its proposal to cover the density. The peak must be the largest possible: with the
// next larger peak, the tail's weight would be too small.
func TestHeights(t *testing.T) {
	tail := func(h []uint64) (weight int64) {
		left := uint64(1) << 63
		for _, x := range h[:len(h)-1] {
			left -= x + 1
		}
		return int64(left)
	}
	for _, c := range []struct {
		name    string
		heights []uint64
		tail    int64
		bits    uint
		need    int64 // least weight of the tail, in units of the density at its start: twice the cells of a block
	}{
		{"cells", heights[:], cellsTail, cellBits, 8},
		{"isochronous", isoHeights[:], isoTail, isoCellBits, 2},
	} {
		last := len(c.heights) - 1
		if want := floorHeights(c.heights[0], last+1, c.bits); !slices.Equal(c.heights, want) {
			t.Errorf("%s: the heights are %#x, want %#x", c.name, c.heights, want)
		}
		if got := tail(c.heights); got != c.tail {
			t.Errorf("%s: the tail's weight is %d, and %d is left for it", c.name, c.tail, got)
		}
		if need := c.need * int64(c.heights[last]+1); c.tail < need {
			t.Errorf("%s: the tail's weight is %d, want at least %d", c.name, c.tail, need)
		}
		more := floorHeights(c.heights[0]+1, last+1, c.bits)
		if tail(more) >= c.need*int64(more[last]+1) {
			t.Errorf("%s: the peak could be larger", c.name)
		}
	}
}

// TestColumns checks the alias table. Each cell, each wedge and the tail may be divided among several columns; the
// parts must add up exactly to the weight of the whole.
func TestColumns(t *testing.T) {
	var got, want [256]uint64
	for i, c := range columns {
		if c>>8 > 1<<55 {
			t.Fatalf("column %d has %d of its own, of 2^55", i, c>>8)
		}
		got[i] += c >> 8
		got[c&255] += 1<<55 - c>>8
	}
	want[tailCell] = cellsTail
	for j := range cells {
		want[j], want[wedges+j] = heights[j+1], heights[j]+1-heights[j+1]
	}
	if got != want {
		t.Errorf("the weights are %d, want %d", got, want)
	}
}

func TestIsoCell(t *testing.T) {
	first := uint64(0)
	for j := range uint64(isoCells + 1) {
		last := uint64(1<<63 - 1)
		if j < isoCells {
			last = first + isoHeights[j]
		}
		for _, r := range []uint64{first, last} {
			if cell, height := isoCell(r); cell != j || height != isoHeights[j] {
				t.Errorf("isoCell(%d) is %d, %d; want %d, %d", r, cell, height, j, isoHeights[j])
			}
		}
		first = last + 1
	}
}

// slow returns the number that the named sampler draws from the random words that the function next returns. It follows
// the sampler's description in arbitrary-precision arithmetic.
func slow(name string, next func() uint64, shift int) int64 {
	for {
		r := next()
		u := []uint64{next()}
		t, sign, inTail, tried := trial{}, r&1, false, true
		var y []uint64
		switch name {
		case "cells":
			t.peak, t.bits, t.k = heights[0], cellBits, r>>56
			if own := columns[t.k]; r>>1&(1<<55-1) >= own>>8 {
				t.k = own & 255
			}
			if inTail = t.k == tailCell; inTail {
				t.span, t.down = cellsTail, 3 // the first block has half the weight and is four cells wide
			} else if tried = t.k >= wedges; tried {
				t.k -= wedges
				t.base, t.span = heights[t.k+1], heights[t.k]+1-heights[t.k+1]
				y = []uint64{next()}
			}
		case "isochronous":
			t.peak, t.bits = isoHeights[0], isoCellBits
			y = []uint64{next()}
			for r >>= 1; t.k < isoCells && r > isoHeights[t.k]; t.k++ {
				r -= isoHeights[t.k] + 1
			}
			t.span = isoHeights[t.k] + 1
			if inTail = t.k == isoCells; inTail {
				t.span, t.down = isoTail, 1 // the first block has half the weight and is one cell wide
			}
		}
		if inTail {
			t.k, t.bits = t.k>>(t.bits-2), 2
			for w, left := next(), 64; w&1 == 0; t.k, t.down = t.k+1, t.down+1 {
				if w, left = w>>1, left-1; left == 0 {
					w, left = next(), 64
				}
			}
			y = []uint64{next()}
		}
		if tried && !below(t, u, y, next) {
			continue
		}
		x := new(big.Float).Add(bigInt(t.k), bigFraction(u...))
		x.SetMantExp(x, shift-int(t.bits))
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
		right := func(more uint64) *big.Float { return bigDensity(t.peak, t.k, t.bits, side(u, more)) }
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

// TestSameDrawsFromTheSameWords checks that the samplers and the function slow draw the same numbers from the same
// stream of random words.
func TestSameDrawsFromTheSameWords(t *testing.T) {
	for _, s := range samplers {
		for _, shift := range []int{0, 3, 28, 50} {
			fast := keyed(t, byte(shift))
			ref := *fast
			got := make([]int64, trials(t, 1000))
			s.draw(fast, got, shift)
			for i := range got {
				if want := slow(s.name, ref.word, shift); got[i] != want {
					t.Fatalf("%s, M = %d: draw %d is %d, want %d", s.name, shift, i, got[i], want)
				}
			}
			if fast.word() != ref.word() {
				t.Errorf("%s, M = %d: another number of words was used", s.name, shift)
			}
		}
	}
}

// tie returns a y for which the first 64 digits of U and Y do not decide the trial.
func tie(t trial, u uint64) uint64 {
	y := bigDensity(t.peak, t.k, t.bits, bigFraction(u, 1<<63))
	y.Sub(y, bigInt(t.base))
	y.SetMantExp(y.Quo(y, bigInt(t.span)), 64+int(t.down))
	d, _ := y.Uint64()
	return d
}

// TestEveryPath checks every code path of the samplers, with random words chosen to reach this path. The number of
// words used confirms the path: two for a point below a rectangle, three for a trial, and two more each time a
// comparison needs further digits.
func TestEveryPath(t *testing.T) {
	const middle = 0x8765432187654321
	wedge := trial{peak: heights[0], bits: cellBits, k: 20, base: heights[21], span: heights[20] + 1 - heights[21]}
	iso := trial{peak: isoHeights[0], bits: isoCellBits, k: 5, span: isoHeights[5] + 1}
	second := trial{peak: heights[0], bits: 2, k: 32, span: cellsTail, down: 4}
	isoSecond := trial{peak: isoHeights[0], bits: 2, k: 35, span: isoTail, down: 2}
	near := func(tr trial, distance uint64) uint64 { // like tie, but the method exact needs no further digits
		return tie(tr, middle) + distance*uint64((1<<63)/(tr.span/2))
	}
	inCell := func(j int) uint64 { return isoSteps[j].last << 1 }
	far := []uint64{0, 1 << 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // block 68 of the tail, then two numbers near 0
	for _, c := range []struct {
		name, sampler string
		words         []uint64
		used          int
		cell          uint64 // cell of the result, and bits of its width
		bits          int
	}{
		{"rectangle", "cells", []uint64{5 << 56, middle}, 2, 5, 4},
		{"negative", "cells", []uint64{5<<56 | 1, middle}, 2, 5, 4},
		{"wedge, below", "cells", []uint64{(wedges + 20) << 56, middle, 0}, 3, 20, 4},
		{"wedge, above, and again", "cells", []uint64{(wedges + 20) << 56, middle, 1<<64 - 1, 7 << 56, middle}, 5, 7, 4},
		{"wedge, below in the band", "cells", []uint64{(wedges + 20) << 56, middle, near(wedge, ^uint64(0))}, 3, 20, 4},
		{"wedge, above in the band, and again", "cells", []uint64{(wedges + 20) << 56, middle, near(wedge, 1), 7 << 56,
			middle}, 5, 7, 4},
		{"wedge, tie, below", "cells", []uint64{(wedges + 20) << 56, middle, tie(wedge, middle), 0, 0}, 5, 20, 4},
		{"wedge, tie, above, and again", "cells", []uint64{(wedges + 20) << 56, middle, tie(wedge, middle), 1<<64 - 1,
			1<<64 - 1, 7 << 56, 0}, 7, 7, 4},
		{"tail, first block", "cells", []uint64{tailCell << 56, middle, 1, 0}, 4, 31, 2},
		{"tail, above, and again", "cells", []uint64{tailCell << 56, middle, 1, 1<<64 - 1, 7 << 56, middle}, 6, 7, 4},
		{"tail, second block, tie", "cells", []uint64{tailCell << 56, middle, 2, tie(second, middle), 0, 0}, 6, 32, 2},
		{"far tail", "cells", append([]uint64{tailCell << 56, middle}, far...), 17, 31 + 68, 2},

		{"below", "isochronous", []uint64{inCell(5), middle, 0}, 3, 5, 2},
		{"negative", "isochronous", []uint64{inCell(5) | 1, middle, 0}, 3, 5, 2},
		{"above, and again", "isochronous", []uint64{inCell(5), middle, 1<<64 - 1, inCell(9), middle, 0}, 6, 9, 2},
		{"below in the band", "isochronous", []uint64{inCell(5), middle, near(iso, ^uint64(0))}, 3, 5, 2},
		{"above in the band, and again", "isochronous", []uint64{inCell(5), middle, near(iso, 1), inCell(9), middle, 0}, 6,
			9, 2},
		{"tie, below", "isochronous", []uint64{inCell(5), middle, tie(iso, middle), 0, 0}, 5, 5, 2},
		{"tie, above, and again", "isochronous", []uint64{inCell(5), middle, tie(iso, middle), 1<<64 - 1, 1<<64 - 1,
			inCell(9), 0, 0}, 8, 9, 2},
		{"tail", "isochronous", []uint64{1<<64 - 2, middle, 1<<64 - 1, 1, 0}, 5, 34, 2},
		{"tail, above, and again", "isochronous", []uint64{1<<64 - 2, middle, 0, 1, 1<<64 - 1, inCell(9), middle, 0}, 8, 9,
			2},
		{"tail, second block, tie", "isochronous", []uint64{1<<64 - 2, middle, 0, 2, tie(isoSecond, middle), 0, 0}, 7, 35, 2},
		{"far tail", "isochronous", append([]uint64{1<<64 - 2, middle, 0}, far...), 20, 34 + 68, 2},
	} {
		n := keyed(t, 1)
		n.left = len(n.buf)
		copy(n.buf[:], c.words)
		for i := len(c.words); i < len(n.buf); i++ {
			n.buf[i] = 0x0123456789abcdef * uint64(i)
		}
		ref := *n
		var got [1]int64
		for _, s := range samplers {
			if s.name == c.sampler {
				s.draw(n, got[:], 40)
			}
		}
		if used := len(n.buf) - n.left; used != c.used {
			t.Errorf("%s, %s: %d words were used, want %d", c.sampler, c.name, used, c.used)
		}
		if want := slow(c.sampler, ref.word, 40); got[0] != want {
			t.Errorf("%s, %s: drew %d, want %d", c.sampler, c.name, got[0], want)
		}
		if abs := max(got[0], -got[0]); abs>>(40-c.bits) != int64(c.cell) || (got[0] < 0) != (c.name == "negative") {
			t.Errorf("%s, %s: drew %d, which is not in cell %d", c.sampler, c.name, got[0], c.cell)
		}
	}
	for distance := range uint64(2) {
		wedge.u, wedge.y = middle, near(wedge, -distance)
		iso.u, iso.y = middle, near(iso, -distance)
		_, a := compare(wedge.height(), cellDensity(wedge.k, wedge.u))
		_, b := compare(iso.height(), isoDensity(iso.k, isoHeights[iso.k], iso.u))
		if a&b != 1 {
			t.Errorf("%d units below the density is outside of the band", distance)
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
// with the sampler that the build selects.
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
		if n.key != [32]byte{} || n.buf != [len(n.buf)]uint64{} || n.chacha != (rand.ChaCha8{}) {
			t.Error("the key is still in memory")
		}
		if left := 64 - 32*(i+1); r.Len() != left {
			t.Errorf("call %d leaves %d bytes, want %d", i, r.Len(), left)
		}
		fresh := normal{}
		fresh.chacha.Seed([32]byte(source[32*i:]))
		for _, s := range samplers {
			if s.name == Sampler {
				s.draw(&fresh, want[i][:], 28)
			}
		}
	}
	if got != want {
		t.Errorf("the draws are not those of the sampler %q", Sampler)
	}
	if got[0] == got[1] {
		t.Error("two calls drew the same")
	}
}

func TestFillFails(t *testing.T) {
	broken := errors.New("broken")
	for good := range 32 {
		n := normal{random: &failing{stream(4), int64(good), broken}}
		dst := []int64{1, 2, 3}
		if err := n.fill(dst, 28); !errors.Is(err, broken) || !slices.Equal(dst, make([]int64, 3)) {
			t.Errorf("after %d good bytes: %v, %v; want %v and zeros", good, err, dst, broken)
		}
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
	for _, s := range samplers {
		for _, shift := range []int{4, 28, 50} {
			var n normal
			n.chacha.Seed(key)
			dst := make([]int64, 100000)
			s.draw(&n, dst, shift)
			hash := sha256.New()
			if err := binary.Write(hash, binary.LittleEndian, dst); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%s M=%d sha256=%x\n", s.name, shift, hash.Sum(nil))
			for i := 0; i < 64; i += 8 {
				fmt.Fprintln(&got, dst[i:i+8])
			}
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

func BenchmarkNormal(b *testing.B) {
	dst := make([]int64, 10000)
	for _, s := range samplers {
		b.Run(s.name, func(b *testing.B) {
			n := new(normal)
			b.ReportAllocs()
			for b.Loop() {
				s.draw(n, dst, 28)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(dst)), "ns/draw")
		})
	}
}
