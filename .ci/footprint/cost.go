package main

import (
	"cmp"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// notable is what a package may weigh without a word about it, in bytes.
const notable = 50_000

// buys says what a program gets for what it carries, by the beginning of a package's path: the longest that fits
// counts.
var buys = map[string]string{
	"Go: tables of functions": "stack traces and the garbage collector's maps: in proportion to all the " +
		"code below",
	"Go: types and strings": "descriptions of types, for interfaces, fmt, JSON and CBOR; the text of " +
		"messages and help",
	"Go: other": "tables of packages that do not say whose they are, and what is put between " +
		"variables",
	"runtime":          "scheduler, garbage collector, maps, channels, timers",
	"internal/runtime": "the same",
	"reflect":          "JSON, CBOR and fmt rest on it",
	"fmt":              "messages that name what was found and what was wanted",
	"slices":           "sorting, once for each type that is sorted",
	"time":             "rounds' timers, deadlines of connections, dates of ledgers",
	"encoding/json":    "fleet and node files, ledger, certificate, -json",
	"math/big":         "the exact sampler's last resort, and keys",
	"log/slog":         "the embedder's own log handler",
	"internal/strconv": "numbers of files, exactly read and written",
	"net":              "TCP and names",
	"os":               "files, processes of scorers, signals",
	"net/http":         "a websocket begins as a request of HTTP/1.1",
	"crypto/tls":       "TLS 1.3 with pinned keys at both ends",
	"crypto/x509":      "TLS parses a certificate to find the key in it",
	"crypto/internal/fips140/nistec": "comes with crypto/tls: curves that a fleet does not use and the linker " +
		"cannot leave out",
	"crypto/internal/fips140/edwards25519": "Ed25519: the identity of a member",
	"vendor/golang.org/x/text":             "comes with net/http: names of hosts that are not ASCII",
	"vendor/golang.org/x/net":              "the same",
	"github.com/fxamacker/cbor/v2":         "frames and checkpoints, one definite-length item each",
	"github.com/klauspost/compress":        "releases on the grid, at the entropy of their noise",
	"nhooyr.io/websocket":                  "frames through proxies that know HTTP",
	module + "/cmd":                        "the program: its commands, their help and checks",
	module + "/dpmech":                     "exact noise, accounting, ledger, certificate",
	module + "/sdk":                        "the node, and its state on disk",
	module + "/sdk/admm":                   "the method",
	module + "/sdk/fleetfile":              "fleet and node files, every fault reported at once",
	module + "/sdk/monitor":                "the page, status and metrics, and the small server for them",
	module + "/sdk/scorer":                 "models that are programs of their own",
	module + "/sdk/task":                   "data sets, partitions and built-in models",
	module + "/sdk/wire":                   "frames and checkpoints as bytes",
	module + "/sdk/graph":                  "topologies and the limit of stability",
	module + "/transport/ws":               "connections that last, and say why when they do not",
	module + "/zoest":                      "the estimator, its kernels and generators",
}

// printCost lists what costs more than 50 KB in the program for a target. Code and data count for the package that they
// are of; what the compiler makes of all packages together is listed by its kind. It is an error if nobody has said
// what a package buys.
func printCost(name string) error {
	found, err := parseTargets(name)
	if err != nil {
		return err
	}
	t := found[0]
	if t.os != "linux" {
		return fmt.Errorf("%s is not a target that is understood here: its symbols are read from an ELF file", t)
	}
	tmp, err := os.MkdirTemp("", "footprint")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, "a")
	if err := build(".", program, t, out, "", false); err != nil {
		return err
	}
	weights, total, err := weights(out)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(out)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %s, %d bytes of code and data without symbols\n", program, info.GoVersion, total)
	for _, dep := range info.Deps {
		fmt.Printf("  with %s %s\n", dep.Path, dep.Version)
	}
	var errs []error
	var rest int64
	packages := make([]string, 0, len(weights))
	for p := range weights {
		packages = append(packages, p)
	}
	slices.SortFunc(packages, func(a,
		b string) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b))
	})
	fmt.Printf("%9s  %-45s %s\n", "bytes", "package", "what it buys")
	for _, p := range packages {
		if weights[p] < notable {
			rest += weights[p]
			continue
		}
		what := meaning(p)
		if what == "" {
			errs = append(errs, fmt.Errorf("%s weighs %d bytes, and .ci/footprint/cost.go does not say what it buys", p,
				weights[p]))
		}
		fmt.Printf("%9d  %-45s %s\n", weights[p], p, what)
	}
	fmt.Printf("%9d  %-45s\n", rest, "all others, each below 50 KB")
	return errors.Join(errs...)
}

// meaning returns what is said of a package or of one above it.
func meaning(p string) string {
	for p != "" && p != "." {
		if what := buys[p]; what != "" {
			return what
		}
		p = p[:max(0, strings.LastIndexByte(p, '/'))]
	}
	return ""
}

// weights returns how many bytes of an ELF file's code and data each package has, and the sum. What a package says in
// text is not known by package.
func weights(path string) (map[string]int64, int64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, 0, err
	}
	list := make(map[string]int64)
	inside := make([]int64, len(f.Sections)) // bytes of the section that have a name
	for _, s := range symbols {
		i := int(s.Section)
		if s.Size == 0 || i >= len(f.Sections) || f.Sections[i].Type == elf.SHT_NOBITS || f.Sections[i].Name == ".gopclntab" {
			continue
		}
		inside[i] += int64(s.Size)
		list[packageOf(s.Name)] += int64(s.Size)
	}
	var total int64
	for i, s := range f.Sections {
		if s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		size := int64(s.FileSize)
		total += size
		switch nameless := size - inside[i]; {
		case s.Name == ".gopclntab":
			list["Go: tables of functions"] += size
		case s.Name == ".rodata":
			list["Go: types and strings"] += max(0, nameless)
		default:
			list["Go: other"] += max(0, nameless)
		}
	}
	return list, total, nil
}

// packageOf returns the path of the package that a symbol belongs to.
func packageOf(symbol string) string {
	if strings.HasPrefix(symbol, "go:func") || strings.HasPrefix(symbol, "runtime.findfunctab") {
		return "Go: tables of functions"
	}
	if strings.HasPrefix(symbol, "type:") || strings.HasPrefix(symbol, "go:") {
		return "Go: types and strings"
	}
	head, _, _ := strings.Cut(symbol, "[") // an instance of a generic function names other packages
	head, _, _ = strings.Cut(head, "(")
	slash := strings.LastIndexByte(head, '/') + 1
	name, _, dotted := strings.Cut(head[slash:], ".")
	if !dotted {
		return "Go: other"
	}
	p := strings.ReplaceAll(head[:slash]+name, "%2e", ".")
	if p == "main" {
		return module + "/cmd/spade-edge"
	}
	return p
}
