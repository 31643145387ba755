package program

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type mistake struct {
	code int
	want string // part of the message; for a message of several lines, one line for a part of each
	args []string
}

// wrongUse makes mistakes in a folder. Each must end with its exit code and a message with the wanted parts, in as
// many lines, plus a hint if the call was wrong, with empty standard output and an unchanged folder.
func wrongUse(t *testing.T, dir string, all []mistake) {
	t.Helper()
	packagePrefix() // reads the folders from here
	t.Chdir(dir)
	before := snapshot(t, dir)
	for _, c := range all {
		code, out, log := call(c.args...)
		lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
		if last := len(lines) - 1; strings.HasSuffix(lines[last], " -h explains)") {
			lines = lines[:last]
		}
		wants := strings.Split(c.want, "\n")
		good := len(lines) == len(wants) && strings.HasPrefix(lines[0], "spade-edge")
		for i := range min(len(lines), len(wants)) {
			good = good && strings.Contains(lines[i], wants[i])
		}
		if code != c.code || out != "" || !good {
			t.Errorf("%q: exit code %d, want %d with %q\n%s%s", c.args, code, c.code, c.want, out, log)
		}
		plain(t, log)
		if after := snapshot(t, dir); after != before {
			t.Fatalf("%q: left behind\n%s\nand before it was\n%s", c.args, after, before)
		}
	}
}

func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&all, "%v %s", info.Mode(), rel)
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&all, " %x", sha256.Sum256(text))
		}
		all.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
