package program

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// TestLicenses checks that the licenses that the program prints are those of its linked modules, word for word.
func TestLicenses(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}",
		"github.com/spade-dfl/spade-edge/cmd/spade-edge").Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{"Go's standard library, https://go.dev " + goroot(t)}
	for line := range strings.Lines(string(list)) {
		if line = strings.TrimSpace(line); !slices.Contains(folders, line) {
			folders = append(folders, line)
		}
	}
	var all bytes.Buffer
	fmt.Fprintf(&all, "SPADE-Edge is licensed under the Apache License, version 2.0: https://www.apache.org/licenses/LICENSE-2.0\n"+
		"This program has in it what follows, with the licence of each.\n")
	for _, one := range folders {
		i := strings.LastIndexByte(one, ' ')
		found, _ := filepath.Glob(filepath.Join(one[i+1:], "LICENSE*"))
		if len(found) != 1 {
			t.Fatalf("%s has %q", one, found)
		}
		fmt.Fprintf(&all, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), one[:i], strings.TrimSpace(readFile(t, found[0])))
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(texts+"/licenses.txt", all.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Skip("licenses.txt is made anew: build the test again")
	}
	if code, out, log := call("version", "-licenses"); code != cli.ExitDone || out != all.String() {
		t.Errorf("exit code %d, %s; the licences printed are not those of %q: run this test with UPDATE=1", code, log, folders)
	}
}

// goroot returns the folder with Go's sources. It skips the test if this folder has no license file, as in some
// distributions.
func goroot(t *testing.T) string {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(root))
	if _, err := os.Stat(filepath.Join(dir, "LICENSE")); err != nil {
		t.Skipf("%s has no licence: %v", runtime.Version(), err)
	}
	return dir
}

func TestVersionOfRelease(t *testing.T) {
	defer func() { cli.Release = "" }()
	cli.Release = "v1.2.0 0123456789ab"
	want := fmt.Sprintf("spade-edge v1.2.0 0123456789ab, %s, %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if code, out, _ := call("version"); code != cli.ExitDone || out != want {
		t.Errorf("exit code %d, %q, want %q", code, out, want)
	}
}
