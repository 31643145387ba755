package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
)

// TestUsage checks that incorrect usage causes a single clear error and writes nothing.
func TestUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "usage"},
		{"table5", "table5"},
		{"all -seeds 0", "-seeds is 0"},
		{"all -datasets mnist,cifar", "cifar"},
		{"table2 -only 2z", "2z"},
		{"adapter -data none", "MNIST in none"},
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

// TestQuick checks that the quick table has the paper's methods and the best form of SPADE-DFL, that each cell has one
// fold per seed, and that the output is the first table of the report.
func TestQuick(t *testing.T) {
	cells := map[experiment.Job]int{}
	methods := map[string]bool{}
	for _, j := range experiment.Plan(commands["quick"], []string{"mnist", "alzheimers"}, 3) {
		if inQuick(j) {
			methods[j.Method] = true
			j.Fold = 0
			cells[j]++
		}
	}
	const partitions, rivals, pooled, ours = 4, 5, 1, 2
	if want := 2 * 3 * (partitions*(rivals+ours) + pooled); len(cells) != want || len(methods) != rivals+pooled+ours {
		t.Errorf("%d runs of %v, want %d", len(cells), methods, want)
	}
	for j, n := range cells {
		if n != 1 {
			t.Errorf("%+v is made %d times", j, n)
		}
	}
	path := filepath.Join(t.TempDir(), "table.md")
	if err := os.WriteFile(path, []byte("# T\n\nwords\n\n## A\n\n| a |\n\n## B\n\n| b |\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if err := firstTable(path, &said); err != nil || !strings.HasPrefix(said.String(), "A\n\n| a |\n") || strings.Contains(said.String(), "| b |") {
		t.Errorf("it prints %q, %v", said.String(), err)
	}
}

// TestOrigins checks that README.md has the commit at which each page of results was measured.
func TestOrigins(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("results/*/*.md")
	if err != nil || len(pages) < 8 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, commit, found := strings.Cut(string(text), "\n- commit: `")
		if !found || len(commit) < 8 {
			t.Errorf("%s has no commit", page)
			continue
		}
		name := strings.TrimPrefix(filepath.ToSlash(page), "results/")
		if want := "| " + name + " | " + commit[:8] + " |"; !strings.Contains(string(readme), want) {
			t.Errorf("README.md has no row %q", want)
		}
	}
}
