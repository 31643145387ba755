package compare

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// Run parses flags and performs the comparison. It prints a table to out and progress to log.
func Run(ctx context.Context, args []string, out, log io.Writer) error {
	o, err := parse(args, log)
	if err != nil {
		return err
	}
	all := contenders(!o.nonPrivate, o.colluders)
	results := make([][]result, len(all)) // by contender, then by seed
	for i := range all {
		results[i] = make([]result, len(o.seeds))
	}
	stages := make([]func() ([]stage, error), len(o.seeds))
	for i, seed := range o.seeds {
		stages[i] = sync.OnceValues(func() ([]stage, error) { return o.stages(seed) })
	}
	even := func(int) float64 { return 1 }
	err = sweep.Do(ctx, log, "compare", len(all)*len(o.seeds), even, func(ctx context.Context, i int) (string, error) {
		c, seed := all[i%len(all)], i/len(all)
		on, err := stages[seed]()
		if err != nil {
			return "", err
		}
		r, err := c.run(ctx, &on[0], on[1:], o.trials)
		if err != nil {
			return "", fmt.Errorf("compare: %s, seed %d: %w", c.name, o.seeds[seed], err)
		}
		results[i%len(all)][seed] = r
		return c.name, nil
	})
	if err != nil {
		return err
	}
	if err := o.write(all, results); err != nil {
		return err
	}
	return o.table(out, all, results)
}

type result struct {
	worth
	setting method.Setting
	spent   method.Spent
	losses  float64 // mean number of losses asked for, per sample and round
}

// run trains and scores the contender on one stage (the parameter last). If the contender's settings come from a
// search, this search first tries the given number of trials on other stages (the parameter search).
func (c contender) run(ctx context.Context, last *stage, search []stage, trials int) (r result, err error) {
	if c.searched {
		if r.setting, err = c.search(ctx, search, trials); err != nil {
			return r, err
		}
	}
	models, spent, err := c.models(ctx, last, r.setting)
	if err != nil {
		return r, err
	}
	samples := 0
	for _, client := range last.world.Clients {
		samples += client.Samples
	}
	r.spent, r.losses = spent, float64(spent.Queries)/float64(samples*last.world.Rounds)
	r.worth, err = last.judge(models)
	return r, err
}

func (c contender) models(ctx context.Context, s *stage, setting method.Setting) ([][]float32, method.Spent, error) {
	if c.method == nil {
		models, err := c.hand(ctx, s)
		return models, method.Spent{}, err
	}
	models, spent, err := method.Last(ctx, c.method, s.world, setting)
	if err == nil && c.average {
		models = [][]float32{method.Mean(models)}
	}
	return models, spent, err
}

// search returns the setting with the best mean accuracy. It tries points of a Latin hypercube on the first validation
// set, then the best five points on the other validation sets. The parameter trials is the number of points in the
// hypercube.
func (c contender) search(ctx context.Context, on []stage, trials int) (method.Setting, error) {
	type trial struct {
		setting method.Setting
		sum     float64
	}
	var faults error
	try := func(t *trial, s *stage) error {
		models, _, err := c.models(ctx, s, t.setting)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // the model diverges with this setting
			faults, t.sum = err, math.Inf(-1)
			return nil
		}
		w, err := s.judge(models)
		t.sum += w.accuracy
		return err
	}
	var all []trial
	key := fmt.Sprint(c.name, " ", on[0].world.Seed)
	for _, point := range experiment.Hypercube(c.method.Space(on[0].world), trials, key) {
		all = append(all, trial{setting: point})
	}
	for i := range all {
		if err := try(&all[i], &on[0]); err != nil {
			return nil, err
		}
	}
	better := func(a, b trial) int { return cmp.Compare(b.sum, a.sum) }
	slices.SortStableFunc(all, better)
	all = all[:min(5, len(all))]
	for i := range all {
		for s := range on[1:] {
			if err := try(&all[i], &on[1+s]); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(all, better)
	if math.IsInf(all[0].sum, -1) {
		return nil, fmt.Errorf("no trial completed: %w", faults)
	}
	return all[0].setting, nil
}

func (o *options) write(all []contender, results [][]result) error {
	if o.out == "" {
		return nil
	}
	f, err := os.OpenFile(o.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("compare: -out: %w", err)
	}
	w := csv.NewWriter(f)
	rows := [][]string{{"method", "seed", "accuracy", "auc", "losses", "numbers_sent", "setting"}}
	for i, c := range all {
		for s, r := range results[i] {
			auc := ""
			if !math.IsNaN(r.auc) {
				auc = strconv.FormatFloat(r.auc, 'f', 4, 64)
			}
			rows = append(rows, []string{c.name, strconv.FormatUint(o.seeds[s], 10), strconv.FormatFloat(r.accuracy, 'f', 4, 64),
				auc, strconv.FormatInt(r.spent.Queries, 10), strconv.FormatInt(r.spent.Scalars, 10), r.setting.String()})
		}
	}
	return errors.Join(w.WriteAll(rows), f.Close())
}
