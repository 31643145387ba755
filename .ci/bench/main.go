package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	ops := flag.String("op", "", "kernels to time, separated by commas (default all)")
	ns := flag.String("n", "", "lengths, separated by commas (default "+fmt.Sprint(sizes)+")")
	rounds := flag.Int("rounds", 15, "samples of each contender, taken in turns; the table shows medians")
	sample := flag.Duration("sample", 2*time.Millisecond, "least duration of a sample")
	all := flag.Bool("page", false, "print the page of all ratios; it takes some minutes")
	check := flag.Bool("gate", false, "compare a few ratios with the committed ones, in a minute, and fail if one is worse")
	only := flag.String("only", "", "with -page, the rows whose name contains this `text`")
	data := flag.String("data", "../../../shared/data/mnist-6-7",
		"with -page, a `folder` with the digits 6 and 7 of MNIST; images of the same sizes are made if it is not there")
	suite := flag.Bool("suite", false, "with -page, time go test ./... as well")
	flag.Parse()
	err := func() error {
		if flag.NArg() > 0 {
			return fmt.Errorf("unexpected argument %q", flag.Arg(0))
		}
		if *check {
			return gate()
		}
		if *all {
			return page(*data, *only, *suite)
		}
		lens := sizes
		if *ns != "" {
			lens = nil
			for _, s := range strings.Split(*ns, ",") {
				n, err := strconv.Atoi(s)
				if err != nil || n < 1 {
					return fmt.Errorf("-n: %q is not a positive number", s)
				}
				lens = append(lens, n)
			}
		}
		fmt.Printf("%s, %s/%s, %s\n\n", cpuName(), runtime.GOOS, runtime.GOARCH, runtime.Version())
		for _, op := range operations {
			if *ops == "" || slices.Contains(strings.Split(*ops, ","), op.name) {
				table(op, lens, *rounds, *sample)
			}
		}
		return nil
	}()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}
