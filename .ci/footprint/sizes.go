package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// limit bounds what a build may weigh, in bytes.
type limit struct {
	what, pkg string
	dir       string   // of a module of its own; empty is the root's
	over      string   // a package whose weight is taken off
	bytes     int64    // 0: none
	on        []string // the targets that it holds for, and unless it is the program's the only ones that are built
}

const mb = 1_000_000

var (
	boards = []string{"linux/arm/6", "linux/arm64"}

	limits = []limit{
		{what: "program", pkg: program, bytes: 8 * mb, on: boards},
		{what: "SDK, transport/mem, over an empty program", pkg: "./.ci/footprint/embedmem", over: "./.ci/footprint/empty",
			bytes: 3 * mb, on: boards},
		{what: "SDK, transport/ws", pkg: "./.ci/footprint/embedws", bytes: 7 * mb, on: boards},
		{what: "program over a NATS broker", dir: "transport/nats", pkg: "./cmd/spade-edge-nats", on: boards},
	}
)

// holds reports whether the limit is one for the target.
func (l limit) holds(t target) bool { return slices.Contains(l.on, t.String()) }

// printSizes builds everything for the targets and prints what it weighs. For those in twice it is built again
// elsewhere.
func printSizes(targets, twice []target, fresh bool) error {
	tmp, err := os.MkdirTemp("", "footprint")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	other, cache := filepath.Join(tmp, "another", "checkout"), ""
	if fresh {
		cache = filepath.Join(tmp, "cache")
	}
	if err := copyModule(other); err != nil {
		return err
	}
	var errs []error
	weighed := func(dir, pkg string, t target) int64 {
		again := dir == "" && slices.Contains(twice, t) // the other checkout is of the root module alone
		size, err := weigh(tmp, cmp.Or(dir, "."), other, pkg, t, again, cache)
		errs = append(errs, err)
		return size
	}
	fmt.Printf("%-20s %10s %10s  %s\n", "target", "bytes", "limit", "what")
	row := func(t target, bytes, most int64, what string) {
		bound := "-"
		if most > 0 {
			bound = fmt.Sprint(most)
		}
		fmt.Printf("%-20s %10d %10s  %s\n", t, bytes, bound, what)
		if most > 0 && bytes > most {
			errs = append(errs, fmt.Errorf("%s for %s: %d bytes, want at most %d", what, t, bytes, most))
		}
	}
	for i, l := range limits {
		for _, t := range targets {
			if i > 0 && !l.holds(t) {
				continue
			}
			bytes, most := weighed(l.dir, l.pkg, t), int64(0)
			if l.over != "" {
				bytes -= weighed(l.dir, l.over, t)
			}
			if l.holds(t) {
				most = l.bytes
			}
			row(t, bytes, most, l.what)
		}
	}
	return errors.Join(errs...)
}

// weigh builds a package of the module in dir and returns its length; if twice, then in another directory too, and it
// is an error if the two differ.
func weigh(tmp, dir, other, pkg string, t target, twice bool, cache string) (int64, error) {
	a, b := filepath.Join(tmp, "a"), filepath.Join(tmp, "b")
	if err := build(dir, pkg, t, a, "", true); err != nil {
		return 0, err
	}
	size, sum, err := sumOf(a)
	if err != nil || !twice {
		return size, err
	}
	if err := build(other, pkg, t, b, cache, true); err != nil {
		return size, err
	}
	if _, again, err := sumOf(b); err != nil || again != sum {
		return size, errors.Join(err,
			fmt.Errorf("%s for %s: two builds differ, SHA-256 %x and %x", pkg, t, sum[:8], again[:8]))
	}
	return size, nil
}
