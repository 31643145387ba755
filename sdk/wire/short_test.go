package wire

import (
	"bytes"
	"errors"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/klauspost/compress/huff0"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// blockByHuff0 is packer.block in words of huff0 alone, which is what defines the form of a block.
func blockByHuff0(dst, block []byte, limit int) ([]byte, bool) {
	out, _, err := huff0.Compress4X(block, &huff0.Scratch{Reuse: huff0.ReusePolicyNone})
	var form []byte
	switch {
	case errors.Is(err, huff0.ErrUseRLE):
		form = []byte{blockRepeat, block[0]}
	case err == nil && 2+len(out) < len(block):
		form = append([]byte{blockHuff0, byte(len(out)), byte(len(out) >> 8)}, out...)
	default:
		form = append([]byte{blockRaw}, block...)
	}
	if len(dst)+len(form) >= limit {
		return nil, false
	}
	return append(dst, form...), true
}

// gridByTrial is packer.grid without its bound of short blocks.
func gridByTrial(p *packer, dst []byte, g []int32, limit int) ([]byte, bool) {
	limit += len(dst)
	k, n := riceParameter(g)
	end := min(limit, len(dst)+1+(n+7)/8)
	if out, ok := p.stored(dst, g, p.choose(g), end); ok {
		return out, true
	}
	if end == limit {
		return nil, false
	}
	return appendRice(append(dst, gridRice+byte(k)), g, k), true
}

// trials is how many times as many blocks as usual are tried: four with SPADE_LONG.
func trials() int {
	if os.Getenv("SPADE_LONG") != "" {
		return 4
	}
	return 1
}

// Short blocks, which huff0 never sees, have the form that it would give them. From huffLeast bytes on it can be
// shorter.
func TestShortBlocks(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // huff0 makes tables for each block, and nothing stays in memory
	var p packer
	same := func(block []byte, limit int) {
		t.Helper()
		got, ok := p.block([]byte{7}, block, limit)
		want, wanted := blockByHuff0([]byte{7}, block, limit)
		if ok != wanted || !bytes.Equal(got, want) {
			t.Fatalf("block %x with limit %d: %x, %v, want %x, %v", block, limit, got, ok, want, wanted)
		}
	}
	s := rng.New(5, rng.Address{Purpose: rng.Generate})
	shortest := math.MaxInt
	for n := 1; n <= 40; n++ {
		for symbols := 1; symbols <= 32; symbols++ {
			for _, span := range []uint32{1, 2, 7, 8, 100} { // apart
				for range 5 * trials() {
					block := make([]byte, n)
					for i := range block {
						block[i] = byte(uint32(symbols+3) + s.Uint32()%uint32(symbols)*span)
						if s.Uint32()%3 == 0 && i > 0 {
							block[i] = block[i-1] // skewed
						}
					}
					same(block, 1000)
					same(block, 1+n+int(s.Uint32()%5))
					if out, _ := p.block(nil, block, 1000); out[0] == blockHuff0 {
						shortest = min(shortest, n)
					}
				}
			}
		}
	}
	for n := 1; n <= 15+trials()/2; n++ { // two values, in all ways
		block := make([]byte, n)
		for which := range 1 << n {
			for i := range block {
				block[i] = byte(which >> i & 1)
			}
			same(block, 1000)
			if out, _ := p.block(nil, block, 1000); out[0] == blockHuff0 {
				shortest = min(shortest, n)
			}
		}
	}
	if shortest != huffLeast {
		t.Errorf("the shortest block that huff0 makes shorter has %d bytes, want %d", shortest, huffLeast)
	}
}

// The bound that spares short grids a trial of all forms changes no byte of them.
func TestShortGrids(t *testing.T) {
	var p packer
	s := rng.New(6, rng.Address{Purpose: rng.Generate})
	forms := map[byte]int{}
	for n := 1; n <= 2*huffLeast; n++ {
		for width := range uint(33) {
			for range 15 * trials() {
				g := make([]int32, n)
				base := s.Uint32()
				for i := range g {
					z := s.Uint32() & uint32(1<<width-1)
					switch s.Uint32() % 8 {
					case 0:
						z = 0
					case 1:
						z = uint32(1<<width - 1)
					}
					g[i] = unzigzag(z)
				}
				switch s.Uint32() % 4 {
				case 0: // all high bits the same
					for i := range g {
						g[i] = unzigzag(base&^uint32(1<<width-1) | zigzag(g[i]))
					}
				case 1: // pairs the same
					for i := range g {
						g[i] = g[i%2]
					}
				}
				for _, limit := range []int{4 * n, 1 + int(s.Uint32()%uint32(4*n))} {
					got, ok := p.grid([]byte{7}, g, limit)
					want, wanted := gridByTrial(&p, []byte{7}, g, limit)
					if ok != wanted || !bytes.Equal(got, want) {
						t.Fatalf("grid %v with limit %d: %x, %v, want %x, %v", g, limit, got, ok, want, wanted)
					}
					if ok && n < huffLeast {
						forms[min(got[1], gridSplit)/gridSplit+got[1]/gridPairs]++
					}
				}
			}
		}
	}
	if len(forms) != 3 {
		t.Errorf("blocks by form: %v, want some of each of three", forms)
	}
}

// A frame's length is that of any other frame of the same payload, whoever gets it and whatever was encoded before: a
// release is counted once for all neighbors.
func TestLengthOfRelease(t *testing.T) {
	for _, dim := range []int{1, 6, 10, 14, 15, 31, 110, 5000} {
		c := newCodec(t, dim)
		for kind, m := range map[string]admm.Message{
			"vector": {Kind: admm.Release, Round: 70_000, Vector: normals(dim, 4)},
			"zeros":  {Kind: admm.Release, Round: 3, Vector: make([]float32, dim), Signed: admm.Signed{Own: make([]byte, 100)}},
			"grid":   {Kind: admm.Release, Round: 300, Resent: true, Grid: gridNormals(dim, 20, 4)},
			"edge":   {Kind: admm.EdgeMessage, Round: 1, Vector: repeated(0.5, dim)},
		} {
			want := mustAppend(t, c, &m)
			for to := range 3 {
				mustAppend(t, c, &admm.Message{Kind: admm.Release, Round: 2, Grid: gridNormals(dim, 1000, uint64(to))})
				m.From, m.To = 100*to, to
				if got := mustAppend(t, c, &m); !slices.Equal(got, want) {
					t.Errorf("%s of %d: %d bytes, want the same %d", kind, dim, len(got), len(want))
				}
			}
		}
	}
}
