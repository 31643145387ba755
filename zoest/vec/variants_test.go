package vec_test

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// aligned returns a slice v of n numbers in a buffer buf with at least 16 guards on both sides. v starts at an offset
// of off numbers from a 64-byte boundary.
func aligned(n, off int) (buf, v []float32) {
	buf = make([]float32, n+64)
	for i := range buf {
		buf[i] = canary
	}
	first := 16
	for uintptr(unsafe.Pointer(&buf[first]))%64 != 0 {
		first++
	}
	first += off
	return buf, buf[first : first+n : first+n]
}

// TestVariantsAtEveryOffset checks that the results of every variant equal those of the reference, bit for bit, at
// every length and every alignment of the first vector. The other vectors have different alignments. The test compares
// whole buffers, including the memory around the vectors, and alternates between the kinds of numbers.
func TestVariantsAtEveryOffset(t *testing.T) {
	lens := lengths()
	if testing.Short() {
		lens = slices.DeleteFunc(lens, func(n int) bool { return n > 140 && n%7 != 0 })
	}
	r := rand.New(rand.NewPCG(20, 21))
	pools := make([][]float32, len(fills))
	for i, fill := range fills {
		pools[i] = make([]float32, 1<<14)
		for j := range pools[i] {
			pools[i][j] = fill.next(r)
		}
	}
	for _, variant := range vec.Variants() {
		if variant.Name == vec.Reference.Name {
			continue
		}
		t.Run(variant.Name, func(t *testing.T) {
			for _, n := range lens {
				for off := range 16 {
					if n <= 300 || off%8 == n%2 {
						compare(t, &variant, r, pools[(n+off)%len(pools)], n, off)
					}
				}
			}
		})
	}
}

// compare runs every kernel of a variant and of the reference on the same numbers from pool, and compares the results.
func compare(t *testing.T, variant *vec.Kernels, r *rand.Rand, pool []float32, n, off int) {
	t.Helper()
	a, b := pool[r.IntN(len(pool))], pool[r.IntN(len(pool))]
	signs := make([]uint64, vec.SignWords(n))
	for i := range signs {
		signs[i] = r.Uint64()
	}
	var from, vs [4][]float32
	var bufs [4][]float32
	for j := range vs {
		bufs[j], vs[j] = aligned(n, (off+j*(1+n%5))%16)
		from[j] = pool[r.IntN(len(pool)-n):][:n]
		copy(vs[j], from[j])
	}
	if got, want := variant.Dot(vs[0], vs[1]), vec.Reference.Dot(from[0], from[1]); !same64(got, want) {
		t.Fatalf("Dot, length %d, offset %d: %v (%016x), want %v (%016x)", n, off, got, math.Float64bits(got), want,
			math.Float64bits(want))
	}
	if got, want := variant.SumSquares(vs[0]), vec.Reference.SumSquares(from[0]); !same64(got, want) {
		t.Fatalf("SumSquares, length %d, offset %d: %v (%016x), want %v (%016x)", n, off, got, math.Float64bits(got), want,
			math.Float64bits(want))
	}
	want := make([][]float32, 4)
	for _, k := range kernels {
		for j := range k.vecs {
			want[j] = append(want[j][:0], from[j]...)
			copy(vs[j], from[j])
		}
		k.run(&vec.Reference, want, a, b, signs)
		k.run(variant, vs[:], a, b, signs)
		for j := range k.vecs {
			for i := range n {
				if !same(vs[j][i], want[j][i]) {
					t.Fatalf("%s, length %d, offset %d, a = %v, b = %v: vector %d, element %d is %v (%08x), want %v (%08x)", k.name, n,
						off, a, b,
						j, i, vs[j][i], math.Float32bits(vs[j][i]), want[j][i], math.Float32bits(want[j][i]))
				}
				vs[j][i] = canary
			}
			for i, x := range bufs[j] {
				if math.Float32bits(x) != math.Float32bits(canary) {
					t.Fatalf("%s, length %d, offset %d: vector %d: position %d of its buffer, outside the vector, was overwritten",
						k.name, n, off, j, i)
				}
			}
		}
	}
}

// nowhere returns a slice of n elements in unmapped memory. Any access to an element faults.
func nowhere[E any](n int) []E {
	return *(*[]E)(unsafe.Pointer(&struct {
		data     unsafe.Pointer
		len, cap int
	}{nil, n, n}))
}

