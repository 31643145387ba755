package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	module  = "github.com/spade-dfl/spade-edge"
	program = "./cmd/spade-edge"
)

// board reports whether the target is a small board: the limits are for those, and they alone pay for them in time.
func (t target) board() bool {
	if t.whole || t.small {
		return t.small
	}
	return t.arch == "arm" || strings.HasPrefix(t.arch, "mips") || t == target{os: "linux", arch: "arm64"}
}

// tags are those of a release. A websocket begins with a request of HTTP/1.1: HTTP/2 is never spoken. Boards get a
// program without the commands of a fleet's operator, who has another computer: table operator in the program. A board
// that is one has "go build ./cmd/spade-edge".
func (t target) tags() string {
	if t.board() {
		return "nethttpomithttp2,board"
	}
	return "nethttpomithttp2"
}

// calm lists packages that a round spends little time in: files, flags and messages, the set-up of connections, the
// glue around the method, and the elliptic curves that TLS comes with and a fleet does not use. A release for a board
// compiles them without inlining, but for those of onTheWay; other releases are compiled as always. The kernels and
// estimators, and what encodes, compresses, encrypts or hashes, are compiled as always everywhere. Of the machine, the
// mechanism and the built-in models it saves 45 KB; a simulation takes 1.02 to 1.06 times as long for it, most of it in
// sdk/admm, and a loss of 22 ns takes 30. Encoding/binary is called for every number that is read or written. See
// gcflags for the runtime.
var calm = []string{
	module + "/cmd/...", module + "/dpmech", module + "/sdk", module + "/sdk/admm", module + "/sdk/audit",
	module + "/sdk/device",
	module + "/sdk/fleetfile", module + "/sdk/graph", module + "/sdk/monitor", module + "/sdk/recovery",
	module + "/sdk/signed",
	module + "/sdk/sim", module + "/sdk/state", module + "/sdk/task", module + "/transport",
	module + "/transport/internal/...", "nhooyr.io/...", "github.com/fxamacker/...",
	"crypto", "crypto/des", "crypto/ecdh", "crypto/ed25519", "crypto/ecdsa", "crypto/elliptic", "crypto/hmac",
	"crypto/hpke", "crypto/md5", "crypto/mlkem", "crypto/rc4",
	"crypto/rsa", "crypto/sha1", "crypto/tls", "crypto/x509/...", "crypto/internal/fips140/bigmod",
	"crypto/internal/fips140/drbg", "crypto/internal/fips140/ecdh",
	"crypto/internal/fips140/ecdsa", "crypto/internal/fips140/ed25519", "crypto/internal/fips140/edwards25519/...",
	"crypto/internal/fips140/mlkem",
	"crypto/internal/fips140/nistec/...", "crypto/internal/fips140/rsa", "crypto/internal/fips140/sha3",
	"crypto/internal/fips140/tls12", "crypto/internal/fips140/tls13", "vendor/golang.org/x/crypto/cryptobyte",
	"bufio", "compress/flate", "compress/gzip", "context", "embed", "encoding", "encoding/asn1",
	"encoding/hex", "encoding/json", "encoding/pem", "errors", "flag", "fmt", "html",
	"internal/poll", "io/...", "log/...",
	"math/big", "mime/...", "net/...", "os/...", "path/...", "reflect", "sort", "strconv", "strings", "syscall",
	"text/...", "time", "unicode/...",
	"bytes", "crypto/internal/fips140/hkdf", "crypto/internal/fips140/hmac", "internal/chacha8rand",
	"sync", module + "/sdk/pair",
	"unique", "vendor/golang.org/x/net/...", "vendor/golang.org/x/text/...",
	"container/list", "crypto/dsa", "crypto/hkdf", "crypto/rand", "crypto/internal/entropy/v1.0.0",
	"crypto/internal/fips140/check",
	"crypto/internal/fips140cache", "crypto/internal/fips140only",
	"github.com/x448/float16", "hash/crc32",
	"internal/bisect",
	"internal/filepathlite", "internal/fmtsort", "internal/godebug", "internal/reflectlite", "internal/singleflight",
	"internal/syscall/unix", "math/rand",
}

