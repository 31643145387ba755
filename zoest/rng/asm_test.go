//go:build !purego && (amd64 || arm64)

package rng

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

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

// TestPhiloxEveryPath checks that run and rows produce exactly the same words as the pure Go implementation and write nothing
// beside them, with and without assembly: for any number of blocks, counters whose first word wraps around, and values
// with all bits in use.
func TestPhiloxEveryPath(t *testing.T) {
	defer func(v, w bool) { vector, wide = v, w }(vector, wide)
	s := at(40)
	for _, path := range paths() {
		vector, wide = path.vector, path.wide
		for trial := range 75 * 6 {
			blocks := trial / 6
			c0, c1, c2, c3, k0, k1 := s.Uint32(), s.Uint32(), s.Uint32(), s.Uint32(), s.Uint32(), s.Uint32()
			if trial%2 == 0 {
				c0 = -uint32(s.IntN(blocks + 1)) // wraps in the first lanes, in the last lanes, or in between
			}
			components := make([]int, blocks)
			for i := range components {
				components[i] = int(int32(s.Uint32())) // negative values are the upper half of the components
			}
			end := 2*blocks + 1
			want, got := make([]uint64, end+1), make([]uint64, end+1)
			runGo(want[1:end], c0, c1, c2, c3, k0, k1)
			run(got[1:end], c0, c1, c2, c3, k0, k1)
			if !slices.Equal(got, want) {
				t.Fatalf("%+v, %d blocks from %08x: %x, want %x", path, blocks, c0, got, want)
			}
			rowsGo(want[1:end], components, c0, c2, c3, k0, k1)
			rows(got[1:end], components, c0, c2, c3, k0, k1)
			if !slices.Equal(got, want) {
				t.Fatalf("%+v, components %x: %x, want %x", path, components, got, want)
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
