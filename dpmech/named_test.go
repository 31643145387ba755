package dpmech

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamedTestsExist checks that the tests named in PROOF.md and in SECURITY.md exist somewhere in the repository.
func TestNamedTestsExist(t *testing.T) {
	defined := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(text, -1) {
			defined[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"PROOF.md", "../.github/SECURITY.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile(`\bTest[A-Z]\w*`).FindAllString(string(text), -1)
		if len(named) == 0 {
			t.Errorf("%s names no test", file)
		}
		for _, name := range named {
			if !defined[name] {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
	}
}
