package lab

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"

	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// maxRuns bounds the runs of one sweep.
const maxRuns = 10_000

// seedList is the value of -seeds: numbers and ranges such as 1..5, separated by commas.
type seedList []uint64

func (l *seedList) String() string { return "" }

func (l *seedList) Set(s string) error {
	*l = nil
	for _, part := range strings.Split(s, ",") {
		first, last, ranged := strings.Cut(part, "..")
		if !ranged {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 64)
		to, err2 := strconv.ParseUint(last, 10, 64)
		if err1 != nil || err2 != nil || to < from || to-from >= maxRuns {
			return fmt.Errorf("%q, want numbers and ranges such as 1..5, separated by commas", part)
		}
		for n := from; n-from <= to-from; n++ {
			if slices.Contains(*l, n) {
				return fmt.Errorf("%d is there twice", n)
			}
			*l = append(*l, n)
			if n == math.MaxUint64 {
				break
			}
		}
	}
	return nil
}

// outputs are the files that simulate writes besides what it prints; empty for none.
type outputs struct {
	csv, save string
	force     bool
}

func (w *outputs) register(c *cli.Cmdline) {
	c.StringVar(&w.csv, "out", "", "write a `file` of CSV with a row for each run")
	c.StringVar(&w.save, "save", "", "write the model of node-0 to a model `file` for predict and evaluate: that of the first "+
		"seed at the last epsilon")
	c.BoolVar(&w.force, "force", false, "overwrite what is there")
}

// check reports what would keep the files from being written at the end.
func (w *outputs) check(f *cli.Faults) {
	var seen []string
	for _, o := range []struct{ flag, path string }{{"out", w.csv}, {"save", w.save}} {
		if o.path == "" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(o.path)); err != nil || !info.IsDir() {
			f.Add("-%s: there is no folder %s", o.flag, filepath.Dir(o.path))
		}
		info, err := os.Lstat(o.path)
		f.When(err == nil && info.IsDir(), "-%s %s is a folder, want a name for a file", o.flag, o.path)
		f.When(err == nil && !info.IsDir() && !w.force, "-%s: %s is there already: -force overwrites it", o.flag, o.path)
		f.When(slices.Contains(seen, filepath.Clean(o.path)), "-%s: %s is the name of two files", o.flag, o.path)
		seen = append(seen, filepath.Clean(o.path))
	}
}

// sweepRun is one run of a sweep.
type sweepRun struct {
	options setup.Options
	result  *setup.Result
}

