package lab

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Simulate is the command that runs a whole network in this process.
func Simulate(ctx context.Context, c *cli.Cmdline) error {
	o := setup.NewOptions(c)
	o.Spec.Source, o.Nodes, o.Graph, o.Partition = "synthetic:clinical", 50, "er:0.3", "iid"
	var epsilons []float64
	o.Several = &epsilons
	var seeds []uint64
	c.Func("seeds", "several `seeds`, such as 1..5 or 1,3,8, in place of -seed: a run for each, and for each of several "+
		"values of -epsilon", func(text string) (err error) {
		seeds, err = readSeeds(text)
		return err
	})
	path := c.String("save", "", "write the model of node-0 to a model `file` for predict and evaluate: that of the first "+
		"seed at the last epsilon")
	force := c.Bool("force", false, "overwrite what is there")
	if err := o.Read(c); err != nil {
		return err
	}
	var f cli.Faults
	f.When(o.Given["seed"] && seeds != nil, "-seed and -seeds exclude each other")
	for _, epsilon := range epsilons[min(1, len(epsilons)):] { // the first one is checked with the other flags
		f.When(!(epsilon >= 1e-9 && epsilon <= 1e9), "-epsilon has %v, want 1e-9..1e9", epsilon)
	}
	if *path != "" { // nothing runs in vain
		info, err := os.Stat(filepath.Dir(*path))
		f.When(err != nil || !info.IsDir(), "-save: there is no folder %s", filepath.Dir(*path))
		f.Taken(*path, *force)
	}
	if seeds == nil {
		seeds = []uint64{o.Asked.Method.Seed}
	}
	if epsilons == nil {
		epsilons = []float64{o.Asked.Privacy.EpsilonLimit}
	}
	f.When(len(seeds)*len(epsilons) > maxRuns, "-seeds and -epsilon make %d runs, want at most %d", len(seeds)*len(epsilons), maxRuns)
	if err := f.Usage(); err != nil {
		return err
	}
	var runs []setup.Options // by epsilon, and then by seed
	for _, epsilon := range epsilons {
		for _, seed := range seeds {
			run := o
			run.Asked.Privacy.EpsilonLimit, run.Asked.Method.Seed = epsilon, seed
			runs = append(runs, run)
		}
	}
	began, save := time.Now(), -1
	if *path != "" {
		save = len(runs) - len(seeds) // the first seed at the last epsilon
	}
	results, saved, err := simulateAll(ctx, runs, save, c.Log)
	if err != nil {
		return err
	}
	if saved != nil {
		text, err := saved.Marshal()
		if err != nil {
			return err
		}
		if err := cli.WriteAll([]cli.Written{{Path: *path, Content: text}}, *force); err != nil {
			return err
		}
	}
	if len(runs) > 1 {
		s := newSweep(results, epsilons, began)
		return c.Print(s, s.write)
	}
	r := results[0]
	return c.Print(r, func(t cli.Table) {
		r.WriteWorth(t)
		t.Row("consensus error", "%.3g, mean squared distance from the average model", r.ConsensusError)
		t.Row("cost", "%d losses, %d numbers (%s) sent, %.1f s", r.Queries, r.ScalarsSent, cli.BytesText(r.BytesSent), r.Seconds)
		r.WritePrivacy(t)
		t.Row("transcript", "%s", r.Transcript)
	})
}

// simulateNetwork runs the problem on as many goroutines as there are processors, and returns the final models too. each is
// called after each round, with the models then; a round is scored while the next one runs.
func simulateNetwork(p *setup.Problem, ctx context.Context, each func(k int, models [][]float32)) (*setup.Result, [][]float32, error) {
	cfgs, err := p.Fleet.Machines(p.Samples, func(i int) io.Reader {
		s := rng.New(p.Opt.Asked.Method.Seed, rng.Address{Purpose: rng.Noise, Client: uint32(i)})
		return &s
	})
	if err != nil {
		return nil, nil, err
	}
	network, err := p.Network(cfgs, p.Oracles...)
	if err != nil {
		return nil, nil, err
	}
	r := p.NewResult(true)
	network.Meter = func() func(*admm.Message) (int, error) { return setup.Meter(p.Fleet.Dim) }
	// A simulation can do without the last words, which are all of one length.
	done, err := setup.Meter(p.Fleet.Dim)(&admm.Message{Kind: admm.Done, Round: p.Fleet.Method.Last()})
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	var shown sync.WaitGroup
	err = network.Run(ctx, func(k int) error {
		models := network.Models()
		shown.Wait()
		shown.Go(func() { each(k, models) })
		return nil
	})
	shown.Wait()
	if err != nil {
		return nil, nil, err
	}
	r.BytesSent = 2*int64(len(p.Fleet.Edges))*int64(done) + network.Weight()
	r.Seconds = time.Since(start).Seconds()
	r.Queries, _ = network.Queries()
	r.Transcript = network.Transcript()
	models := network.Models()
	if _, err = r.Score(p, models, network.Averages()); err == nil {
		r.Files, err = p.JudgeFiles(models)
	}
	return r, models, err
}
