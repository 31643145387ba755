package sdk_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// flagLike matches text that looks like a program flag: a dash and a word, at the start of the text or after a space,
// quote or bracket.
var flagLike = regexp.MustCompile(`(^|[\s("'` + "`" + `])-[a-z][a-z0-9]*(-[a-z0-9]+)*\b`)

// TestNoFlagsInLibraries checks that, outside cmd and the examples, no string names a program flag and no package
// imports flag.
func TestNoFlagsInLibraries(t *testing.T) {
	root := must(filepath.Abs(".."))(t)
	for _, dir := range []string{"zoest", "dpmech", "transport", "sdk", "tinytest"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "cmd" || d.Name() == "testdata" || d.Name() == "brokertest"): // brokertest runs the go command
				return filepath.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(lit.Value)
				if word := flagLike.FindString(text); err == nil && (word != "" || text == "flag") {
					t.Errorf("%v: %q speaks of the flag %q", fset.Position(lit.Pos()), text, word)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
