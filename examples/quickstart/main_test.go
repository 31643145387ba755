package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

func Example() {
	main()
	// Unordered output:
	// hall: 0.5, error: <nil>
	// lab: 0.5, error: <nil>
}

// TestFitsIn25Lines checks that the program embeds a node in 25 lines, as the README says.
func TestFitsIn25Lines(t *testing.T) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "main.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := files.Position(fn.End()).Line - files.Position(fn.Pos()).Line + 1
		if lines > 25 {
			t.Errorf("func %s has %d lines, want at most 25", fn.Name.Name, lines)
		}
	}
}

// TestReadmeShowsIt checks that the README shows the code of the program.
func TestReadmeShowsIt(t *testing.T) {
	code, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(string(code), "\nfunc main() {")
	if !found || !strings.Contains(string(readme), "func main() {"+body) {
		t.Error("README.md does not show func main of main.go")
	}
}
