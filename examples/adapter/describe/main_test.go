package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/examples/adapter"
)

// TestDescribe checks that an adapter that the command describes can be opened, and that mistakes are named.
func TestDescribe(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, size int) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	base, basis := file("base.bin", 40), file("basis.bin", 80)
	for want, args := range map[string][]string{
		"-dim 3 -mu 0.474 ": {"-of", "10", "-base", base, "random:3:7"},
		"-dim 2 -mu 1.06 ":  {"-of", "10", "-base", base, "-basis", basis},
		"-dim 4 ":           {"-of", "10", "coords:0-2,9"},
	} {
		var out, log bytes.Buffer
		if err := describe(args, &out, &log); err != nil || !strings.Contains(log.String(), want) {
			t.Errorf("%q: %v, %s", args, err, &log)
			continue
		}
		path := filepath.Join(dir, "adapter.json")
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := adapter.ReadSpec(path)
		if err == nil {
			_, err = adapter.Open(*s, dir)
		}
		if err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	for want, args := range map[string][]string{
		"want one form":         {"-of", "10"},
		"found \"random:x\"":    {"-of", "10", "random:x"},
		"dim is 11, want 1..10": {"-of", "10", "random:11:1"},
		"base.bin has 40 bytes": {"-of", "11", "-base", base, "random:3:7"},
		"is a file of 80 bytes": {"-of", "9", "-basis", basis},
		"no such file":          {"-of", "10", "-base", base + "x", "random:3:7"},
	} {
		if err := describe(args, new(bytes.Buffer), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
