package sweep_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// TestWritePage checks that a page names, as the origin of the results, the execution that computed them, not an
// execution that only rewrote the page.
func TestWritePage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "README.md")
	const earlier = "- command: `go run . earlier`\n- commit: `c`\n- machine: m, g\n"
	for _, c := range []struct {
		name, old string
		add       bool
		want      string
	}{
		{"no page", "", false, "go run"},
		{"nothing added", "other text\n" + earlier, false, earlier},
		{"added", "other text\n" + earlier, true, "go run"},
		{"a page without origin", "other text\n", false, "go run"},
	} {
		os.Remove(path)
		if c.old != "" {
			if err := os.WriteFile(path, []byte(c.old), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		table, err := sweep.Open(filepath.Join(dir, c.name+".csv"), 1, "key", "value")
		if err == nil && c.add {
			err = table.Add([]string{"k", "v"})
		}
		if err == nil {
			err = sweep.WritePage(path, "text\n", table)
		}
		got, readErr := os.ReadFile(path)
		if err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
		page := string(got)
		if !strings.HasPrefix(page, "text\n- command: `") || !strings.Contains(page, c.want) ||
			strings.Contains(page, "earlier") != (c.want == earlier) || strings.Count(page, "- command") != 1 {
			t.Errorf("%s: %q, want text and %q", c.name, page, c.want)
		}
	}
}
