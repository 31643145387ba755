// Command paper computes the tables and figures of the paper's experiments on real data. README.md explains them.
//
//	go run . COMMAND [-data DIR] [-seeds 30] [-out DIR]
//
//	quick      Table II without noise, with the paper's values beside it, in ten minutes: five seeds, three data sets
//	tune       search for the parameters of every method (settings.json, trials.csv)
//	table2     Table II without noise, private, and with free queries
//	table3     Tables III and IV, which share their runs
//	table4     the same as table3
//	longer     SPADE-DFL with more rounds
//	figures    accuracy over rounds, comparisons after every round, the ring of a thousand clients
//	tradeoff   the effect of communication
//	hospitals  four real hospitals, each one client
//	patients   the same hospitals, protecting each patient instead of each hospital
//	records    SPADE-DFL and its rivals at record-level privacy
//	flamby     FLamby's tables Fed-Heart and Fed-TCGA-BRCA on FLamby's own split, with ten seeds
//	adapter    a frozen network adapted to noisy digits: SPADE-DFL, averaging, and methods that send only scalars
//	scale      time and memory of a round as networks, models and data grow; with -small, three sizes of each
//	versus     the same job with the SDK and with a plain numpy program
//	all        all of the above except flamby, adapter, scale and versus; it also searches for missing settings
//	report     the tables and figures for the existing runs
//	compare    SPADE-DFL and its rivals on your own data: go run . compare -h
//
// Each run is stored as soon as it is complete, and is not repeated. Runs, tables and figures go to the folder given
// with -out, which only one process may use at a time; git ignores the default folder. The folder results contains the
// output of a complete computation, without the runs.
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
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/adapt"
	"github.com/spade-dfl/spade-edge/examples/paper/compare"
	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
	"github.com/spade-dfl/spade-edge/examples/paper/flamby"
	"github.com/spade-dfl/spade-edge/examples/paper/hospitals"
	"github.com/spade-dfl/spade-edge/examples/paper/records"
	"github.com/spade-dfl/spade-edge/examples/paper/report"
	"github.com/spade-dfl/spade-edge/examples/paper/ring"
	"github.com/spade-dfl/spade-edge/examples/paper/scale"
	"github.com/spade-dfl/spade-edge/examples/paper/tradeoff"
	"github.com/spade-dfl/spade-edge/examples/paper/versus"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "paper:", err)
		os.Exit(1)
	}
}

// commands maps each command to the comparisons whose runs it needs.
var commands = map[string][]string{
	"quick": {experiment.EqualQueries},
	"table2": {experiment.EqualQueries, experiment.Private8, experiment.Private32, experiment.FreeQueries,
		experiment.PrivateFree},
	"table3":    {experiment.Sensitivity, experiment.Validation},
	"table4":    {experiment.Sensitivity, experiment.Validation},
	"figures":   {experiment.EqualQueries},
	"tradeoff":  nil,
	"hospitals": nil,
	"patients":  nil,
	"records":   nil,
	"flamby":    nil,
	"adapter":   nil,
	"all":       experiment.Tables,
	"tune":      experiment.Tables,
	"longer":    {experiment.Longer},
	"report":    nil,
	"scale":     nil,
	"versus":    nil,
}

const usage = "usage: go run . quick|tune|table2|table3|table4|figures|tradeoff|hospitals|patients|records|flamby|adapter|longer|scale|versus|all|report|" +
	"compare [flags]"

