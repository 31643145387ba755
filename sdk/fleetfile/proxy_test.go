package fleetfile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestOpenProxy(t *testing.T) {
	if u, err := new(Node).OpenProxy(); u != nil || err != nil {
		t.Errorf("no proxy: %v, %v", u, err)
	}
	path := filepath.Join(t.TempDir(), "proxy.txt")
	node := &Node{Proxy: "http://proxy.example:3128", ProxyCredentials: path}
	for _, test := range []struct {
		text, want string
		mode       os.FileMode
	}{
		{"me:pass:w%rd\r\n", "", 0o600},
		{"me:", "", 0o400},
		{"me", "want one line of the form user:password", 0o600},
		{":secret", "want one line of the form user:password", 0o600},
		{"me:hidden\nme:other\n", "want one line of the form user:password", 0o600},
		{"me:hidden", "has mode 0644, want 0600, because other users can access it", 0o644},
		{strings.Repeat("a", 16<<10+1), "want at most", 0o600},
	} {
		os.Remove(path)
		if err := os.WriteFile(path, []byte(test.text), test.mode); err != nil {
			t.Fatal(err)
		}
		u, err := node.OpenProxy()
		switch {
		case test.want == "":
			if err != nil {
				t.Errorf("%q: %v", test.text, err)
				continue
			}
			password, _ := u.User.Password()
			if got := u.User.Username() + ":" + password; got != strings.TrimRight(test.text, "\r\n") {
				t.Errorf("%q is read as %q", test.text, got)
			}
		case runtime.GOOS == "windows" && test.mode == 0o644:
		case err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hidden"):
			t.Errorf("%q: error %v, want %q", test.text, err, test.want)
		}
	}
	os.Remove(path)
	if _, err := node.OpenProxy(); err == nil {
		t.Error("no file: no error")
	}
}
