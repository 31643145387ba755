// Command footprint builds the program for every target with the flags of a release. It checks that the program is
// small and that a second build has the same bytes.
//
//	go run ./.ci/footprint                        builds each target twice and prints a table of sizes and limits
//	go run ./.ci/footprint -twice linux/arm/6     builds all targets, but only this target twice
//	go run ./.ci/footprint -release DIR           writes release builds to DIR and prints their SHA-256 hashes;
//	                                              -targets selects the targets
//	go run ./.ci/footprint -linked                compares the packages that an embedder links with linked.txt;
//	                                              -update rewrites linked.txt
//	go run ./.ci/footprint -memory                measures the memory, start time and wake-ups of an idle node
//
// Run it from the root of the module. Sizes are in bytes; a MB is a million bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	release := flag.String("release", "", "make release builds into this `directory`, and nothing else")
	flag.StringVar(&stamp, "stamp", "", "with -release: `version` and commit that the programs print")
	linked := flag.Bool("linked", false, "check the packages that an embedder links")
	update := flag.Bool("update", false, "with -linked: write them to the list")
	memory := flag.Bool("memory", false, "measure an idle node")
	seconds := flag.Int("seconds", 10, "how long -memory measures the node")
	which := flag.String("targets", "",
		"comma-separated `list` of targets, such as linux/arm/6,darwin/arm64 (default all)")
	twice := flag.String("twice", "", "comma-separated `list` of targets that are built twice (default all)")
	fresh := flag.Bool("fresh", false, "make the second build with an empty cache, so that it also builds the standard library")
	flag.Parse()
	err := func() error {
		if flag.NArg() > 0 {
			return fmt.Errorf("unexpected argument %q", flag.Arg(0))
		}
		targets, err := parseTargets(*which)
		switch {
		case err != nil:
			return err
		case *release != "":
			return makeRelease(*release, targets)
		case *linked:
			return checkLinked(*update)
		case *memory:
			return measureIdle(*seconds)
		}
		again, err := parseTargets(*twice)
		if err != nil {
			return err
		}
		return printSizes(targets, again, *fresh)
	}()
	if err != nil {
		fmt.Fprintf(os.Stderr, "footprint: %s\n", strings.ReplaceAll(err.Error(), "\n", "\nfootprint: "))
		os.Exit(1)
	}
}