func run(ctx context.Context, args []string, stdout, log io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	command := args[0]
	if command == "compare" {
		return compare.Run(ctx, args[1:], stdout, log)
	}
	tables, known := commands[command]
	if !known {
		return fmt.Errorf("%q: %s", command, usage)
	}
	fl := flag.NewFlagSet("paper "+command, flag.ContinueOnError)
	fl.SetOutput(log)
	dir := fl.String("data", filepath.FromSlash("../../../shared/data"), "`folder` of the data sets")
	seeds := fl.Int("seeds", 30, "number of runs of every cell, with seeds from 1")
	out := fl.String("out", "out", "`folder` for runs, tables and figures")
	settingsPath := fl.String("settings", "settings.json", "`file` of the methods' parameters")
	sets := fl.String("datasets", strings.Join(data.Names, ","), "which data sets, separated by commas")
	only := fl.String("only", "", "which comparisons, separated by commas: "+strings.Join(experiment.Tables, ", "))
	methods := fl.String("methods", "", "which methods, separated by commas; all if empty")
	clients := fl.Int("clients", 0, "only comparisons with this number of clients; 0: all")
	small := fl.Bool("small", false, "scale: only the small sizes")
	point := fl.String("point", "", "scale and versus: make one run in this process, given as `JSON`")
	if err := fl.Parse(args[1:]); err != nil {
		return err
	}
	switch {
	case command == "scale" && *point != "":
		return scale.One(ctx, *point, stdout)
	case command == "scale":
		return scale.Run(ctx, filepath.Join(*out, "scale"), *small, log, "scale", "-point")
	case command == "versus" && *point != "":
		return versus.One(ctx, *point, stdout)
	case command == "versus":
		return versus.Run(ctx, *dir, filepath.Join(*out, "versus"), log, "versus", "-point")
	}
	if *seeds < 1 || *seeds > 1000 {
		return fmt.Errorf("-seeds is %d, want 1..1000", *seeds)
	}
	given := map[string]bool{}
	fl.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if command == "adapter" {
		if !given["data"] { // the package then reads MNIST from a Go module
			*dir = ""
		}
		if !given["seeds"] {
			*seeds = 3
		}
		return adapt.Run(ctx, *dir, filepath.Join(*out, "adapter"), *seeds, log)
	}
	if command == "flamby" {
		if !given["seeds"] {
			*seeds = 10
		}
		usual := filepath.FromSlash("../hospital/agreed.csv")
		return flamby.Run(ctx, *dir, filepath.FromSlash("../.."), usual, filepath.Join(*out, "flamby"), *seeds, log)
	}
	if command == "quick" {
		*out = filepath.Join(*out, "quick")
		if !given["seeds"] {
			*seeds = 5
		}
		if !given["datasets"] { // by default without Brain Tumor, whose features differ from the paper's
			*sets = "mnist,fashion,alzheimers"
		}
	}
	names := strings.Split(*sets, ",")
	for _, name := range names {
		if !slices.Contains(data.Names, name) {
			return fmt.Errorf("-datasets: unknown data set %q, want names from %v", name, data.Names)
		}
	}
	if *only != "" {
		tables = strings.Split(*only, ",")
		for _, t := range tables {
			if !slices.Contains(experiment.Tables, t) {
				return fmt.Errorf("-only: unknown comparison %q, want names from %v", t, experiment.Tables)
			}
		}
	}
	chosen := strings.Split(*methods, ",")
	for _, name := range chosen {
		known := *methods == ""
		for _, m := range experiment.Methods() {
			known = known || m.Name() == name
		}
		if !known {
			return fmt.Errorf("-methods: unknown method %q", name)
		}
	}
	settings, err := experiment.ReadSettings(*settingsPath)
	if err != nil {
		return err
	}
	store, err := experiment.NewStore(*out, experiment.NewSession(*seeds))
	if err != nil {
		return err
	}
	lab := experiment.NewLab(*dir)
	jobs := experiment.Plan(tables, names, *seeds)
	if *methods != "" {
		jobs = slices.DeleteFunc(jobs, func(j experiment.Job) bool { return !slices.Contains(chosen, j.Method) })
	}
	if command == "quick" {
		// Copy the ceilings (the accuracies of models trained on all data in one place) from the committed results. The
		// splits are the same, and computing the ceilings would take longer than all runs.
		if known, err := os.ReadFile(filepath.FromSlash("results/ceilings.csv")); err == nil {
			if err := os.WriteFile(filepath.Join(*out, "ceilings.csv"), known, 0o644); err != nil {
				return err
			}
		}
		jobs = slices.DeleteFunc(jobs, func(j experiment.Job) bool { return !inQuick(j) })
	}
	if *clients > 0 {
		jobs = slices.DeleteFunc(jobs, func(j experiment.Job) bool { return j.Clients != *clients })
	}
	if command == "tune" || command == "all" {
		err := lab.Tune(ctx, jobs, settings, *settingsPath, filepath.Join(*out, "trials.csv"), log)
		if err != nil || command == "tune" {
			return err
		}
	}
	if command != "report" {
		if err := lab.Do(ctx, jobs, settings, store, log); err != nil {
			return err
		}
	}
	if len(tables) > 0 || command == "report" {
		if err := report.Write(ctx, lab, settings, store, *out, names, *seeds, log); err != nil {
			return err
		}
		if err := report.Figures(store, *out, names, *seeds); err != nil {
			return err
		}
	}
	if command == "quick" {
		return firstTable(filepath.Join(*out, "table2.md"), stdout)
	}
	if command == "figures" || command == "all" {
		if err := ring.Run(ctx, *dir, filepath.Join(*out, "ring"), *seeds, log); err != nil {
			return err
		}
	}
	if command == "tradeoff" || command == "all" {
		if err := tradeoff.Run(ctx, filepath.Join(*out, "tradeoff"), *seeds, log); err != nil {
			return err
		}
	}
	table, folder := filepath.FromSlash("../hospital"), filepath.Join(*out, "hospitals")
	if command == "hospitals" || command == "all" {
		if err := hospitals.Run(ctx, *dir, table, folder, *seeds, log); err != nil {
			return err
		}
	}
	if command == "patients" || command == "all" {
		if err := hospitals.Records(ctx, *dir, table, folder, *seeds, log); err != nil {
			return err
		}
	}
	if command == "records" || command == "all" {
		return records.Run(ctx, *dir, filepath.Join(*out, "records"), names, *seeds, log)
	}
	return nil
}

// inQuick reports whether a run belongs to the quick table, which has the paper's seven methods and the best form of
// SPADE-DFL, with one fold of the Alzheimer's data per seed.
func inQuick(j experiment.Job) bool {
	ours := j.Method == experiment.PaperForm || j.Method == experiment.TrackingWalsh
	return (ours || !strings.HasPrefix(j.Method, experiment.PaperForm)) && (j.Dataset != "alzheimers" || j.Fold == int(j.Seed)%data.Folds)
}

// firstTable writes the tables under the first heading of the report at path to the given writer.
func firstTable(path string, to io.Writer) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	parts := strings.SplitN(string(text), "\n## ", 3)
	if len(parts) < 2 {
		return fmt.Errorf("%s has no heading", path)
	}
	_, err = fmt.Fprintf(to, "%s\nThe rest is in %s, the figures beside it.\n", strings.TrimRight(parts[1], "\n"), path)
	return err
}
