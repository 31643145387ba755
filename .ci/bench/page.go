package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// row is a line of the page: a goal, a measurement of this project and, usually, a measurement of another program for
// comparison.
type row struct {
	what, other string
	unit        string
	goal        goal
	measure     func() (ours, theirs float64, err error)
}

// goal bounds the ratio of this project's figure to the other program's figure. If the goal is absolute, or if there is
// no other program, the goal bounds this project's figure itself.
type goal struct {
	least, most float64
	absolute    bool
}

func atMost(x float64) goal { return goal{most: x} }

var none goal

func (r row) goalText() string {
	switch g := r.goal; {
	case g == none:
		return ""
	case g.least > 0:
		return fmt.Sprintf("%v to %v", g.least, g.most)
	case g.absolute || r.other == "":
		return "≤ " + figure(g.most, r.unit)
	default:
		return fmt.Sprintf("≤ %v", g.most)
	}
}

// skipped is the error for a row that cannot be measured on this machine. Its text is the reason.
type skipped string

func (s skipped) Error() string { return "skipped: " + string(s) }

func page(data, only string, suite bool) error {
	b, err := newBench(data)
	if err != nil {
		return err
	}
	defer b.close()
	start, before := time.Now(), load()
	fmt.Print("# Ratios\n\n`bash .ci/bench/run` has printed this page. README.md says what is measured and how.\n\n")
	describe(b)
	fmt.Printf("- Commit: %s.\n", firstLine("git", "rev-parse", "HEAD"))
	fmt.Print("\n| what | ours | other | | ours/other | goal | |\n|---|--:|--:|---|--:|---|---|\n")
	met, missed, failed := 0, 0, 0
	for _, r := range b.rows(suite) {
		if !strings.Contains(r.what, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s: %s\n", time.Since(start).Round(time.Second), r.what)
		ours, theirs, err := 0.0, 0.0, error(skipped("no time left, -only measures it"))
		if time.Since(start) < enough {
			ours, theirs, err = r.measure()
		}
		var skip skipped
		switch {
		case errors.As(err, &skip):
			fmt.Printf("| %s | | | %s | | %s | %s |\n", r.what, r.other, r.goalText(), skip)
			continue
		case err != nil:
			failed++
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", r.what, err)
			fmt.Printf("| %s | | | %s | | %s | **failed** |\n", r.what, r.other, r.goalText())
			continue
		}
		x, ratio, other := ours, "", ""
		if theirs > 0 {
			ratio, other = fmt.Sprintf("%.3g", ours/theirs), figure(theirs, r.unit)
			if !r.goal.absolute {
				x = ours / theirs
			}
		}
		verdict := ""
		switch {
		case r.goal == none:
		case x >= r.goal.least && x <= r.goal.most:
			verdict, met = "ok", met+1
		default:
			verdict, missed = "**missed**", missed+1
		}
		fmt.Printf("| %s | %s | %s | %s | %s | %s | %s |\n", r.what, figure(ours, r.unit), other, r.other, ratio,
			r.goalText(), verdict)
	}
	fmt.Printf("\n%d goals met, %d missed.\n\n", met, missed)
	if only == "" || strings.Contains("growth", only) {
		if err := b.growth(start); err != nil {
			return err
		}
	}
	if only == "" || strings.Contains("kernels", only) {
		kernelPage(start)
	}
	fmt.Printf("Load of the last minute: %s at the beginning, %s at the end, %s later.\n", before, load(),
		time.Since(start).Round(time.Second))
	if failed > 0 {
		return fmt.Errorf("%d rows failed", failed)
	}
	return nil
}

// figure formats a number with three significant digits. It scales seconds to a suitable unit such as ms.
func figure(x float64, unit string) string {
	if unit == "s" {
		for _, u := range []string{"s", "ms", "us", "ns"} {
			if unit = u; x >= 1 || u == "ns" {
				break
			}
			x *= 1000
		}
	}
	if x >= 1000 {
		return fmt.Sprintf("%.0f %s", x, unit)
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g %s", x, unit))
}

const (
	patience = 12 * time.Second // for both sides of a row, or for all runs of one size
	enough   = 7 * time.Minute  // begin no row after this time, so that growth and kernels end within ten minutes
)

// inTurns alternates between two measurements, ours and theirs. It makes each up to k times, but stops early after a
// time limit (the constant patience). It returns the smallest result of each.
func inTurns(k int, ours, theirs func() (float64, error)) (a, b float64, err error) {
	start := time.Now()
	for i := 0; i == 0 || i < k && time.Since(start) < patience; i++ {
		x, err := ours()
		if err != nil {
			return 0, 0, err
		}
		y, err := theirs()
		if err != nil {
			return 0, 0, err
		}
		if i == 0 {
			a, b = x, y
		}
		a, b = min(a, x), min(b, y)
	}
	return a, b, nil
}

// nothing is a placeholder for the measurement of another program, in a row that has none.
func nothing() (float64, error) { return 0, nil }
