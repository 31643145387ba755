package program

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
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
	before := contents(t, dir)
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
		if after := contents(t, dir); after != before {
			t.Fatalf("%q: left behind\n%s\nand before it was\n%s", c.args, after, before)
		}
	}
}

// packagePrefix finds names of this module's packages, with which errors begin for programmers, in output for users.
var packagePrefix = sync.OnceValue(func() *regexp.Regexp {
	names := []string{"sdk", "zoest", "dpmech"}
	for _, root := range []string{"sdk", "zoest", "transport"} {
		err := filepath.WalkDir("../../../"+root, func(path string, d fs.DirEntry, err error) error {
			// Some names are also sections of a file, or a command.
			if err == nil && d.IsDir() && !slices.Contains([]string{root, "testdata", "graph", "wire", "plan", "scorer"}, d.Name()) {
				names = append(names, d.Name())
			}
			return err
		})
		if err != nil {
			panic(err)
		}
	}
	return regexp.MustCompile(`(?m)(^|: |; |["(])(` + strings.Join(names, "|") + `): `)
})

// plain checks that the output names no package.
func plain(t *testing.T, text string) {
	t.Helper()
	if found := packagePrefix().FindString(text); found != "" {
		t.Errorf("%q in what people read: %s", found, text)
	}
}
