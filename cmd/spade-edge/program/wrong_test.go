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

// packagePrefix matches the names of this module's packages at the beginning of error messages. These names mean
// nothing to users, so no output may contain them.
var packagePrefix = sync.OnceValue(func() *regexp.Regexp {
	names := []string{"sdk", "zoest", "dpmech"}
	for _, root := range []string{"sdk", "zoest", "transport"} {
		err := filepath.WalkDir("../../../"+root, func(path string, d fs.DirEntry, err error) error {
			// Skip package names that are also the names of a file's section or of a command.
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

// plain checks that no package name occurs in the output.
func plain(t *testing.T, text string) {
	t.Helper()
	if found := packagePrefix().FindString(text); found != "" {
		t.Errorf("%q in what people read: %s", found, text)
	}
}
