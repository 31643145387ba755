package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"

	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// gridNormals returns n normally distributed numbers of standard deviation sd, rounded to integers.
func gridNormals(n int, sd float64, seed uint64) []int32 {
	s := rng.New(seed, rng.Address{Purpose: rng.Generate, Client: 2})
	g := make([]int32, n)
	for i := range g {
		g[i] = int32(math.Round(sd * s.Normal()))
	}
	return g
}

// anyInts returns n uniformly random numbers: incompressible data.
func anyInts(n int, seed uint64) []int32 {
	s := rng.New(seed, rng.Address{Purpose: rng.Generate, Client: 3})
	g := make([]int32, n)
	for i := range g {
		g[i] = int32(s.Uint32())
	}
	return g
}

var extremes = []int32{0, -1, 1, math.MaxInt32, math.MinInt32, math.MaxInt32 - 1, math.MinInt32 + 1, 1 << 30}

// withOutliers returns n small numbers, n >= 20, some of which are replaced by the large values in "extremes".
func withOutliers(n int) []int32 {
	g := gridNormals(n, 16, 5)
	for i, x := range extremes[3:] {
		g[(2*i+1)*n/10] = x
	}
	return g
}

func grids() map[string][]int32 {
	all := map[string][]int32{
		"extremes":      extremes,
		"zeros":         make([]int32, 100),
		"zero":          {0},
		"least":         {math.MinInt32},
		"two":           {1, -1},
		"any":           anyInts(1000, 1),
		"few outliers":  withOutliers(40),
		"outliers":      withOutliers(3000),
		"odd pairs":     append(gridNormals(2000, 0.7, 3), math.MinInt32),
		"sparse":        append(make([]int32, 4999), math.MaxInt32),
		"bytes":         slices.Repeat([]int32{127, -128, 0, 3}, 300),
		"alternating":   slices.Repeat([]int32{math.MaxInt32, math.MinInt32}, 300),
		"constant":      slices.Repeat([]int32{-77}, 1000),
		"block":         gridNormals(blockSize, 40, 4),
		"block and one": gridNormals(blockSize+1, 40, 5),
		"two blocks":    append(gridNormals(blockSize, 1, 6), gridNormals(700, 3000, 6)...),
		"rice at last":  append(make([]int32, blockSize), gridNormals(40, 16, 7)...),
	}
	for bit := range 31 {
		all[fmt.Sprintf("scale %d", bit)] = gridNormals(300, float64(uint(1)<<bit)/5, uint64(bit))
	}
	return all
}

// TestGridForms checks that each form of a block survives a round trip for all numbers, even if the encoder would not
// choose that form, and that no parameter of the Rice code gives a shorter block than the chosen one.
func TestGridForms(t *testing.T) {
	for name, g := range grids() {
		g = g[:min(len(g), 700)]
		back := make([]int32, len(g))
		check := func(form int, b []byte) {
			t.Helper()
			if rest, err := readNumbers(back, append(b, 1, 2, 3)); err != nil || len(rest) != 3 || !slices.Equal(back, g) {
				t.Errorf("%s, form %d: %d bytes left, %v", name, form, len(rest), err)
			}
		}
		best, n := riceParameter(g)
		for k := range uint(riceMax + 1) {
			b := appendRice([]byte{byte(k)}, g, k)
			check(int(k), b)
			if size := len(b) - 1; size < (n+7)/8 || k == best && size != (n+7)/8 {
				t.Errorf("%s: parameter %d is of %d bytes; %d was chosen for %d bits", name, k, size, best, n)
			}
		}
		check(gridPlain, grid(g...))
	}
}

// sourceEntropy returns the entropy, in bits, of a rounded normal number of standard deviation sd.
func sourceEntropy(sd float64) float64 {
	h := 0.0
	for k := 0.0; k <= 9*sd+1; k++ {
		p := (math.Erfc((k-0.5)/sd/math.Sqrt2) - math.Erfc((k+0.5)/sd/math.Sqrt2)) / 2
		if k > 0 {
			h -= p * math.Log2(p) // the term of -k, equal to the term of k
		}
		if p > 0 {
			h -= p * math.Log2(p)
		}
	}
	return h
}

