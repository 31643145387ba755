package sdk_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArchitecture checks the tables of ARCHITECTURE.md, which say where each duty, check and equation is implemented: every
// listed file must exist, and declare the names that follow it.
func TestArchitecture(t *testing.T) {
	text := must(os.ReadFile("ARCHITECTURE.md"))(t)
	_, tables, found := strings.Cut(string(text), "## The way of a loss")
	if !found {
		t.Fatal("ARCHITECTURE.md has no way of a loss")
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	names := 0
	for row := range strings.Lines(tables) {
		if !strings.HasPrefix(row, "|") {
			continue
		}
		var declared []string
		for _, match := range quoted.FindAllStringSubmatch(row, -1) {
			switch name := match[1]; {
			case strings.HasSuffix(name, ".go"):
				declared = declarations(t, filepath.Join("..", filepath.FromSlash(name)))
			case strings.ContainsAny(name, "./"):
				if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(name))); err != nil {
					t.Error(err)
				}
			case declared != nil:
				names++
				if !slices.Contains(declared, name) {
					t.Errorf("%s: no %s, but %v", strings.TrimSpace(row), name, declared)
				}
			}
		}
	}
	if names < 150 {
		t.Errorf("the tables have %d names", names)
	}
}

func declarations(t *testing.T, file string) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					names = append(names, s.Names[0].Name)
				}
			}
		}
	}
	return names
}

func TestThreatModelNamesTests(t *testing.T) {
	text := must(os.ReadFile("../.github/SECURITY.md"))(t)
	var tests strings.Builder
	ok(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		tests.Write(code)
		return err
	}))
	named := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(text), -1)
	for _, n := range named {
		if !strings.Contains(tests.String(), "func "+n[1]+"(t *testing.T)") {
			t.Errorf(".github/SECURITY.md names %s, which does not exist", n[1])
		}
	}
	for _, n := range regexp.MustCompile("`([a-z-]+\\.txt(ar)?)`").FindAllStringSubmatch(string(text), -1) {
		dir := map[string]string{"": "trust/testdata", "ar": "../cmd/spade-edge/transcripts/testdata"}[n[2]]
		if _, err := os.Stat(filepath.Join(dir, n[1])); err != nil {
			t.Errorf(".github/SECURITY.md names a dialogue or a transcript: %v", err)
		}
	}
	if len(named) < 20 {
		t.Errorf("%d tests are named, want 20 or more", len(named))
	}
}
