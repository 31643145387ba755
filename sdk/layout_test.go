package sdk_test

import (
	"bytes"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/spade-dfl/spade-edge"

// mostLines is the maximum number of lines in a package, not counting tests.
const mostLines = 4500

// mayImport lists what each package may import from this module, and mayUse lists what it may import from other
// modules.
var mayImport = map[string][]string{
	"zoest/internal/cpu":          {},
	"zoest/vec":                   {"zoest/internal/cpu"},
	"zoest/vec/tabular":           {"zoest/internal/cpu", "zoest/vec"},
	"zoest/rng":                   {"zoest/internal/cpu", "zoest/vec"},
	"zoest/setting":               {},
	"zoest":                       {"zoest/vec", "zoest/rng", "zoest/setting"},
	"dpmech/internal/faults":      {},
	"dpmech":                      {"dpmech/internal/faults"},
	"dpmech/strict":               {},
	"dpmech/certificate":          {"dpmech", "dpmech/internal/faults", "dpmech/strict"},
	"dpmech/explain":              {"dpmech", "dpmech/certificate"},
	"dpmech/budget":               {"dpmech"},
	"transport":                   {},
	"transport/internal/endpoint": {"transport"},
	"transport/mem":               {"transport", "transport/internal/endpoint"},
	"transport/internal/proxy":    {"transport"},

	"transport/ws":               {"transport", "transport/internal/endpoint", "transport/internal/proxy"},
	"sdk/admm":                   {"zoest", "zoest/vec", "zoest/setting", "dpmech"},
	"sdk/wire":                   {"sdk/admm", "sdk/signed"},
	"sdk/signed":                 {"dpmech/certificate"},
	"sdk/pair":                   {},
	"sdk/internal/dialogue":      {},
	"sdk/regular":                {},
	"sdk/secret":                 {"sdk/regular"},
	"sdk/state":                  {"sdk/regular", "sdk/signed", "sdk/pair", "sdk/wire", "dpmech", "dpmech/certificate", "dpmech/strict"},
	"sdk/trust":                  {"dpmech/certificate", "sdk/admm", "sdk/wire", "sdk/signed", "sdk/state"},
	"sdk/graph":                  {"zoest/rng"},
	"sdk/topology":               {"sdk/graph", "sdk/regular", "zoest/vec", "zoest/rng"},
	"sdk/plan":                   {"dpmech", "dpmech/budget", "sdk", "sdk/admm", "sdk/graph", "sdk/wire", "zoest", "zoest/setting"},
	"cmd/spade-edge/task/cell":   {},
	"cmd/spade-edge/task":        append([]string{"sdk/regular", "zoest", "zoest/vec", "zoest/vec/tabular", "zoest/rng"}, ofTask...),
	"cmd/spade-edge/task/screen": {"cmd/spade-edge/task", "cmd/spade-edge/task/cell", "zoest/rng"},
	"sdk/scorer":                 {"dpmech/strict", "zoest"},
	"sdk": {"sdk/admm", "sdk/wire", "sdk/signed", "sdk/pair", "sdk/state", "sdk/trust", "sdk/graph",
		"zoest", "zoest/setting", "dpmech", "dpmech/certificate", "transport"},
	"sdk/audit":              {"sdk", "sdk/signed", "dpmech", "dpmech/certificate"},
	"sdk/monitor":            {"sdk", "sdk/signed", "sdk/state", "dpmech", "dpmech/certificate", "dpmech/explain"},
	"sdk/fleetfile":          {"dpmech", "dpmech/strict", "sdk", "sdk/graph", "sdk/pair", "sdk/regular", "sdk/scorer", "sdk/secret", "sdk/state", "sdk/wire", "transport", "zoest"},
	"cmd/spade-edge/builtin": {"dpmech", "sdk", "sdk/fleetfile", "cmd/spade-edge/task", "sdk/wire", "zoest"},
	"sdk/broker":             {"sdk/fleetfile", "sdk/secret", "transport"},
	"sdk/edge":               {"dpmech", "dpmech/certificate", "sdk", "sdk/pair", "sdk/secret", "sdk/state", "transport", "transport/ws"},
	"sdk/device":             {"dpmech", "dpmech/certificate", "dpmech/explain", "sdk", "sdk/fleetfile", "sdk/monitor", "sdk/plan", "sdk/state", "sdk/trust", "sdk/wire", "transport"},
	"sdk/sim":                {"sdk", "sdk/admm", "sdk/pair", "zoest", "zoest/rng"},

	"cmd/spade-edge/task/eigen":    {"zoest/rng"},
	"cmd/spade-edge/task/score":    {"zoest/vec"},
	"cmd/spade-edge/task/survival": {"cmd/spade-edge/task/cell", "cmd/spade-edge/task/score", "zoest/vec"},

	"tinytest": {"sdk", "sdk/wire", "sdk/signed", "sdk/pair", "sdk/state", "sdk/admm", "sdk/sim", "zoest", "zoest/vec", "zoest/rng",
		"transport", "transport/mem"},
}

// ofTask lists the parts of package task.
var ofTask = []string{"cmd/spade-edge/task/cell", "cmd/spade-edge/task/eigen", "cmd/spade-edge/task/score", "cmd/spade-edge/task/survival"}

var mayUse = map[string][]string{
	"sdk/wire":     {"github.com/klauspost/compress/huff0", "github.com/fxamacker/cbor/v2"},
	"sdk/scorer":   {"github.com/fxamacker/cbor/v2"},
	"transport/ws": {"nhooyr.io/websocket"},
}

// folders calls visit with the path of each folder of this module and with its name in the module. It leaves out separate
// modules, testdata and what begins with a dot.
func folders(t *testing.T, visit func(path, dir string) error) {
	t.Helper()
	ok(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		_, module := os.Stat(filepath.Join(path, "go.mod"))
		if name := d.Name(); path != ".." && (strings.HasPrefix(name, ".") || name == "testdata" || module == nil) {
			return filepath.SkipDir
		}
		dir, err := filepath.Rel("..", path)
		if err != nil {
			return err
		}
		return visit(path, filepath.ToSlash(dir))
	}))
}

