package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/examples/c/host"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/zoest"
)

func alone(t *testing.T, change func(*sdk.Fleet)) (dir string, fleet *sdk.Fleet) {
	t.Helper()
	dir = t.TempDir()
	return dir, newFleet(t, dir, []string{"alone"}, change)
}

// TestLossIsNoNumber checks that, without privacy, NaN from a C loss function ends the run with the same error as NaN
// from a Go loss function.
func TestLossIsNoNumber(t *testing.T) {
	program := native.host(t, "c-shared")
	for mode, bad := range map[string]float64{"nan": math.NaN(), "infinite": math.Inf(-1)} {
		dir, fleet := alone(t, nil)
		said := native.start(t, nil, program, mode, nodeFile(dir, "alone"), "-", "0").wait(t, 93)
		meeting := mem.New("alone")
		tr, err := meeting.Node("alone")
		if err != nil {
			t.Fatal(err)
		}
		asGo := func(ctx context.Context, x []float32, sample int) (float64, error) {
			if sample == 3 {
				return bad, nil
			}
			return square(0)(ctx, x, sample)
		}
		n, err := sdk.New(sdk.Config{Fleet: fleet, Name: "alone", Samples: samples,
			Oracle: &host.Loss{OracleFunc: asGo}, Transport: tr, Window: zoest.Window(fleet.Dim)})
		if err != nil {
			t.Fatal(err)
		}
		want := n.Run(t.Context())
		if want == nil || !strings.HasPrefix(said, fmt.Sprintf("run: -1: %v\n", want)) {
			t.Errorf("C gets %q, Go %q", said, want)
		}
	}
}

// TestPrivate checks that a private run continues after the C loss function returns NaN, and that its certificate is
// valid.
func TestPrivate(t *testing.T) {
	program := native.host(t, "c-shared")
	for _, mode := range []string{"nan", "run"} {
		dir, _ := alone(t, func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5} })
		said := native.start(t, nil, program, mode, nodeFile(dir, "alone"), filepath.Join(dir, "model"), "0").wait(t, 0)
		_, text, _ := strings.Cut(said, "certificate ")
		text, _, _ = strings.Cut(text, "\nstatus ")
		cert, err := certificate.Parse([]byte(text))
		if err == nil {
			err = cert.Verify()
		}
		if err != nil || len(cert.ConditionalOn) == 0 || !strings.Contains(cert.ConditionalOn[0], "external program") {
			t.Errorf("%s: %v, conditional on %v\n%s", mode, err, cert.ConditionalOn, said)
		}
		if failed := strings.Contains(said, `"failed_queries":`); failed != (mode == "nan") {
			t.Errorf("%s: a status with failed queries, %v:\n%s", mode, failed, said)
		}
	}
}

// TestErrors checks that every invalid call returns an error and does not end the program.
func TestErrors(t *testing.T) {
	program := native.host(t, "c-archive")
	dir, _ := alone(t, nil)
	said := native.start(t, nil, program, "errors", nodeFile(dir, "alone"), "-", "0").wait(t, 0)
	const want = `empty 0
null: -2: host: no node file: give its path or its text
no file: -2: fleetfile: a node file: open /nonexistent/node.json: no such file or directory
no samples: -2: host: samples is 0, want 1..2147483647
no loss: -2: host: samples is 5 without a loss, want both or neither
too many: -2: host: samples is 18446744073709551615, want 1..2147483647
garbage: -2: fleetfile: not valid UTF-8
nothing: -2: fleetfile: column 0: unexpected end of JSON input
handle: -2: host: 77 is not the handle of an open node
cut 42 hos
unread 42
open 1
short: -2: host: the model has 6 numbers (spade_dim), but there is room for 1
nowhere: -2: host: the model has 6 numbers (spade_dim), but there is room for 0
model: -1: no model yet: the node has not made a release: `
	if !strings.HasPrefix(said, want) {
		t.Errorf("it prints\n%s\nwant\n%s", said, want)
	}
	for _, w := range []string{
		"certificate: -1: host: no certificate in ",
		"flags: -2: host: the flags are 0x40, want ", "status 1\nstop 0\nrun: -5: ",
		"again: -2: host: the node is running or has run",
		"lines: -2: host: the node is running or has run", "close 0\nclosed: -2: host: 1 is not the handle of an open node\n",
	} {
		if !strings.Contains(said, w) {
			t.Errorf("it prints\n%s\nwithout %q", said, w)
		}
	}
}

