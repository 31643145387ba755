//go:build unix

package regular

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRefused checks that a file that is too long or not regular is refused at once, even through a symbolic link.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	socket, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, err := range []error{os.WriteFile(at("five"), []byte("12345"), 0o600), os.WriteFile(at("endless"), nil, 0o600),
		os.Truncate(at("endless"), 1<<40), os.Symlink("/dev/zero", at("zero"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"five", "endless", "pipe", "socket", "missing"} {
		if err := os.Symlink(at(name), at("to-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	const special = "is a special file, such as a pipe or a device, want a regular file"
	wants := map[string]string{at("zero"): special, "/dev/null": special, dir: "is a folder, want a file"}
	for name, want := range map[string]string{"five": "", "endless": "is a file of 1099511627776 bytes, want at most 5",
		"pipe": special, "socket": special, "missing": "no such file"} {
		wants[at(name)], wants[at("to-"+name)] = want, want
	}
	for path, want := range wants {
		began := time.Now()
		text, err := Read(path, 5)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: %v", path, took)
		}
		if want == "" {
			if err != nil || string(text) != "12345" {
				t.Errorf("%s: %q, %v", path, text, err)
			}
			continue
		}
		if !errors.As(err, new(*fs.PathError)) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "open ") {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
		if missing := want == "no such file"; errors.Is(err, fs.ErrNotExist) != missing {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := Open(path, os.O_RDWR, 0, 5); err == nil {
			t.Errorf("%s was opened for writing", path)
		}
	}
	if _, err := Read(at("five"), 4); err == nil || !strings.Contains(err.Error(), "is a file of 5 bytes, want at most 4") {
		t.Errorf("error %v", err)
	}
	f, err := Open(at("new"), os.O_RDWR|os.O_CREATE, 0o600, 5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("more than five"); err != nil || f.Close() != nil { // the limit is checked at opening
		t.Error(err)
	}
	if _, err := Open(at("new"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600, 50); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v, want that it exists", err)
	}
}

// TestRaceWithAPipe checks that Open does not block if a pipe replaces the file after the check.
func TestRaceWithAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := syscall.Mkfifo(path+".pipe", 0o600); err != nil {
		t.Skip(err)
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Link(path+".pipe", path)
			_ = os.Remove(path)
			_ = os.WriteFile(path, []byte("x"), 0o600)
			_ = os.Remove(path)
		}
	}()
	for range 3000 {
		if text, err := Read(path, 5); err == nil && len(text) > 1 {
			t.Errorf("%q", text)
		}
	}
	close(stop)
	<-done
}
