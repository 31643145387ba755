package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"strings"
	"testing"
)

// TestQuickstart checks that the pumps learn a model that weights vibration more than heat, and that a second start finds
// the finished run in its folder.
func TestQuickstart(t *testing.T) {
	t.Chdir(t.TempDir())
	first := said(t)
	var heat, vibration, bias float64
	_, err := fmt.Sscanf(first, "a pump fails if [%g %g %g] * (heat, vibration, 1) > 0\n", &heat, &vibration, &bias)
	if err != nil || heat <= 0 || vibration < 1.2*heat || vibration > 8*heat {
		t.Errorf("%q: %v", first, err)
	}
	if again := said(t); again != first {
		t.Errorf("the second start printed %q, want %q", again, first)
	}
}

// said returns what main prints.
func said(t *testing.T) string {
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = w
	main()
	w.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFitsIn25Lines checks that the program embeds a node in 25 lines.
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
	body, _, ended := strings.Cut(body, "\n}\n")
	if !found || !ended || !strings.Contains(string(readme), "func main() {"+body+"\n}\n") {
		t.Error("README.md does not show func main of main.go")
	}
}
