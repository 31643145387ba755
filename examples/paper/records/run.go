package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// Parameters of the search. It first runs the points of a Latin hypercube on some seeds, numbered from tuningSeed, and
// then the best points on more seeds.
const (
	trials     = 16
	finalists  = 4
	tuningSeed = 1001
)

// tuning returns the number of seeds on which the search runs every point, and the number of seeds for the finalists.
// MNIST and Brain Tumor need fewer seeds, because they have more than a thousand validation records.
func (s scene) tuning() (first, all int) {
	if s.data == "mnist" || s.data == "brain" {
		return 1, 3
	}
	return 2, 6
}

type cell struct {
	contender
	scene
	epsilon float64 // 0 if the contender ignores epsilon
}

// cells lists the cells for the given data sets.
func cells(sets []string) (list []cell) {
	for _, c := range contenders() {
		where, budgets := scenes, epsilons
		if c.pooled {
			where = curator(scenes)
		}
		if c.silent() {
			budgets = []float64{0}
		}
		for _, s := range where {
			for _, e := range budgets {
				if slices.Contains(sets, s.data) {
					list = append(list, cell{c, s, e})
				}
			}
		}
	}
	return list
}

func (c cell) key() []string {
	return []string{c.data, strconv.Itoa(c.clients), c.name, strconv.FormatFloat(c.epsilon, 'g', -1, 64)}
}

type study struct {
	lab
	runs, tries *sweep.Table
}

// open returns a study that reads data sets from dir and keeps its results in out. It loads the results that are
// already in out.
func open(dir, out string) (*study, error) {
	s := &study{lab: lab{dir: dir, sources: make(map[string]*data.Source)}}
	key := []string{"data", "clients", "method", "epsilon"}
	var err error
	if s.tries, err = sweep.Open(filepath.Join(out, "trials.csv"), 6, append(key, "trial", "seed", "accuracy", "setting")...); err != nil {
		return nil, err
	}
	s.runs, err = sweep.Open(filepath.Join(out, "runs.csv"), 5, append(key, "seed", "accuracy", "losses", "seconds", "setting")...)
	return s, err
}

// Run performs the runs on the given data sets, for every seed from 1 to the value of seeds (at least 2). The data sets
// must be in [data.Names] and in the folder dir. Run searches for missing settings, and writes README.md and cells.csv
// to the folder out. It does not repeat runs whose results are in out.
func Run(ctx context.Context, dir, out string, sets []string, seeds int, log io.Writer) error {
	if seeds < 2 {
		return fmt.Errorf("records: found %d seeds, want at least 2, because a single seed has no standard error",
			seeds)
	}
	s, err := open(dir, out)
	if err != nil {
		return err
	}
	todo := slices.DeleteFunc(cells(sets), func(c cell) bool { return len(s.values(c, seeds)) == c.seeds(seeds) })
	err = sweep.Do(ctx, log, "records", len(todo), func(i int) float64 { return todo[i].cost(seeds) },
		func(ctx context.Context, i int) (string, error) { return s.fill(ctx, todo[i], seeds) })
	return errors.Join(err, s.runs.Sort(), s.tries.Sort(), s.write(out, seeds))
}

func (c cell) cost(seeds int) float64 {
	size := map[string]float64{"alzheimers": 1, "fashion": 0.2, "mnist": 1.5, "brain": 8}[c.data]
	n := float64(c.seeds(seeds))
	if c.space != nil {
		first, all := c.tuning()
		n += float64(trials*first + finalists*(all-first))
	}
	if c.exact || c.silent() {
		size /= 5
	}
	return n * size
}

// fill performs a cell's runs whose results are missing, and returns a note about the result.
func (s *study) fill(ctx context.Context, c cell, seeds int) (note string, err error) {
	var setting method.Setting
	if c.space != nil {
		if setting, err = s.search(ctx, c); err != nil {
			return "", err
		}
	}
	for seed := 1; seed <= c.seeds(seeds); seed++ {
		key := append(c.key(), strconv.Itoa(seed))
		if s.runs.Rows(key...) != nil {
			continue
		}
		st, err := s.stage(c.scene, c.epsilon, uint64(seed), false)
		if err != nil {
			return "", err
		}
		start := time.Now()
		accuracy, spent, err := c.run(ctx, st, setting)
		if err != nil {
			return "", fmt.Errorf("records: %v, seed %d: %w", c.key(), seed, err)
		}
		seconds := time.Since(start).Seconds()
		row := append(key, number(accuracy), number(float64(spent.Queries)/float64(st.split.Train.Len())),
			strconv.FormatFloat(seconds, 'f', 2, 64), setting.String())
		if err := s.runs.Add(row); err != nil {
			return "", err
		}
		note = fmt.Sprintf("%v: %.1f %%, %.2f s", key, accuracy, seconds)
	}
	return note, nil
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }

// search returns the setting with the best mean accuracy over all seeds of the search.
func (s *study) search(ctx context.Context, c cell) (method.Setting, error) {
	type point struct {
		n       int
		setting method.Setting
		sum     float64
	}
	var points []point
	for n, setting := range experiment.Hypercube(c.searched(), trials, fmt.Sprint(c.key())) {
		points = append(points, point{n: n, setting: setting})
	}
	first, all := c.tuning()
	for round := range all {
		seed := tuningSeed + uint64(round)
		st, err := s.stage(c.scene, c.epsilon, seed, true)
		if err != nil {
			return nil, err
		}
		for i := range points {
			p := &points[i]
			key := append(c.key(), strconv.Itoa(p.n), strconv.FormatUint(seed, 10))
			if rows := s.tries.Rows(key...); rows != nil {
				v, err := strconv.ParseFloat(rows[0][6], 64)
				if err != nil {
					return nil, fmt.Errorf("records: trials.csv: %w", err)
				}
				p.sum += v
				continue
			}
			v, _, err := c.run(ctx, st, p.setting)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil { // the model diverges with this setting
				v = 0
			}
			if err := s.tries.Add(append(key, number(v), p.setting.String())); err != nil {
				return nil, err
			}
			p.sum += v
		}
		slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(b.sum, a.sum) })
		if round == first-1 {
			points = points[:finalists]
		}
	}
	if points[0].sum == 0 {
		return nil, fmt.Errorf("records: %v: no trial completed", c.key())
	}
	return points[0].setting, nil
}

func (s *study) values(c cell, seeds int) (all []float64) {
	for seed := 1; seed <= c.seeds(seeds); seed++ {
		if rows := s.runs.Rows(append(c.key(), strconv.Itoa(seed))...); rows != nil {
			if v, err := strconv.ParseFloat(rows[0][5], 64); err == nil {
				all = append(all, v)
			}
		}
	}
	return all
}
