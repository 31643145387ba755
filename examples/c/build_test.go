package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// target is a processor architecture for which the library is built.
type target struct {
	name     string
	arch     string
	arm      string // GOARM
	compiler string // C compiler; empty means the one for this machine
	run      []string
	sysroot  string

	mu    sync.Mutex
	built map[string]built
}

// built is a program compiled from testdata/host.c. The library is either linked statically or stored as a file in the
// program's folder.
type built struct {
	path string
	err  error
}

// Debian's armhf compiler targets ARMv7; the armel compiler targets ARMv5, whose code runs on ARMv6.
var (
	native = &target{name: "here", arch: runtime.GOARCH}
	arm64  = &target{name: "arm64", arch: "arm64", compiler: "aarch64-linux-gnu-gcc", run: []string{"qemu-aarch64"},
		sysroot: "/usr/aarch64-linux-gnu"}
	arm6 = &target{name: "arm/6", arch: "arm", arm: "6", compiler: "arm-linux-gnueabi-gcc",
		run: []string{"qemu-arm", "-cpu", "arm1176"}, sysroot: "/usr/arm-linux-gnueabi"}
)

var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "spade-c"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch)
	os.Exit(code)
}

func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("skipped: no %s here", p)
		}
	}
}

// compilerOf returns the C compiler of a target. It skips the test if this machine does not have that compiler.
func (to *target) compilerOf(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skipf("skipped: the library is tested on Linux, not on %s", runtime.GOOS)
	}
	cc := to.compiler
	if cc == "" {
		out, err := exec.Command("go", "env", "CC").Output()
		if err != nil {
			t.Fatal(err)
		}
		cc = strings.Fields(string(out) + " cc")[0]
	} else {
		need(t, to.run[0])
		if _, err := os.Stat(filepath.Join(to.sysroot, "include")); err != nil {
			t.Skipf("skipped: no C library for %s in %s", to.name, to.sysroot)
		}
	}
	need(t, cc)
	return cc
}

// library builds the library for a target in a build mode, unless a previous call did, and returns the path of the
// library file.
func (to *target) library(t *testing.T, mode string) string {
	t.Helper()
	cc := to.compilerOf(t)
	return to.once(t, mode, func() (string, error) {
		file := filepath.Join(scratch, to.arch, "lib"+mode, "libspade_edge.a")
		if mode == "c-shared" {
			file = strings.TrimSuffix(file, "a") + "so"
		}
		cmd := exec.Command("go", "build", "-ldflags=-s -w", "-buildmode="+mode, "-o", file, ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOARCH="+to.arch, "GOARM="+to.arm, "CC="+cc)
		return file, quietly(cmd)
	})
}

// host compiles testdata/host.c with the library in the given build mode and returns the path of the program. flags are
// passed to the C compiler.
func (to *target) host(t *testing.T, mode string, flags ...string) string {
	t.Helper()
	cc, library := to.compilerOf(t), to.library(t, mode)
	return to.once(t, "host "+mode+strings.Join(flags, ""), func() (string, error) {
		dir := filepath.Dir(library)
		file := filepath.Join(dir, "host"+strings.Join(flags, ""))
		args := []string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-ffp-contract=off",
			"-I.", "testdata/host.c", library, "-Wl,-rpath," + dir, "-lm", "-lpthread", "-o", file}
		return file, quietly(exec.Command(cc, append(args, flags...)...))
	})
}

func (to *target) once(t *testing.T, what string, make func() (string, error)) string {
	t.Helper()
	to.mu.Lock()
	defer to.mu.Unlock()
	b, ok := to.built[what]
	if !ok {
		if to.built == nil {
			to.built = map[string]built{}
		}
		b.path, b.err = make()
		to.built[what] = b
	}
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

type fault struct {
	error
	said string
}

func (f fault) Error() string { return f.error.Error() + "\n" + f.said }

func quietly(cmd *exec.Cmd) error {
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fault{err, strings.Join(cmd.Args, " ") + "\n" + string(said)}
	}
	return nil
}

type process struct {
	out, log bytes.Buffer
	cmd      *exec.Cmd
	over     chan struct{} // closed when the process has ended
}

// start starts a C program built for the target. If this machine's processor differs from the target, the program runs
// in an emulator.
func (to *target) start(t *testing.T, wrapper []string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	p := &process{over: make(chan struct{})}
	words := append(wrapper, args...)
	if to.run != nil {
		words = append(append(append([]string{}, to.run...), "-L", to.sysroot), args...)
	}
	p.cmd = exec.CommandContext(ctx, words[0], words[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // wait checks the exit code, so this error says nothing new
		cancel()
		close(p.over)
	}()
	return p
}

// wait waits for the program to exit, checks the exit code, and returns the program's output.
func (p *process) wait(t *testing.T, code int) string {
	t.Helper()
	<-p.over
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("%v ends with %d (%v), want %d\n%s\n%s", p.cmd.Args, got, p.cmd.ProcessState, code, &p.out, &p.log)
	}
	return p.out.String()
}

func model(t *testing.T, path string) []float32 {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, len(raw)/4)
	if err := binary.Read(bytes.NewReader(raw), binary.LittleEndian, x); err != nil {
		t.Fatal(err)
	}
	return x
}
