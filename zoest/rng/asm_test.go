//go:build !purego && (amd64 || arm64)

package rng

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// TestPhiloxAsm checks that the assembly stores the same words as the Go code and nothing beyond them. It tries one to
// nine groups, counters whose first word wraps around, and values with all bits in use.
func TestPhiloxAsm(t *testing.T) {
	if !vector {
		t.Skip("this processor runs the Go")
	}
	s := at(40)
	for n := 1; n <= 9; n++ {
		for range 40 {
			c0, c1, c2, c3, k0, k1 := s.Uint32(), s.Uint32(), s.Uint32(), s.Uint32(), s.Uint32(), s.Uint32()
			if s.IntN(2) == 0 {
				c0 = -uint32(s.IntN(8*n + 1)) // wraps in the first lanes, in the last lanes, or in between
			}
			components := make([]int, 8*n)
			for i := range components {
				components[i] = int(int32(s.Uint32())) // negative values are the upper half of the components
			}
			want, got := make([]uint64, 16*n+2), make([]uint64, 16*n+2)
			runGo(want[1:16*n+1], c0, c1, c2, c3, k0, k1)
			runAsm(&got[1], n, c0, c1, c2, c3, k0, k1)
			if !slices.Equal(got, want) {
				t.Fatalf("%d groups from %08x: %x, want %x", n, c0, got, want)
			}
			rowsGo(want[1:], components, c0, c2, c3, k0, k1)
			rowsAsm(&got[1], &components[0], n, c0, c2, c3, k0, k1)
			if !slices.Equal(got, want) {
				t.Fatalf("%d groups of components %x: %x, want %x", n, components, got, want)
			}
		}
	}
}

// paths returns the variants that this processor can run: assembly with AVX-512, assembly without AVX-512, and Go.
func paths() (all []path) {
	if wide {
		all = append(all, path{true, true})
	}
	if vector {
		all = append(all, path{true, false})
	}
	return append(all, path{})
}

type path struct{ vector, wide bool }

// TestPhiloxEveryPath checks that run and rows produce exactly the same words as the pure Go implementation, for any
// number of blocks, with and without assembly.
func TestPhiloxEveryPath(t *testing.T) {
	defer func(v, w bool) { vector, wide = v, w }(vector, wide)
	for _, path := range paths() {
		vector, wide = path.vector, path.wide
		for blocks := range 60 {
			for _, c0 := range []uint32{0, -uint32(blocks / 2), 1<<32 - 1} {
				want, got := make([]uint64, 2*blocks+1), make([]uint64, 2*blocks+1)
				runGo(want[:2*blocks], c0, 1, 2, 3, 4, 5)
				run(got[:2*blocks], c0, 1, 2, 3, 4, 5)
				if !slices.Equal(got, want) {
					t.Fatalf("%+v, %d blocks from %08x: %x, want %x", path, blocks, c0, got, want)
				}
				components := make([]int, blocks)
				for i := range components {
					components[i] = (7*i + 3) * (1 - i%2*2)
				}
				rowsGo(want, components, c0, 2, 3, 4, 5)
				rows(got, components, c0, 2, 3, 4, 5)
				if !slices.Equal(got, want) {
					t.Fatalf("%+v, %d components: %x, want %x", path, blocks, got, want)
				}
			}
		}
	}
}

// TestPhiloxRunsWhatItSays checks that streams and families run the assembly if it is available, and otherwise the Go
// code. To find out which function writes, it makes the function write to unmapped memory and examines the stack at the
// fault.
func TestPhiloxRunsWhatItSays(t *testing.T) {
	defer func(v, w bool) { vector, wide = v, w }(vector, wide)
	nowhere := *(*[]uint64)(unsafe.Pointer(&struct {
		data     unsafe.Pointer
		len, cap int
	}{nil, 32, 32}))
	for _, path := range paths() {
		vector, wide = path.vector, path.wide
		for name, f := range map[string]func(){
			"run":  func() { at(41).Fill(nowhere) },
			"rows": func() { NewFamily(1, Step, 2).Fill(nowhere, 1, 2, make([]int, 16)) },
		} {
			want := name + map[bool]string{true: "Asm", false: "Go"}[path.vector]
			if path.wide && name == "rows" {
				want = "rowsAVX512"
			}
			if ran := whoFaults(f); !slices.Contains(ran, want) {
				t.Errorf("%+v: ran %q, want %s", path, ran, want)
			}
		}
	}
}

// whoFaults calls f, which must write to unmapped memory, and returns the functions of this package that are on the
// stack at the fault.
func whoFaults(f func()) (names []string) {
	defer func() {
		if recover() == nil {
			return
		}
		pcs := make([]uintptr, 50)
		frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
		for {
			frame, more := frames.Next()
			if name, ok := strings.CutPrefix(frame.Function, "github.com/spade-dfl/spade-edge/zoest/rng."); ok {
				names = append(names, name)
			}
			if !more {
				return
			}
		}
	}()
	f()
	return nil
}
