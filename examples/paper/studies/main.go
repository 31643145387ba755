// Command studies computes the two experiments that compare no methods: the ring of a thousand clients (package ring) and what
// communication buys (package tradeoff).
//
//	go run ./studies ring|tradeoff [-data DIR] [-out DIR] [-seeds 30]
//
// What is there already is not computed again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/examples/paper/ring"
	"github.com/spade-dfl/spade-edge/examples/paper/tradeoff"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "studies:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, log io.Writer) error {
	const usage = "usage: go run ./studies ring|tradeoff [flags]"
	if len(args) == 0 {
		return errors.New(usage)
	}
	name := args[0]
	fl := flag.NewFlagSet("studies "+name, flag.ContinueOnError)
	fl.SetOutput(log)
	data := fl.String("data", filepath.FromSlash("../../../shared/data"), "`folder` of the data sets (ring)")
	out := fl.String("out", filepath.Join("results", name), "`folder` for the results")
	seeds := fl.Int("seeds", 30, "how many runs of each kind, with seeds from 1")
	if err := fl.Parse(args[1:]); err != nil {
		return err
	}
	if fl.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: %s", fl.Arg(0), usage)
	}
	switch name {
	case "ring":
		return ring.Run(ctx, *data, *out, *seeds, log)
	case "tradeoff":
		return tradeoff.Run(ctx, *out, *seeds, log)
	}
	return fmt.Errorf("%q: %s", name, usage)
}
