package brokertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Licenses checks that text, which the program in the current folder embeds from licenses.txt, has the license of each module
// that the program contains and spade-edge does not. With UPDATE set, it rewrites the file.
func Licenses(t *testing.T, text string) {
	modules := func(pkg string) (all []string) {
		list, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", pkg).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(list)), "\n")
	}
	seen := map[string]bool{"": true}
	for _, m := range modules("github.com/spade-dfl/spade-edge/cmd/spade-edge") {
		seen[m] = true
	}
	var all strings.Builder
	for _, m := range modules(".") {
		if seen[m] {
			continue
		}
		seen[m] = true
		name, dir, _ := strings.Cut(m, " ")
		found, _ := filepath.Glob(filepath.Join(dir, "LICENSE*"))
		if len(found) != 1 {
			t.Fatalf("%s has the licenses %q, want one", name, found)
		}
		license, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), name, strings.TrimSpace(string(license)))
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("licenses.txt", []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text != all.String() {
		t.Errorf("licenses.txt does not have the licenses of %v: run this test with UPDATE=1", seen)
	}
}