// TestGridSize checks that grids of normally distributed numbers take at most as many bytes as the package comment
// claims.
func TestGridSize(t *testing.T) {
	for _, dim := range []int{10, 40, 300, 500, 1000, 10_000, 100_000} {
		for _, sd := range []float64{1, 4, 16, 40, 100, 700} {
			g := gridNormals(dim, sd, 1)
			frame := mustAppend(t, newCodec(t, dim), &admm.Message{Kind: admm.Release, Round: 100, Grid: g})
			bits := 8 * float64(len(frame)) / float64(dim)
			h := sourceEntropy(sd)
			// From dimension 10,000 on, a grid takes at most 3 % more than its entropy, not counting the frame's own 12
			// bytes, which matter only if the numbers are small. For numbers around 1 the limit is 6 %, because no
			// parameter of the Rice code fits them well; they occur only on a grid as coarse as the noise.
			most := 1.03
			if sd == 1 {
				most = 1.06
			}
			if own := bits - 8*12/float64(dim); dim >= 10_000 && own > most*h || dim >= 300 && own > 1.06*h {
				t.Errorf("dimension %d, sd %g: %.3f bits but for the frame's own, too many for an entropy of %.3f", dim, sd, own, h)
			}
			if dim >= 10_000 && bits > max(7.5, most*h) {
				t.Errorf("dimension %d, sd %g: %.3f bits, too many for an entropy of %.3f", dim, sd, bits, h)
			}
		}
	}
	// At dimension 10,000, on a grid of sigma/16, a release whose change is mostly noise takes at most 7.5 bits per
	// number.
	g := gridNormals(10_000, 16*math.Sqrt2, 2)
	if n := len(mustAppend(t, newCodec(t, len(g)),
		&admm.Message{Kind: admm.Release, Round: 1000, Grid: g})); 8*n > 75_000 {
		t.Errorf("%d bytes for 10,000 coordinates, above 7.5 bits", n)
	}
	for sd, most := range map[float64]int{8: 29, 20: 35} {
		var p packer
		if b := p.grid(gridNormals(40, sd, 1)); len(b) > most {
			t.Errorf("dimension 40, sd %g: %d bytes, above %d", sd, len(b), most)
		}
	}
}

// Decode fails for each of these errors in a packed grid of dimension 100.
func TestDecodeRefusesPacked(t *testing.T) {
	const dim = 100
	ones := bytes.Repeat([]byte{0xff}, 300)
	rice := func(k byte, bits ...byte) []byte { return append([]byte{k}, bits...) }
	for _, m := range []struct {
		name   string
		packed []byte
		want   string
	}{
		{"unknown form", []byte{31}, "grid: block 0: found a block of form 31, wanted 0..30 or 32"},
		{"form 255", []byte{255, 0, 0}, "found a block of form 255"},
		{"plain cut", append([]byte{gridPlain}, make([]byte, 399)...), "found 399 plain bytes, wanted 400"},
		{"plain and more", append([]byte{gridPlain}, make([]byte, 401)...), "found 1 bytes after the last block"},
		{"Rice code without numbers", rice(3), "found the end of the data inside a number"},
		{"Rice code cut", rice(0, make([]byte, 12)...), "found the end of the data inside a number"},
		{"Rice code cut in the low bits", rice(8, make([]byte, 112)...), "found the end of the data inside a number"},
		{"Rice run without end", rice(0, ones...), "found the end of the data inside a number"}, // 52 bits for each escape
		{"run to the end", rice(30, ones[:200]...), "number 0: found the value 4294967295 in an escape code, wanted at least 21474836480"},
		{"needless escape", rice(4, 0xff, 0xff, 0x0f, 0, 0, 0, 0), "number 0: found the value 0 in an escape code, wanted at least 320"},
		{"more than 32 bits", rice(30, 0x0f), "number 0: found a Rice code with 4 leading ones and parameter 30, wanted the code of a number of at most 32 bits"},
		{"bits left over", rice(0, append(make([]byte, 12), 0x10)...), "found bits 0b1 after the last number, wanted zeros"},
		{"Rice code and more", rice(0, make([]byte, 14)...), "grid: found 1 bytes after the last block, wanted none"},
	} {
		var f admm.Message
		checkError(t, m.name, newCodec(t, dim).Decode(pairs(1, 1, 2, 2, 3, 0, 6, m.packed), &f), m.want)
	}
	var f admm.Message
	sound := pairs(1, 1, 2, 2, 3, 0, 6, append([]byte{0}, bytes.Repeat([]byte{0x55}, 25)...))
	if err := newCodec(t, 100).Decode(sound, &f); err != nil || !slices.Equal(f.Grid, slices.Repeat([]int32{-1}, 100)) {
		t.Errorf("sound: %v, %v", f.Grid, err)
	}
}

