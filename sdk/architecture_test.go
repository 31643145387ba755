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

// TestArchitecture checks ARCHITECTURE.md, which lists where each line of Algorithm 1 is implemented: every listed file
// must exist and declare the listed names.
func TestArchitecture(t *testing.T) {
	text := must(os.ReadFile("ARCHITECTURE.md"))(t)
	_, table, found := strings.Cut(string(text), "## Algorithm 1, line by line")
	if !found {
		t.Fatal("ARCHITECTURE.md has no table of Algorithm 1")
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	names := 0
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 {
			continue
		}
		var declared []string
		for _, match := range quoted.FindAllStringSubmatch(cells[3], -1) {
			switch name := match[1]; {
			case strings.HasSuffix(name, ".go"):
				declared = declarations(t, filepath.Join("..", filepath.FromSlash(name)))
			case strings.HasSuffix(name, ".md"):
				if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(name))); err != nil {
					t.Error(err)
				}
			default:
				names++
				if !slices.Contains(declared, name) {
					t.Errorf("%s: no %s, but %v", strings.TrimSpace(cells[1]), name, declared)
				}
			}
		}
	}
	if names < 15 {
		t.Errorf("the table has %d names", names)
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
				if s, ok := s.(*ast.TypeSpec); ok {
					names = append(names, s.Name.Name)
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
