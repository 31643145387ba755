package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUsage: wrong use is one clear error, and writes nothing.
func TestUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "usage"},
		{"table5", "table5"},
		{"all -seeds 0", "-seeds is 0"},
		{"all -datasets mnist,cifar", "cifar"},
		{"table2 -only 2z", "2z"},
		{"table2 -methods SPADE", "SPADE"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		args := strings.Fields(c.args)
		if len(args) > 0 {
			args = append(args, "-out", out)
		}
		err := run(context.Background(), args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want an error that names %q", c.args, err, c.want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%q: results were begun", c.args)
		}
	}
}