// The first valid frame makes a codec allocate at most what its dimension requires. After that, a malformed frame makes
// it allocate at most 64 KiB.
func TestBombs(t *testing.T) {
	const dim = 1 << 20
	c := newCodec(t, dim)
	var still []byte
	for range 4 * dim / blockSize {
		still = append(still, blockRepeat, 0)
	}
	var f admm.Message
	if err := c.Decode(pairs(1, 1, 2, 2, 3, 0, 5, still), &f); err != nil || len(f.Vector) != dim {
		t.Fatalf("%d numbers, %v", len(f.Vector), err)
	}
	f.Grid = make([]int32, dim)
	more := append(still, blockRepeat, 0)
	for name, frame := range map[string][]byte{
		"a block too many": pairs(1, 1, 2, 2, 3, 0, 5, more),
		"a block of bits":  pairs(1, 1, 2, 2, 3, 0, 6, bytes.Repeat([]byte{0}, 1000)),
		"1 GiB of grid":    pairs(1, 1, 2, 2, 3, 0, 6, raw{0x5a, 0x40, 0, 0, 0, 0}),
		"an exabyte":       pairs(1, 1, 2, 2, 3, 0, 6, raw{0x5b, 0x10, 0, 0, 0, 0, 0, 0, 0, 0}),
	} {
		if n := allocated(func() { checkError(t, name, c.Decode(frame, &f), "") }); n > 64<<10 {
			t.Errorf("%s: %d bytes allocated for a frame of %d", name, n, len(frame))
		}
	}
}

// allocated returns the number of bytes that a call of the given function allocates. No other goroutine may run during
// the call.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestMutations checks that frames with random errors do not make Decode panic or allocate much, and that accepted
// frames survive a second round trip.
func TestMutations(t *testing.T) {
	const count = 25_000
	var frames []*admm.Message
	for _, dim := range []int{7, 40, 300} {
		frames = append(frames,
			&admm.Message{Kind: admm.Release, Round: 3, Vector: normals(dim, 1)},
			&admm.Message{Kind: admm.Release, Round: 1000, Vector: anyFinite(dim, 1)},
			&admm.Message{Kind: admm.Release, Round: 70_000, Grid: anyInts(dim, 1)},
			&admm.Message{Kind: admm.Release, Round: 3, Resent: true, Grid: gridNormals(dim, 1, 1)},
			&admm.Message{Kind: admm.Release, Round: 3, Grid: gridNormals(dim, 40, 1)},
			&admm.Message{Kind: admm.Release, Round: 3, Grid: slices.Concat(gridNormals(dim-2, 300, 1), extremes[3:5])},
			&admm.Message{Kind: admm.Release, Round: 3, Grid: make([]int32, dim)})
	}
	frames = append(frames, &admm.Message{Kind: admm.Probe, Round: 12, Held: 300},
		&admm.Message{Kind: admm.Done, Round: 60, Resent: true})
	s := rng.New(1, rng.Address{Purpose: rng.Generate, Client: 4})
	taken := 0
	for i, f := range frames {
		dim := max(1, len(f.Vector)+len(f.Grid))
		c := newCodec(t, dim)
		sound := mustAppend(t, c, f)
		got := &admm.Message{Vector: make([]float32, dim), Grid: make([]int32, dim)}
		again := &admm.Message{Vector: make([]float32, dim), Grid: make([]int32, dim)}
		var buf, second []byte
		share := count/len(frames) + 1
		run := func() {
			buf = mutate(append(buf[:0], sound...), &s)
			if c.Decode(buf, got) != nil {
				return
			}
			taken++
			var err error
			if second, err = c.Append(second[:0], got); err != nil || len(second) > MaxFrame(dim) {
				t.Fatalf("frame %d: %x was accepted and cannot be sent: %v", i, buf, err)
			}
			if err := c.Decode(second, again); err != nil || !sameFrame(got, again) {
				t.Fatalf("frame %d: %x comes back as another: %v", i, buf, err)
			}
		}
		for range 50 {
			run()
		}
		if n := allocated(func() {
			for range share {
				run()
			}
		}); n > uint64(share)*uint64(4096+8*len(sound))+1<<20 {
			t.Errorf("frame %d: %d bytes allocated over %d mutations", i, n, share)
		}
	}
	if taken == 0 || taken > count/2 {
		t.Errorf("%d of %d mutations accepted: they are all harmless or all fatal", taken, count)
	}
}

// mutate damages a frame in one to four places.
func mutate(b []byte, s *rng.Stream) []byte {
	pick := func(n int) int { return int(uint64(s.Uint32()) * uint64(n) >> 32) }
	for range 1 + pick(4) {
		if len(b) == 0 {
			return b
		}
		at := pick(len(b))
		switch pick(7) {
		case 0:
			b[at] ^= 1 << pick(8)
		case 1:
			b[at] = byte(s.Uint32())
		case 2:
			b[at] = []byte{0, 1, 0x7f, 0x80, 0xff, 0x5a, 0x5b, 0x9f}[pick(8)]
		case 3:
			b = slices.Insert(b, at, byte(s.Uint32()))
		case 4:
			b = slices.Delete(b, at, at+1)
		case 5:
			b = b[:at]
		case 6:
			if at+4 <= len(b) {
				binary.LittleEndian.PutUint32(b[at:], s.Uint32())
			}
		}
		at = min(at, 30) // errors near the head are more likely to matter
		if pick(3) == 0 && at < len(b) {
			b[at] ^= 1 << pick(8)
		}
	}
	return b
}
