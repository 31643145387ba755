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
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Simulate is the command that simulates a whole network in this process.
func Simulate(ctx context.Context, c *cli.Cmdline) error {
	o := setup.NewOptions(c)
	o.Spec.Source, o.Nodes, o.Graph, o.Partition = "synthetic:clinical", 50, "er:0.3", "iid"
	var seeds []uint64
	c.Func("seeds", "several `seeds`, such as 1..5 or 1,3,8, in place of -seed: a run for each", func(text string) (err error) {
		seeds, err = readSeeds(text)
		return err
	})
	path := c.String("save", "", "write the model of node-0 to a model `file` for predict and evaluate: that of the first seed")
	curves := c.String("csv", "", "write the curve of each run to a CSV `file`: accuracy or RMSE of the average model, consensus "+
		"error and bytes after each round")
	force := c.Bool("force", false, "overwrite an existing file")
	test := c.String("test", "", "csv: own test `files`, one for all clients or one for each file of -data, in place of -test-fraction")
	if err := o.Read(c); err != nil {
		return err
	}
	var f cli.Faults
	if o.Given["test"] {
		o.ReadTests(&f, *test)
	}
	f.When(o.Given["seed"] && seeds != nil, "-seed and -seeds cannot be combined")
	checkFiles(&f, *path, *curves, *force)
	if seeds == nil {
		seeds = []uint64{o.Asked.Method.Seed}
	}
	f.When(len(seeds) > maxRuns, "-seeds give %d runs, want at most %d", len(seeds), maxRuns)
	if err := f.Usage(); err != nil {
		return err
	}
	o.Curve = *curves != "" || c.JSON && len(seeds) == 1
	o.Once, o.TestOnce = new(task.Once), new(task.Once)
	runs := make([]setup.Options, len(seeds))
	for i, seed := range seeds {
		runs[i] = o
		runs[i].Asked.Method.Seed = seed
	}
	began := time.Now()
	results, saved, err := simulateAll(ctx, runs, *path != "", c.Log)
	if err != nil {
		return err
	}
	files := slices.DeleteFunc([]cli.Written{{Path: *path, Content: saved}, {Path: *curves, Content: curvesOf(runs, results)}},
		func(f cli.Written) bool { return f.Path == "" })
	if err := cli.WriteAll(files, *force); err != nil {
		return err
	}
	if len(runs) > 1 {
		s := newSweep(results, o.Asked.Privacy.EpsilonLimit, began)
		return c.Print(s, s.write)
	}
	r := results[0]
	return c.Print(r, func(t cli.Table) {
		r.WriteWorth(t)
		t.Row("consensus error", "%.3g, mean squared distance from the average model", r.ConsensusError)
		t.Row("cost", "%d losses, %d numbers (%s) sent, %.1f s", r.Queries, r.ScalarsSent, cli.BytesText(r.BytesSent), r.Seconds)
		r.Privacy.Write(t, r.Rounds, true)
		t.Row("transcript", "%s", r.Transcript)
	})
}

// checkFiles reports, before the runs, files that could not be written after them.
func checkFiles(f *cli.Faults, model, curves string, force bool) {
	for _, file := range []struct{ flag, path string }{{"-save", model}, {"-csv", curves}} {
		if file.path != "" {
			info, err := os.Stat(filepath.Dir(file.path))
			f.When(err != nil || !info.IsDir(), "%s: folder %s does not exist", file.flag, filepath.Dir(file.path))
			f.Taken(file.path, force)
		}
	}
	f.When(model != "" && model == curves, "-save and -csv name the same file, %s", model)
}

