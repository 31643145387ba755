package vec_test

import (
	"bufio"
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