// TestCycles checks that opening a thousand nodes and running a hundred of them leaks no memory, descriptors or
// threads.
func TestCycles(t *testing.T) {
	program := native.host(t, "c-shared")
	dir, _ := alone(t, nil)
	said := native.start(t, nil, program, "cycles", nodeFile(dir, "alone"), "1000", "0").wait(t, 0)
	var at, last [4]int // number of nodes, memory in kB, descriptors, threads
	for i, line := range strings.Split(strings.TrimSpace(said), "\n") {
		to := &at
		if i > 0 {
			to = &last
		}
		if _, err := fmt.Sscan(line, &to[0], &to[1], &to[2], &to[3]); err != nil {
			t.Fatalf("%q: %v", said, err)
		}
	}
	t.Logf("cycles, kB, descriptors, threads: %v, then %v", at, last)
	if last[0] != 999 || last[1] > at[1]+4096 || last[2] > at[2] || last[3] > at[3]+4 {
		t.Errorf("from %v to %v: cycles, kB, descriptors, threads", at, last)
	}
}

// TestCheckers checks that two memory checkers find no error in a host that follows the header, but do find the error
// in a host that reads beyond the end of its model.
func TestCheckers(t *testing.T) {
	check := func(t *testing.T, program, word string, wrapper ...string) {
		t.Helper()
		for mode, code := range map[string]int{"nest": 0, "text": 0, "overrun": 9} {
			dir, _ := alone(t, nil)
			p := native.start(t, wrapper, program, mode, nodeFile(dir, "alone"), filepath.Join(dir, "model"), "0")
			if p.wait(t, code); strings.Contains(p.log.String(), word) != (code != 0) {
				t.Errorf("%s ends with %d, and says\n%s", mode, code, &p.log)
			}
		}
		dir, _ := alone(t, nil)
		native.start(t, wrapper, program, "errors", nodeFile(dir, "alone"), "-", "0").wait(t, 0)
	}
	t.Run("address sanitizer", func(t *testing.T) {
		t.Setenv("ASAN_OPTIONS", "exitcode=9:detect_leaks=1")
		probe := filepath.Join(scratch, "probe.c")
		if err := os.WriteFile(probe, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := quietly(exec.Command(native.compilerOf(t), "-fsanitize=address", probe, "-o", probe+".out")); err != nil {
			t.Skipf("skipped: the compiler has no address sanitizer: %v", err)
		}
		check(t, native.host(t, "c-shared", "-fsanitize=address,undefined"), "heap-buffer-overflow")
	})
	// Turn off the checks for undefined values: Valgrind sometimes reports values that merely passed through Go's
	// stacks, even if the host only prints these values.
	t.Run("valgrind", func(t *testing.T) {
		need(t, "valgrind")
		t.Setenv("GODEBUG", "cpu.rdtscp=off") // Valgrind claims to have this instruction, but refuses it if the processor lacks it
		check(t, native.host(t, "c-shared"), "Invalid read of size 4", "valgrind", "--quiet", "--error-exitcode=9",
			"--leak-check=full", "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite", "--undef-value-errors=no",
			"--suppressions=testdata/valgrind.txt")
	})
}

// TestLoaded checks that a program that loads the library at run time keeps its own signal handlers.
func TestLoaded(t *testing.T) {
	cc, library := native.compilerOf(t), native.library(t, "c-shared")
	program := filepath.Join(scratch, "loader")
	if err := quietly(exec.Command(cc, "-Wall", "-Werror", "testdata/loader.c", "-ldl", "-o", program)); err != nil {
		t.Fatal(err)
	}
	said := native.start(t, nil, program, library).wait(t, 0)
	if said != "abi 2\nonstack 1\nignored 1\nforwarded 11\n" {
		t.Errorf("it prints %q", said)
	}
}

// TestHeader checks that the header is valid C99 and valid C++.
func TestHeader(t *testing.T) {
	for _, call := range [][]string{
		{"cc", "-x", "c", "-std=c99"}, {"g++", "-x", "c++", "-std=c++11"}, {"clang++", "-x", "c++", "-std=c++11"},
	} {
		t.Run(call[0], func(t *testing.T) {
			need(t, call[0])
			args := append(call[1:], "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "spade_edge.h")
			if err := quietly(exec.Command(call[0], args...)); err != nil && !strings.Contains(err.Error(), "pragma once") {
				t.Error(err)
			}
		})
	}
}

// installed returns a folder with the header, a library, and the files for pkg-config and CMake.
func installed(t *testing.T, mode string) string {
	t.Helper()
	library, dir := native.library(t, mode), t.TempDir()
	for to, from := range map[string]string{filepath.Base(library): library, "spade_edge.h": "spade_edge.h",
		"spade_edge.pc": "spade_edge.pc", "spade_edge-config.cmake": "spade_edge-config.cmake"} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFoundByBuildTools checks that pkg-config and CMake find the header and the library in any folder, whether the
// library is shared or static.
func TestFoundByBuildTools(t *testing.T) {
	build := map[string]func(t *testing.T, mode, dir string) (program string){
		"pkg-config": func(t *testing.T, mode, dir string) string {
			program := filepath.Join(t.TempDir(), "sensor")
			static := map[string]string{"c-archive": "--static"}[mode]
			if err := quietly(exec.Command("sh", "-ec", `PKG_CONFIG_PATH="$1" && export PKG_CONFIG_PATH &&
				"$3" -Wall -Wextra -Werror sensor/sensor.c $(pkg-config --cflags --libs $4 spade_edge) -lm -o "$2"`, "sh", dir, program,
				native.compilerOf(t), static)); err != nil {
				t.Fatal(err)
			}
			return program
		},
		"cmake": func(t *testing.T, _, dir string) string {
			to, source := t.TempDir(), t.TempDir()
			here, err := filepath.Abs("sensor/sensor.c")
			if err == nil {
				err = os.WriteFile(filepath.Join(source, "CMakeLists.txt"), []byte("cmake_minimum_required(VERSION 3.16)\nproject(sensor C)\n"+
					"find_package(spade_edge CONFIG REQUIRED PATHS "+dir+" NO_DEFAULT_PATH)\nadd_executable(sensor "+here+")\n"+
					"target_link_libraries(sensor spade_edge::spade_edge m)\n"), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"-S", source, "-B", to}, {"--build", to}} {
				if err := quietly(exec.Command("cmake", args...)); err != nil {
					t.Fatal(err)
				}
			}
			return filepath.Join(to, "sensor")
		},
	}
	for tool, build := range build {
		for _, mode := range []string{"c-shared", "c-archive"} {
			t.Run(tool+" "+mode, func(t *testing.T) {
				need(t, tool)
				dir := installed(t, mode)
				t.Setenv("LD_LIBRARY_PATH", dir)
				p := native.start(t, nil, build(t, mode, dir)) // without a node file, so the library must return an error
				if p.wait(t, 1); !strings.Contains(p.log.String(), "no node file: give its path or its text") {
					t.Errorf("it says %q", &p.log)
				}
			})
		}
	}
}

// TestSensor checks that three sensors, which run a program of 60 lines, jointly learn what no sensor can learn alone.
func TestSensor(t *testing.T) {
	if text, err := os.ReadFile("sensor/sensor.c"); err != nil || strings.Count(string(text), "\n") > 60 {
		t.Errorf("sensor.c has %d lines, want at most 60 (%v)", strings.Count(string(text), "\n"), err)
	}
	cc, library := native.compilerOf(t), native.library(t, "c-archive")
	program := filepath.Join(scratch, "sensor")
	build := exec.Command(cc, "-Wall", "-Wextra", "-Werror", "-I.", "sensor/sensor.c", library, "-lm", "-lpthread",
		"-o", program)
	if err := quietly(build); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	newFleet(t, dir, []string{"a", "b", "c"}, func(f *sdk.Fleet) {
		f.Dim = 4
		f.Method.Rounds, f.Method.Tau, f.Method.Eta = 40, 4, []float64{0.5}
	})
	var all []*process
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, native.start(t, nil, program, nodeFile(dir, name)))
	}
	for _, p := range all {
		var right int
		if _, err := fmt.Sscanf(p.wait(t, 0), "%d of 200", &right); err != nil || right < 180 {
			t.Errorf("%q, %v", &p.out, err)
		}
	}
}

// TestPanic checks that a panic in Go becomes an error and does not end the C program.
func TestPanic(t *testing.T) {
	_, err := host.Guard(func() (int64, error) { panic("planted") })
	if err == nil || !strings.Contains(err.Error(), "panic: planted") {
		t.Error(err)
	}
	n, err := host.Guard(func() (int64, error) { return 5, context.Canceled })
	if n != 5 || !errors.Is(err, context.Canceled) {
		t.Error(n, err)
	}
}