// simulateNetwork trains the models of the problem's fleet on all processors. It returns the result and the final
// models. After each round k, it calls each(k, models); models returns the models of this round, only during the call.
func simulateNetwork(p *setup.Problem, ctx context.Context, each func(k int, models func() [][]float32)) (*setup.Result, [][]float32, error) {
	cfgs, err := sim.Machines(p.Plan, p.Samples, func(i int) io.Reader {
		s := rng.New(p.Opt.Asked.Method.Seed, rng.Address{Purpose: rng.Noise, Client: uint32(i)})
		return &s
	})
	if err != nil {
		return nil, nil, err
	}
	clients := make([]sim.Client, len(cfgs))
	for i, c := range cfgs {
		clients[i] = sim.Client{Config: c, Oracle: p.Oracles[i]}
	}
	network, err := sim.New(clients)
	if err != nil {
		return nil, nil, err
	}
	r := p.NewResult(true)
	network.Meter = func() func(*admm.Message) (int, error) { return meter(p.Fleet.Dim) }
	// A simulation does not exchange completion messages. All of these messages have the same length, so it is enough
	// to measure one here.
	done, err := meter(p.Fleet.Dim)(&admm.Message{Kind: admm.Done, Round: p.Fleet.Method.Last()})
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	err = network.Run(ctx, func(k int) error {
		if p.Opt.Curve {
			r.Curve = append(r.Curve, point(p, k, modelsOf(p.Fleet, network), network.Weight()))
		}
		each(k, func() [][]float32 { return modelsOf(p.Fleet, network) })
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	r.BytesSent = 2*int64(len(p.Fleet.Edges))*int64(done) + network.Weight()
	r.Seconds = time.Since(start).Seconds()
	r.Queries, _ = network.Queries()
	r.Transcript = network.Transcript()
	models := modelsOf(p.Fleet, network)
	if _, err = r.SetScore(p, models); err == nil {
		r.Files, err = p.JudgeFiles(models)
	}
	return r, models, err
}

// modelsOf returns the models of the latest releases.
func modelsOf(f *sdk.Fleet, network *sim.Sim) [][]float32 {
	models := network.Models()
	for i, x := range models {
		models[i] = f.Model(x, network.Round())
	}
	return models
}

const maxRuns = 10_000

// readSeeds parses numbers and ranges such as 1..5, separated by commas.
func readSeeds(text string) (seeds []uint64, err error) {
	for _, part := range strings.Split(text, ",") {
		first, last, ranged := strings.Cut(part, "..")
		if !ranged {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 64)
		to, err2 := strconv.ParseUint(last, 10, 64)
		if err1 != nil || err2 != nil || to < from || to-from >= maxRuns {
			return nil, fmt.Errorf("found %q, want numbers and ranges such as 1..5, separated by commas", part)
		}
		for i := range to - from + 1 {
			if slices.Contains(seeds, from+i) {
				return nil, fmt.Errorf("%d is given twice", from+i)
			}
			seeds = append(seeds, from+i)
		}
	}
	return seeds, nil
}

// simulateAll performs all runs in parallel and returns their results. If save is true, it also returns the model file of
// the first run. The first error stops all runs.
func simulateAll(ctx context.Context, runs []setup.Options, save bool, log io.Writer) (results []*setup.Result, saved []byte, err error) {
	build := func(i int) (*setup.Problem, error) {
		return cli.Prompt(ctx, func() (*setup.Problem, error) { return runs[i].Build("simulate") })
	}
	first, err := build(0)
	if err != nil {
		return nil, nil, err
	}
	if len(runs) > 1 {
		fmt.Fprintf(log, "%d runs, %d at a time; of the first one:\n", len(runs), min(runtime.GOMAXPROCS(0), len(runs)))
	}
	first.WriteBeginning(log)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	show := cli.NewProgress(log, first.Fleet.Method)
	var mu sync.Mutex
	share, over := 0.0, 0 // share of all rounds; number of completed runs
	one := func(i int) error {
		p := first
		if i > 0 {
			var err error
			if p, err = build(i); err != nil {
				return err
			}
		}
		last := p.Fleet.Method.Last()
		r, models, err := simulateNetwork(p, ctx, func(k int, models func() [][]float32) {
			if len(runs) == 1 {
				show.Round(k, func() string { return "average model " + p.Worth(setup.Mean(models()), 2) })
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
		if results[i] = r; err == nil && save && i == 0 {
			saved, err = modelFile(p, models[0])
		}
		return err
	}
	results = make([]*setup.Result, len(runs))
	setup.Each(len(runs), func(i int) {
		if ctx.Err() != nil {
			return
		}
		if err := one(i); err != nil {
			cancel(err)
		}
	})
	return results, saved, context.Cause(ctx)
}

// modelFile returns a member's final model in the format that the export command writes. The model is marked as not
// private, because its noise is derived from the seed and its preprocessing from the data of all clients.
func modelFile(p *setup.Problem, model []float32) ([]byte, error) {
	recipe, err := p.Recipe("the training part of the data of a simulation")
	if err != nil {
		return nil, err
	}
	last := p.Fleet.Method.Last()
	return (&builtin.Model{
		Run: p.Fleet.Run, Fleet: p.Fleet.Hash(), Member: p.Fleet.Members[0], Round: last, Rounds: last, NonPrivate: true,
		Task: recipe, Weights: model,
	}).Marshal()
}

// Sweep is the result of a simulate command with several seeds, printed as text or JSON. A run's score is the mean over its
// clients.
type Sweep struct {
	Measure score.Measure `json:"measure"` // of the scores
	Epsilon *float64      `json:"epsilon"` // null if not requested
	Mean    float64       `json:"mean"`
	SD      float64       `json:"sd"` // sample standard deviation
	Worst   float64       `json:"worst"`
	// WorstClient is the worst score of any client in any run.
	WorstClient float64         `json:"worst_client"`
	Runs        []*setup.Result `json:"runs"` // in the order of the seeds
	Seconds     float64         `json:"seconds"`
}

// newSweep summarizes the results of at least two runs.
func newSweep(results []*setup.Result, epsilon float64, began time.Time) *Sweep {
	s := &Sweep{Measure: results[0].Score.Measure, Runs: results, Seconds: time.Since(began).Seconds()}
	if r := results[0]; !r.NonPrivate && r.Chosen["sigma"] != nil {
		s.Epsilon = &epsilon
	}
	var means, clients []float64
	for _, r := range results {
		means, clients = append(means, r.Score.Mean), append(clients, r.Score.Worst)
	}
	s.Mean, s.Worst, s.WorstClient = setup.Average(means), s.Measure.Worst(means), s.Measure.Worst(clients)
	for _, x := range means {
		s.SD += float64((x - s.Mean) * (x - s.Mean))
	}
	s.SD = math.Sqrt(s.SD / float64(len(means)-1))
	return s
}

func (s *Sweep) write(t cli.Table) {
	first := s.Runs[0]
	worst, constant := first.Score.Words()
	say := func(value float64) string { return s.Measure.Text(value, 2) }
	epsilon := "-"
	if s.Epsilon != nil {
		epsilon = fmt.Sprint(*s.Epsilon)
	}
	fmt.Fprintf(t, "%-10s %6s %14s %10s %12s %14s\n", "epsilon", "runs", "mean "+s.Measure.Name(), "sd", worst, worst+" client")
	fmt.Fprintf(t, "%-10s %6d %14s %10s %12s %14s\n", epsilon, len(s.Runs), say(s.Mean), say(s.SD), say(s.Worst), say(s.WorstClient))
	fmt.Fprintf(t, "\nalways saying %s: %s (seed %d)\n", constant, say(first.Score.Constant), first.Seed)
	note := "simulated: the noise came from the seeds, and protects nobody's data"
	if first.NonPrivate {
		note = "NOT PRIVATE: nothing was clipped and no noise was added"
	}
	t.Row("privacy", "%s", note)
	t.Row("cost", "%d runs, %.1f s", len(s.Runs), s.Seconds)
}