// TestLayout checks that imports follow mayImport and mayUse, and that the top level has the expected entries. Tests,
// examples and the internal packages of the program may import anything.
func TestLayout(t *testing.T) {
	seen := map[string]bool{}
	folders(t, func(path, dir string) error {
		pkg, err := build.ImportDir(path, 0)
		if err == nil && slices.Contains(pkg.Imports, module+"/tinytest") {
			t.Errorf("%s imports tinytest, which is for tests", dir)
		}
		if err != nil || strings.HasPrefix(dir, "examples") || strings.HasPrefix(dir, "cmd/spade-edge/internal") {
			return nil // a folder without Go files, or a part of a program
		}
		allowed, known := mayImport[dir]
		if !known && strings.HasPrefix(dir, "cmd/") {
			return nil // a program joins everything
		}
		seen[dir] = true
		if !known {
			t.Errorf("package %s has no entry in the table of imports", dir)
		}
		for _, imp := range pkg.Imports {
			inner, ours := strings.CutPrefix(imp, module+"/")
			switch {
			case ours && !slices.Contains(allowed, inner):
				t.Errorf("%s imports %s, and may import %v", dir, inner, allowed)
			case !ours && strings.Contains(strings.Split(imp, "/")[0], ".") && !slices.Contains(mayUse[dir], imp):
				t.Errorf("%s imports %s, and may use %v", dir, imp, mayUse[dir])
			case imp == "C" || imp == "expvar" || imp == "net/http/pprof" || imp == "flag":
				t.Errorf("%s imports %s", dir, imp)
			}
		}
		lines := 0
		for _, file := range slices.Concat(pkg.GoFiles, pkg.IgnoredGoFiles) {
			text, err := os.ReadFile(filepath.Join(path, file))
			if err != nil {
				return err
			}
			if !strings.HasSuffix(file, "_test.go") {
				lines += bytes.Count(text, []byte{'\n'})
			}
		}
		if lines > mostLines {
			t.Errorf("%s has %d lines without tests, want at most %d: move a part into a package of its own", dir, lines, mostLines)
		}
		if !slices.ContainsFunc(pkg.GoFiles, func(f string) bool { return f == "doc.go" }) {
			t.Errorf("%s has no doc.go", dir)
		}
		return nil
	})
	for dir := range mayImport {
		if !seen[dir] {
			t.Errorf("the table of imports names %s, which does not exist", dir)
		}
	}
	top := []string{"LICENSE", "README.md", "cmd", "dpmech", "examples", "go.mod", "go.sum", "sdk", "tinytest",
		"transport", "zoest"}
	list, err := exec.Command("git", "-C", "..", "ls-files").Output() // a run leaves other files in a clone, which are not ours
	if err != nil {
		t.Skipf("git lists no files here: %v", err)
	}
	for file := range strings.Lines(string(list)) {
		name, _, _ := strings.Cut(strings.TrimSpace(file), "/")
		if !strings.HasPrefix(name, ".") && !slices.Contains(top, name) {
			t.Errorf("%s is not meant to be at the top level, which is %v", name, top)
		}
	}
}
