// Command ports checks that the module's packages compile on other systems: go run ./.ci/ports freebsd/amd64 js/wasm. It
// checks types from source, which takes seconds for each port; go build compiles the standard library first, for most of a
// minute. On the system where it runs, it also checks tests, and files that import "C".
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	failed := false
	for _, port := range os.Args[1:] {
		system, processor, _ := strings.Cut(port, "/")
		if err := check(system, processor); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", port, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// listed is what go list prints of a package.
type listed struct {
	ImportPath, Dir   string
	Standard          bool
	GoFiles, CgoFiles []string
	ImportMap         map[string]string
}

// importer has the checked packages by path, and the packages' own names for the paths in their sources.
type importer struct {
	done  map[string]*types.Package
	named map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if as, ok := i.named[path]; ok {
		path = as
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s was not listed", path)
}

// check checks all packages for a port in the order of their imports. It leaves out function bodies of other modules.
func check(system, processor string) error {
	here, cgo := system == runtime.GOOS && processor == runtime.GOARCH, "0"
	if here {
		cgo = "1"
	}
	list := exec.Command("go", "list", "-deps", fmt.Sprintf("-test=%t", here), "-json=ImportPath,Dir,Standard,GoFiles,CgoFiles,ImportMap", "./...")
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED="+cgo)
	list.Stderr = os.Stderr
	text, err := list.Output()
	if err != nil {
		return err
	}
	done := map[string]*types.Package{}
	var errs []error
	for in := json.NewDecoder(bytes.NewReader(text)); ; {
		var p listed
		if err := in.Decode(&p); err == io.EOF {
			return errors.Join(errs...)
		} else if err != nil {
			return err
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // the latter is a test's generated main package
			continue
		}
		files := token.NewFileSet()
		var sources []*ast.File
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			sources = append(sources, f)
		}
		own := !p.Standard && !strings.Contains(p.Dir, "@")
		cfg := types.Config{Importer: importer{done, p.ImportMap}, Sizes: types.SizesFor("gc", processor), IgnoreFuncBodies: !own,
			FakeImportC: true, Error: func(err error) {
				// An invalid type has an error of its own, or it is one of C, which FakeImportC does not know.
				if own && !strings.Contains(err.Error(), "invalid type") {
					errs = append(errs, err)
				}
			}}
		done[p.ImportPath], _ = cfg.Check(p.ImportPath, files, sources, nil)
	}
}