// whoFaults calls f, which must access a slice from nowhere, and returns the functions of this package that are on the
// stack at the fault, innermost first.
func whoFaults(f func()) (names []string) {
	defer func() {
		if recover() == nil {
			names = nil
			return
		}
		pcs := make([]uintptr, 50)
		frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
		for {
			frame, more := frames.Next()
			if name, ok := strings.CutPrefix(frame.Function, "github.com/spade-dfl/spade-edge/zoest/vec."); ok {
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

// TestExportedRunTheChosenVariant checks that the exported functions run the variant that Chosen returns, at short and
// at long lengths. To find out, it makes them access unmapped memory: the function that does the work is then on the
// stack.
func TestExportedRunTheChosenVariant(t *testing.T) {
	if runtime.GOARCH == "wasm" {
		t.Skip("WebAssembly has one variant, and ends a program that accesses memory it does not have")
	}
	defer vec.Choose(vec.Chosen())
	for _, variant := range vec.Variants() {
		if !vec.Choose(variant.Name) && variant.Name == vec.Reference.Name {
			continue // the exported functions never use the Go code here
		}
		if got := vec.Chosen(); got != variant.Name {
			t.Fatalf("%s was chosen, want %s", got, variant.Name)
		}
		for _, n := range []int{1, 2, 3, 5, 8, 10, 16, 40, 64, 128, 4096, 5000} {
			v := [][]float32{nowhere[float32](n), make([]float32, n), make([]float32, n), make([]float32, n)}
			signs := nowhere[uint64](vec.SignWords(n))
			check := func(called, kernel string, f func()) {
				want := kernel + variant.Name
				ran := whoFaults(f)
				if variant.Name == "NEON" { // the kernel is assembly
					want, ran = kernel, ran[:min(1, len(ran))]
				}
				if !slices.Contains(ran, want) {
					t.Errorf("length %d: %s ran %q, want %s", n, called, ran, want)
				}
			}
			for _, k := range kernels {
				kernel := strings.ToLower(k.name[:1]) + k.name[1:]
				if k.name == "SignAxpy" {
					kernel = "signPerturb"
				}
				check(k.name, kernel, func() { k.run(&vec.Exported, v, 1, 1, signs) })
			}
			check("Dot", "dot", func() { vec.Dot(v[0], v[1]) })
			check("SumSquares", "dot", func() { vec.SumSquares(v[0]) })
		}
		for _, n := range []int{1<<23 - 1, 1 << 23} {
			want := variant.Name
			if n == 1<<23 && want == "AVX512" {
				want = "AVX2"
			}
			x := nowhere[float32](n)
			for kernel, f := range map[string]func(){
				"axpy": func() { vec.Axpy(x, 1, x) }, "dot": func() { vec.Dot(x, x) },
			} {
				if ran := whoFaults(f); want != "NEON" && !slices.Contains(ran, kernel+want) {
					t.Errorf("length %d: ran %q, want %s", n, ran, kernel+want)
				}
			}
		}
	}
}

// TestKernelsOnAGrowingStack runs kernels on slices that are on a goroutine's stack. Such a slice moves when the stack
// grows, which can happen between the entry of a kernel and the Go code to which the kernel jumps.
func TestKernelsOnAGrowingStack(t *testing.T) {
	defer vec.Choose(vec.Chosen())
	for _, variant := range vec.Variants() {
		if !vec.Choose(variant.Name) {
			continue
		}
		var descend func(depth int) bool
		descend = func(depth int) bool {
			var x, y [10]float32
			for i := range x {
				x[i], y[i] = float32(i), 1
			}
			vec.Axpy(y[:], 2, x[:])
			if vec.Dot(x[:], y[:]) != 615 || y[9] != 19 {
				return false
			}
			return depth == 0 || descend(depth-1)
		}
		for depth := range 300 { // a new stack each time, filled to another depth
			ok := make(chan bool)
			go func() { ok <- descend(depth) }()
			if !<-ok {
				t.Fatalf("%s, depth %d: wrong result", variant.Name, depth)
			}
		}
	}
}

// TestBestVariantIsChosen checks that a new process chooses the best variant that, according to the operating system,
// the processor supports.
func TestBestVariantIsChosen(t *testing.T) {
	want := "Go"
	switch {
	case !assembly:
	case runtime.GOARCH == "arm64":
		want = "NEON"
	default:
		flags := cpuFlags(t)
		if flags["avx2"] {
			want = "AVX2"
		}
		if flags["avx2"] && flags["avx512f"] {
			want = "AVX512"
		}
	}
	if got := vec.Chosen(); got != want {
		t.Errorf("this processor runs %s, want %s", got, want)
	}
	t.Logf("%s/%s runs %s", runtime.GOOS, runtime.GOARCH, vec.Chosen())
}

func cpuFlags(t *testing.T) map[string]bool {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		t.Skip("no /proc/cpuinfo to compare with")
	}
	defer f.Close()
	flags := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, list, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "flags" {
			for _, flag := range strings.Fields(list) {
				flags[flag] = true
			}
			return flags
		}
	}
	t.Skip("/proc/cpuinfo lists no flags")
	return nil
}

// TestAssemblyRoundsEveryProduct checks that the assembly never fuses a multiplication with an addition and never
// changes the control register for subnormal numbers.
func TestAssemblyRoundsEveryProduct(t *testing.T) {
	files, err := filepath.Glob("*.[sh]")
	if err != nil || len(files) == 0 {
		t.Fatalf("no assembly found (%v)", err)
	}
	forbidden := regexp.MustCompile(`(?m)^[^/\n]*\b(V?FN?M(ADD|SUB|LA|LS)\w*|V?LDMXCSR|MSR)\b`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bad := forbidden.Find(text); bad != nil {
			t.Errorf("%s: %q", file, bad)
		}
	}
	if !forbidden.MatchString("\tVFMADD231PS Z0, Z1, Z2") || !forbidden.MatchString("\tFMADDS F0, F1, F2, F3") ||
		forbidden.MatchString("// VFMADD") {
		t.Error("the pattern is wrong")
	}
}

func BenchmarkVariants(b *testing.B) {
	for _, n := range []int{10, 40, 128, 4096} {
		args := make([][]float32, 4)
		for j := range args {
			_, args[j] = aligned(n, 0)
			clear(args[j])
		}
		signs := make([]uint64, vec.SignWords(n))
		for _, variant := range vec.Variants() {
			for _, k := range kernels {
				b.Run(fmt.Sprint(k.name, "/", n, "/", variant.Name), func(b *testing.B) {
					for range b.N {
						k.run(&variant, args, 0.5, 0.5, signs)
					}
				})
			}
			b.Run(fmt.Sprint("Dot/", n, "/", variant.Name), func(b *testing.B) {
				for range b.N {
					variant.Dot(args[0], args[1])
				}
			})
			b.Run(fmt.Sprint("SumSquares/", n, "/", variant.Name), func(b *testing.B) {
				for range b.N {
					variant.SumSquares(args[0])
				}
			})
		}
	}
}
