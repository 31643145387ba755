package sdk_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/api.txt from what the packages export now")

// TestAPI compares the exported declarations of this module's packages with testdata/api.txt, which has one declaration
// per line. After a change, update the file with go test ./sdk -run API -update.
func TestAPI(t *testing.T) {
	var lines []string
	folders(t, func(path, dir string) error {
		if slices.Contains(strings.Split(dir, "/"), "internal") {
			return nil
		}
		exported, err := exports(path)
		for _, line := range exported {
			lines = append(lines, dir+": "+line)
		}
		return err
	})
	const golden = "testdata/api.txt"
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		ok(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	text := must(os.ReadFile(golden))(t)
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range want {
		if !slices.Contains(lines, line) {
			t.Errorf("gone: %s", line)
		}
	}
	for _, line := range lines {
		if !slices.Contains(want, line) {
			t.Errorf("new: %s", line)
		}
	}
	if !t.Failed() && string(text) != got {
		t.Errorf("%s has the right lines in another order, or twice", golden)
	}
}

// exports lists the exported declarations, on linux/amd64, of the package in a folder. The list is empty if the folder
// has no importable package.
func exports(dir string) ([]string, error) {
	linux := build.Default
	linux.GOOS, linux.GOARCH, linux.CgoEnabled, linux.BuildTags = "linux", "amd64", false, nil
	pkg, err := linux.ImportDir(dir, 0)
	if err != nil || pkg.Name == "main" {
		return nil, nil // a folder without Go files, or a program
	}
	var lines []string
	files := token.NewFileSet()
	for _, name := range pkg.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.FileExports(f)
		for _, decl := range f.Decls {
			lines = append(lines, declared(files, decl)...)
		}
	}
	slices.Sort(lines)
	return lines, nil
}

func declared(files *token.FileSet, decl ast.Decl) []string {
	var lines []string
	put := func(node ast.Node) { lines = append(lines, oneLine(files, node)) }
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && !receiver.MatchString(oneLine(files, d.Recv.List[0].Type)) {
			break
		}
		d.Body = nil
		put(d)
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			break
		}
		if d.Tok == token.CONST && d.Lparen.IsValid() { // a constant without a value repeats the previous value
			put(d)
			break
		}
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
				v.Values = nil
			}
			put(&ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{spec}})
		}
	}
	return lines
}

var (
	spaces   = regexp.MustCompile(`\s+`)
	receiver = regexp.MustCompile(`^\*?[A-Z]`) // a method of an exported type
)

func oneLine(files *token.FileSet, node ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, files, node); err != nil {
		return err.Error()
	}
	text := strings.ReplaceAll(b.String(), "\n", "; ")
	text = spaces.ReplaceAllString(text, " ")
	return strings.NewReplacer("{; ", "{ ", "(; ", "( ", "; }", " }", "; )", " )", "; ; ", "; ").Replace(text)
}
