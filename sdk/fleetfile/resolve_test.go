package fleetfile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestResolve checks that a path with ".." names the same file for Resolve and for the system, also if the folder is a
// link, and stays as short as it is where no link is involved.
func TestResolve(t *testing.T) {
	top := t.TempDir()
	real, link := filepath.Join(top, "fleet", "a"), filepath.Join(top, "devices", "a")
	if err := os.MkdirAll(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil || runtime.GOOS == "windows" {
		t.Skip(err) // Windows resolves ".." before it follows links
	}
	target := must(filepath.EvalSymlinks(filepath.Dir(real)))(t)
	for _, c := range []struct{ dir, path, want string }{
		{link, "../fleet.json", filepath.Join(target, "fleet.json")},
		{link, "../state/", filepath.Join(target, "state")},
		{link, "..", target},
		{link, "sub/../../x", filepath.Join(link, "sub/../../x")}, // no such folder
		{link, "node.key", filepath.Join(link, "node.key")},
		{link, "a..b", filepath.Join(link, "a..b")},
		{real, "../fleet.json", filepath.Join(top, "fleet", "fleet.json")},
		{".", "../x", filepath.Join("..", "x")},
		{real, "/abs/../x", "/abs/../x"},
		{real, "", ""},
	} {
		if got := Resolve(c.dir, c.path); got != c.want {
			t.Errorf("%q in %s: %s, want %s", c.path, c.dir, got, c.want)
		}
	}
}
