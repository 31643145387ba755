package compare

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
)

// options holds the flags, which have the same names as the flags of "spade-edge simulate".
type options struct {
	spec           task.Spec
	files          []string // one per client; nil if the clients share the samples of one source
	partition      task.Partition
	nodes, rounds  int
	graph          string
	epsilon, delta float64
	nonPrivate     bool
	colluders      int
	seeds          []uint64
	trials         int
	out            string
}

func parse(args []string, log io.Writer) (*options, error) {
	o := new(options)
	fl := flag.NewFlagSet("paper compare", flag.ContinueOnError)
	fl.SetOutput(log)
	fl.StringVar(&o.spec.Source, "data", "synthetic:clinical", "the `source` of samples: csv:FILE, idx:DIR or "+
		"synthetic:clinical; csv: also several files, separated by commas or with a star in the name, one per client")
	fl.StringVar(&o.spec.Label, "label", "", "csv: the `column` that holds the class")
	drop := fl.String("drop", "", "csv: `columns` to leave out, separated by commas")
	onehot := fl.String("onehot", "", "csv: `columns` of categories, separated by commas")
	labels := fl.String("labels", "", "`classes` to keep, separated by commas (default all)")
	fl.StringVar(&o.spec.Missing, "missing", "", "csv: how to replace missing cells: mean, median, indicator or drop")
	fl.IntVar(&o.spec.PCA, "pca", 0, "project on this many principal components (0 = none)")
	fl.Float64Var(&o.spec.TestFraction, "test-fraction", 0.2, "`share` of samples to test on")
	partition := fl.String("partition", "iid", "who has which samples: iid, dirichlet:A, dirichlet:A,unbalanced or pathological:S")
	fl.IntVar(&o.nodes, "nodes", 50, "number of clients")
	fl.StringVar(&o.graph, "graph", "er:0.3", "who talks to whom: ring, complete, star, path, grid:RxC, er:P, regular:K or file:F")
	fl.IntVar(&o.rounds, "rounds", 50, "rounds of learning")
	fl.Float64Var(&o.epsilon, "epsilon", 8, "privacy budget of each client for the whole run")
	fl.Float64Var(&o.delta, "delta", 1e-5, "the delta at which epsilon is stated")
	fl.BoolVar(&o.nonPrivate, "non-private", false, "no clipping and no noise")
	fl.IntVar(&o.colluders, "colluders", 0, "also SPADE-DFL with noise that neighbors share, against outsiders and any `c` members")
	seeds := fl.String("seeds", "1..5", "seeds of split, partition, graph and every draw, such as 1..5 or 1,3,8: one run of each method for each seed")
	fl.IntVar(&o.trials, "trials", 20, "number of settings to try for each rival and seed")
	fl.StringVar(&o.out, "out", "", "write a CSV `file` with a row for each run")
	if err := fl.Parse(args); err != nil {
		return nil, err
	}
	var errs []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("compare: "+format, args...))
		}
	}
	fault(fl.NArg() > 0, "unexpected arguments %q: every setting is a flag", fl.Args())
	fault(o.nodes < 2, "-nodes is %d, want at least 2", o.nodes)
	fault(o.rounds < 1, "-rounds is %d, want at least 1", o.rounds)
	fault(!(o.epsilon > 0 && o.epsilon <= 1e9), "-epsilon is %v, want a positive number", o.epsilon)
	fault(!(o.delta > 0 && o.delta < 1), "-delta is %v, want a number above 0 and below 1", o.delta)
	fault(o.nonPrivate && o.colluders != 0, "-non-private and -colluders cannot be combined")
	fault(o.trials < 1 || o.trials > 1000, "-trials is %d, want 1..1000", o.trials)
	fault(o.spec.TestFraction == 0, "-test-fraction is 0, want a share to judge by")
	if o.out != "" {
		_, err := os.Lstat(o.out)
		fault(err == nil, "-out: %s already exists", o.out)
	}
	var err error
	if o.seeds, err = readSeeds(*seeds); err != nil {
		errs = append(errs, err)
	}
	if o.files, err = task.ClientFiles(o.spec.Source); err != nil {
		errs = append(errs, err)
	}
	if o.files != nil {
		given := make(map[string]bool)
		fl.Visit(func(f *flag.Flag) { given[f.Name] = true })
		fault(given["partition"], "-partition cannot be combined with several -data files")
		fault(given["nodes"] && o.nodes != len(o.files), "-nodes is %d, but -data has %d files", o.nodes, len(o.files))
		if o.nodes = len(o.files); !given["graph"] {
			o.graph = "complete"
		}
	}
	if o.partition, err = task.ParsePartition(*partition); err != nil {
		errs = append(errs, err)
	}
	for list, text := range map[*[]string]string{&o.spec.Drop: *drop, &o.spec.OneHot: *onehot, &o.spec.Labels: *labels} {
		if text != "" {
			*list = strings.Split(text, ",")
		}
	}
	return o, errors.Join(append(errs, o.spec.Validate())...)
}

// readSeeds parses a comma-separated list of numbers and ranges such as 1..5. A range may contain at most a thousand
// numbers.
func readSeeds(text string) (seeds []uint64, err error) {
	seen := make(map[uint64]bool)
	for _, part := range strings.Split(text, ",") {
		first, last, ranged := strings.Cut(part, "..")
		if !ranged {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 32)
		to, err2 := strconv.ParseUint(last, 10, 32)
		if err1 != nil || err2 != nil || to < from || to-from >= 1000 {
			return nil, fmt.Errorf("compare: -seeds: found %q, want numbers and ranges such as 1..5, separated by "+
				"commas", part)
		}
		for n := from; n <= to; n++ {
			if seen[n] {
				return nil, fmt.Errorf("compare: -seeds: %d is given twice", n)
			}
			seen[n] = true
			seeds = append(seeds, n)
		}
	}
	return seeds, nil
}