// onTheWay lists what is inlined after all, as every frame passes through it, but for 32-bit ARM. CBOR is smaller so
// everywhere.
var onTheWay = []string{
	"nhooyr.io/...", "bufio", "bytes", "internal/poll", "io/...", "os/...", "syscall",
	module + "/sdk/state", module + "/transport", module + "/transport/internal/...",
}

// alsoOnTheWay are packages that there is room for on mips, which has no limit.
var alsoOnTheWay = []string{"context", "errors", "internal/godebug", "math/rand", "net", "sync", "time"}

// gcflags are what the packages are compiled with, for a target; where two say something of a package, the later holds.
// On ARM, deferred calls run in one way, and slices of a length that is not known in advance lie on the heap: switches
// for the compiler's own developers, which change no meaning, and save 20 KB and more. On 32-bit ARM, where room is
// scarcest, the runtime is not inlined either: 86 KB.
//
// What boards pay, measured by compiling the same for amd64: the processor time of a round of two nodes over ws is 1.08
// times a plain build's with both lists inlined, as on mips, and 1.16 with neither (best of 7, by turns).
func (t target) gcflags() (flags []string) {
	if !t.board() {
		return nil
	}
	// Generic code is named after its types, struct by struct: these names would be 15 KB on ARM.
	short := "-d=maxshapelen=24"
	how := "-l " + short
	if t.arch == "arm" || t.arch == "arm64" {
		how += ",noopendefer=1,variablemakethreshold=0"
	}
	add := func(how string, packages ...string) {
		for _, p := range packages {
			flags = append(flags, "-gcflags="+p+"="+how)
		}
	}
	add(short, "all")
	add(how, calm...)
	add(short, "github.com/fxamacker/...")
	if t.arch != "arm" {
		add(short, onTheWay...)
	}
	if strings.HasPrefix(t.arch, "mips") {
		add(short, alsoOnTheWay...)
	}
	if t.arch == "arm" {
		add(how, "runtime", "internal/runtime/atomic", "internal/runtime/maps")
	}
	return flags
}

// stamp is what a release says of itself: its version and commit.
var stamp string

// build compiles one package of the module in dir, as a release does; stripped says whether the symbols are left out.
// cache is the build cache; empty means the user's.
func build(dir, pkg string, t target, out, cache string, stripped bool) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-tags", t.tags()}
	args = append(args, t.gcflags()...)
	ldflags := "-buildid="
	if stamp != "" {
		ldflags += " -X '" + module + "/cmd/spade-edge/program.release=" + stamp + "'"
	}
	if stripped {
		ldflags += " -s -w"
	}
	if t.arch == "arm" {
		// 32-bit kernels have pages of 4 KiB, 64-bit ones beneath 32-bit programs up to 16: not the 64 that Go allows for
		ldflags += " -R 0x4000"
	}
	args = append(args, "-ldflags="+ldflags, "-o", out, pkg)
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), t.env()...)
	if cache != "" {
		cmd.Env = append(cmd.Env, "GOCACHE="+cache)
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s for %s: %w\n%s", pkg, t, err, text)
	}
	return nil
}

// sumOf returns length and SHA-256 of a file.
func sumOf(path string) (size int64, sum [sha256.Size]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, sum, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return size, [sha256.Size]byte(h.Sum(nil)), err
}

// copyModule copies what is compiled to another directory. Each Go file gets an empty line at its end: the compiler
// then finds none of the module's packages in its cache, and has to say the same of them again, in a place with another
// name. The standard library and the dependencies come from the cache.
func copyModule(to string) error {
	return filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || path != "." && exists(filepath.Join(path, "go.mod"))):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, path), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".go") {
			data = append(data, '\n')
		}
		return os.WriteFile(filepath.Join(to, path), data, 0o600)
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// makeRelease builds the program for each target into dir and prints the SHA-256 of every file, as sha256sum does.
func makeRelease(dir string, targets []target) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, t := range targets {
		out := filepath.Join(dir, t.file())
		if err := build(".", program, t, out, "", true); err != nil {
			return err
		}
		_, sum, err := sumOf(out)
		if err != nil {
			return err
		}
		fmt.Printf("%x  %s\n", sum, t.file())
	}
	return nil
}
