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

// packagePrefix matches, in output for users, the names of this module's packages at the beginning of errors. These
// names mean nothing to users.
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
