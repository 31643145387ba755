package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

const mb = 1_000_000

// limit is the maximum size, in bytes, of a build for a target.
type limit struct {
	what, pkg, on string
	over          string // package whose size is subtracted from the size of the build; empty for none
	bytes         int64
}

var (
	// programLimits are the promise, on linux/arm/6, and what the same code has on linux/amd64, where it is 5.7 % more.
	programLimits = map[string]int64{"linux/arm/6": 12 * mb, "linux/amd64": 12.68 * mb}

	// embedders lists the limits on how many bytes a node adds to a program. Of what embedws adds, 1.44 MB, 0.09 come with
	// log/slog, 0.07 with making a certificate in crypto/x509, 0.05 with sorts of types of this module and an embedded
	// os.File, and 0.03 with encoding/binary. Of the rest, 1.20 MB, 0.64 are machine code: 0.62 of this module, 0.14 of
	// encoding/json with its sorts, 0.06 of huff0 and fse, 0.05 of others, and less by what only bare uses of net/http and
	// crypto/x509. The runtime's tables of this code take 0.42, types and texts 0.14.
	embedders = []limit{
		{what: "SDK, transport/mem", pkg: "./.ci/footprint/embedmem", on: "linux/amd64", bytes: 4.64 * mb},
		{what: "SDK, transport/ws, sdk/state, on top of TLS, websockets and CBOR", pkg: "./.ci/footprint/embedws",
			over: "./.ci/footprint/bare", on: "linux/amd64", bytes: 1.45 * mb},
	}
)

// printSizes builds the program for the targets. It prints the sizes of the builds, and how many bytes a node adds to a
// program that embeds it. For the targets in the parameter twice, it builds the program again in another directory and
// compares the bytes.
func printSizes(targets, twice []target, fresh bool) error {
	tmp, err := os.MkdirTemp("", "footprint")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	var errs []error
	fmt.Printf("%-20s %10s %10s  %s\n", "target", "bytes", "limit", "what")
	row := func(t target, l limit) {
		bytes, err := weigh(tmp, t, l)
		errs = append(errs, err)
		bound := "-"
		if l.bytes > 0 {
			bound = fmt.Sprint(l.bytes)
			if bytes > l.bytes {
				errs = append(errs, fmt.Errorf("%s for %s has %d bytes, want at most %d", l.what, t, bytes, l.bytes))
			}
		}
		fmt.Printf("%-20s %10d %10s  %s\n", t, bytes, bound, l.what)
	}
	for _, t := range targets {
		row(t, limit{what: "program", pkg: program, bytes: programLimits[t.String()]})
	}
	for _, l := range embedders {
		found, err := parseTargets(l.on)
		if err != nil {
			return err
		}
		row(found[0], l)
	}
	return errors.Join(append(errs, compareBuilds(tmp, twice, fresh))...)
}

func weigh(tmp string, t target, l limit) (int64, error) {
	out := filepath.Join(tmp, "a")
	if err := build(".", l.pkg, t, out, ""); err != nil {
		return 0, err
	}
	size, _, err := sumOf(out)
	if err == nil && l.over != "" {
		var other int64
		other, err = weigh(tmp, t, limit{pkg: l.over})
		size -= other
	}
	return size, err
}

// compareBuilds builds the program for each target, both in this folder and in a copy of the module. It returns an
// error if the bytes differ, except for the build ID, which depends on the source lines that copyModule changes.
func compareBuilds(tmp string, targets []target, fresh bool) error {
	if len(targets) == 0 {
		return nil
	}
	other, cache := filepath.Join(tmp, "another", "checkout"), ""
	if fresh {
		cache = filepath.Join(tmp, "cache")
	}
	if err := copyModule(other); err != nil {
		return err
	}
	for _, t := range targets {
		a, b := filepath.Join(tmp, "a"), filepath.Join(tmp, "b")
		err := errors.Join(build(".", program, t, a, "", "-buildid="), build(other, program, t, b, cache, "-buildid="))
		if err != nil {
			return err
		}
		_, first, errFirst := sumOf(a)
		_, second, errSecond := sumOf(b)
		if err := errors.Join(errFirst, errSecond); err != nil {
			return err
		}
		if !slices.Equal(first[:], second[:]) {
			return fmt.Errorf("%s for %s: two builds differ; their SHA-256 sums begin with %x and %x",
				program, t, first[:8], second[:8])
		}
		fmt.Printf("%-20s the same bytes when built elsewhere\n", t)
	}
	return nil
}
