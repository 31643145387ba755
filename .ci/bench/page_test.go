package main

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
)

func TestExponent(t *testing.T) {
	x := []float64{10, 30, 200, 1000}
	y := make([]float64, len(x))
	for i := range x {
		y[i] = 3 * math.Pow(x[i], 1.25)
	}
	if p := exponent(x, y); math.Abs(p-1.25) > 1e-12 {
		t.Errorf("exponent %v, want 1.25", p)
	}
}

// TestPageIsRecent fails if the committed page is from a commit more than 200 commits ago and a package whose speed it
// states has changed since.
func TestPageIsRecent(t *testing.T) {
	text, err := os.ReadFile("results.md")
	if err != nil {
		t.Fatal(err)
	}
	const again = "measure again on a quiet machine: bash .ci/bench/run >.ci/bench/results.md"
	found := regexp.MustCompile(`(?m)^- Commit: ([0-9a-f]{40})\.$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("results.md does not name its commit; " + again)
	}
	commit := string(found[1])
	if exec.Command("git", "cat-file", "-e", commit+"^{commit}").Run() != nil {
		t.Skip("no git, or a clone without commit " + commit)
	}
	since := func(args ...string) int {
		out, err := exec.Command("git", append([]string{"-C", root, "rev-list", "--count", commit + "..HEAD"}, args...)...).Output()
		n, wrong := strconv.Atoi(strings.TrimSpace(string(out)))
		if err := errors.Join(err, wrong); err != nil {
			t.Fatal(err)
		}
		return n
	}
	changes := since("--", "zoest", "sdk/sim", "sdk/wire", "sdk/admm", "transport/ws")
	if n := since(); n > 200 && changes > 0 {
		t.Errorf("results.md is from %s, %d commits ago, of which %d changed what it measures; %s", commit, n, changes, again)
	}
}

func TestFigure(t *testing.T) {
	for _, c := range []struct {
		x          float64
		unit, want string
	}{{2.5, "s", "2.5 s"}, {0.0123, "s", "12.3 ms"}, {4.56e-5, "s", "45.6 us"}, {2e-10, "s", "0.2 ns"},
		{15000, "MB", "15000 MB"}, {4, "", "4"}, {3.947e-7, "", "3.95e-07"}} {
		if got := figure(c.x, c.unit); got != c.want {
			t.Errorf("figure(%v, %q) is %q, want %q", c.x, c.unit, got, c.want)
		}
	}
}

// TestImages checks that a model can be trained on the generated images.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	if err := writeImages(dir, "train", 200, 50); err != nil {
		t.Fatal(err)
	}
	if err := writeImages(dir, "t10k", 100, 50); err != nil {
		t.Fatal(err)
	}
	set, err := task.Load(task.Spec{Source: "idx:" + dir, PCA: 5})
	if err != nil {
		t.Fatal(err)
	}
	m, x := task.NewSoftmax(set.Test), make([]float32, 5)
	for i, y := range set.Train.Y { // adds up the difference between the means of the two classes
		for j, v := range set.Train.Row(i) {
			x[j] += v * float32(2*y-1)
		}
	}
	if set.Train.Len() != 200 || !(m.Accuracy(x) > 0.9) {
		t.Errorf("%d samples and an accuracy of %v, want 200 and more than 0.9", set.Train.Len(), m.Accuracy(x))
	}
}