// planSweep returns the runs that are asked for, by epsilon and then by seed.
func planSweep(o *setup.Options, seeds []uint64, epsilons []float64) (runs []*sweepRun, err error) {
	seeds = slices.Clone(seeds)
	if seeds == nil {
		seeds = []uint64{o.Asked.Method.Seed}
	}
	if epsilons == nil {
		epsilons = []float64{o.Asked.Privacy.EpsilonLimit}
	}
	if n := len(seeds) * len(epsilons); n > maxRuns {
		return nil, cli.AsUsageError(fmt.Errorf("-seeds and -epsilon make %d runs, want at most %d", n, maxRuns))
	}
	for _, epsilon := range epsilons {
		for _, seed := range seeds {
			run := &sweepRun{options: *o}
			run.options.Asked.Privacy.EpsilonLimit, run.options.Asked.Method.Seed = epsilon, seed
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// simulateAll makes all runs, as many at a time as there are processors, and returns the model for -save. The first
// error ends all. What is said of the run beforehand is that of the first one.
func simulateAll(ctx context.Context, runs []*sweepRun, files *outputs, log io.Writer) (saved *builtin.Model, err error) {
	first, err := cli.Prompt(ctx, func() (*setup.Problem, error) { return runs[0].options.Build("simulate") })
	if err != nil {
		return nil, err
	}
	if len(runs) > 1 {
		fmt.Fprintf(log, "%d runs, %d at a time; of the first one:\n", len(runs), min(runtime.GOMAXPROCS(0), len(runs)))
	}
	first.WriteChosen(log)
	if first.Opt.Asked.Privacy.NonPrivate {
		fmt.Fprintln(log, "NOT PRIVATE: nothing is clipped and no noise is added")
	}
	first.WriteForecast(log)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	show := cli.NewProgress(log, first.Fleet.Method)
	defer show.End()
	var mu sync.Mutex
	share, over := 0.0, 0 // of all rounds of all runs; complete runs
	one := func(run *sweepRun, p *setup.Problem) (err error) {
		if p == nil {
			if p, err = cli.Prompt(ctx, func() (*setup.Problem, error) { return run.options.Build("simulate") }); err != nil {
				return err
			}
		}
		last := p.Fleet.Method.Last()
		r, models, err := simulateNetwork(p, ctx, func(k int, models [][]float32) {
			if len(runs) == 1 {
				show.Round(k, "average model "+p.Worth(setup.Mean(models), 2))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			share += 1 / float64(last*len(runs))
			if k == last {
				over++
			}
			show.Runs(share, over, len(runs))
		})
		if err != nil {
			return err
		}
		run.result = r
		if files.save != "" && run.savedBy(runs) {
			saved, err = modelFile(p, models[0])
		}
		return err
	}
	next, work := 0, sync.WaitGroup{}
	take := func() (i int) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1
	}
	for range min(runtime.GOMAXPROCS(0), len(runs)) {
		work.Go(func() {
			for i := take(); i < len(runs) && ctx.Err() == nil; i = take() {
				p := first
				if i > 0 {
					p = nil
				}
				if err := one(runs[i], p); err != nil {
					cancel(err)
				}
			}
		})
	}
	work.Wait()
	return saved, context.Cause(ctx)
}

// savedBy reports whether -save takes the run's model: that of the first seed at the last epsilon.
func (r *sweepRun) savedBy(runs []*sweepRun) bool {
	return r.options.Asked.Method.Seed == runs[0].options.Asked.Method.Seed && r.options.Asked.Privacy.EpsilonLimit == runs[len(runs)-1].options.Asked.Privacy.EpsilonLimit
}

// modelFile returns a member's final model as export writes it. It says that nothing is private: the noise of a
// simulation comes from its seed, and the preprocessing was fitted on everybody's data.
func modelFile(p *setup.Problem, model []float32) (*builtin.Model, error) {
	recipe := p.Opt.Recipe
	source, where, _ := strings.Cut(p.Opt.Spec.Source, ":")
	words := strings.ToValidUTF8("the training part of "+source+" "+filepath.Base(where)+", in a simulation", "?")
	if p.Opt.Files != nil {
		words = fmt.Sprintf("the training parts of %d files, in a simulation", len(p.Opt.Files))
	}
	if task.CheckFittedOn(words) != nil {
		words = "the training part of the data of a simulation"
	}
	if recipe == nil {
		var err error
		if recipe, err = p.Set.Recipe(p.Opt.ModelSpec(), words); err != nil {
			return nil, err
		}
	}
	last := p.Fleet.Method.Last()
	return &builtin.Model{
		Run: p.Fleet.Run, Fleet: p.Fleet.Hash(), Member: p.Fleet.Members[0], Round: last, Rounds: last, NonPrivate: true,
		Task: recipe, Weights: model,
	}, nil
}

// write writes the files that are asked for.
func (w *outputs) write(runs []*sweepRun, saved *builtin.Model) error {
	var all []cli.Written
	if w.csv != "" {
		all = append(all, cli.Written{Path: w.csv, Content: rowsOf(runs)})
	}
	if w.save != "" {
		text, err := saved.Marshal()
		if err != nil {
			return err
		}
		all = append(all, cli.Written{Path: w.save, Content: text})
	}
	return cli.WriteAll(all, w.force)
}

// sweepConflicts reports flags of a sweep that exclude each other.
func sweepConflicts(o *setup.Options, f *cli.Faults, seeds seedList, epsilons []float64) {
	f.When(o.Given["seed"] && seeds != nil, "-seed and -seeds exclude each other")
	for _, epsilon := range epsilons[min(1, len(epsilons)):] { // the first one is checked with the other flags
		f.When(!(epsilon >= 1e-9 && epsilon <= 1e9), "-epsilon has %v, want 1e-9..1e9", epsilon)
	}
}
