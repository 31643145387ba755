// Command ports checks that the module's packages, without tests, compile on other systems: go run ./.ci/ports
// freebsd/amd64 js/wasm. It checks types from source, which takes seconds for each port; go build compiles the standard
// library first, for most of a minute.
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
	ImportPath, Dir string
	Standard        bool
	GoFiles         []string
	ImportMap       map[string]string
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
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,GoFiles,ImportMap", "./...")
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
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
		if p.ImportPath == "unsafe" {
			continue
		}
		files := token.NewFileSet()
		var sources []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			sources = append(sources, f)
		}
		own := !p.Standard && !strings.Contains(p.Dir, "@")
		cfg := types.Config{Importer: importer{done, p.ImportMap}, Sizes: types.SizesFor("gc", processor), IgnoreFuncBodies: !own,
			FakeImportC: true, Error: func(err error) {
				if own {
					errs = append(errs, err)
				}
			}}
		done[p.ImportPath], _ = cfg.Check(p.ImportPath, files, sources, nil)
	}
}
