package experiment

import (
	"context"
	"fmt"
	"io"

	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// Do runs the jobs whose results are not in the store, with the given settings, and stores the results. So that no mean
// combines different settings, Do first drops all results, whatever their seed, that were computed with an outdated
// setting.
func (l *Lab) Do(ctx context.Context, jobs []Job, settings *Settings, store *Store, log io.Writer) error {
	planned := make(map[Job]bool)
	for _, j := range jobs {
		planned[j.cell()] = true
	}
	keep := func(r Result) bool { return !planned[r.cell()] || settings.made(r) }
	done := make(map[Job]bool)
	read := make(map[string]bool)
	for _, j := range jobs {
		if file := name(j.Table, j.Dataset); !read[file] {
			read[file] = true
			if err := store.Keep(j.Table, j.Dataset, keep); err != nil {
				return err
			}
			results, err := store.Results(j.Table, j.Dataset)
			if err != nil {
				return err
			}
			for _, r := range results {
				done[r.id()] = true
			}
		}
	}
	var todo []Job
	for _, j := range jobs {
		if done[j.id()] {
			continue
		}
		if _, err := settings.For(j); err != nil {
			return err
		}
		todo = append(todo, j)
	}
	if len(todo) == 0 {
		fmt.Fprintf(log, "runs: all %d exist\n", len(jobs))
		return nil
	}
	cost := func(i int) float64 { return todo[i].cost() }
	return sweep.Do(ctx, log, "runs", len(todo), cost, func(ctx context.Context, i int) (string, error) {
		j := todo[i]
		setting, err := settings.For(j)
		if err != nil {
			return "", err
		}
		r, err := l.Run(ctx, j, setting)
		if err != nil {
			return "", err
		}
		note := fmt.Sprintf("%s %s %s %s seed %d: %.2f %%, %.1f s", j.Table, j.Dataset, j.Partition, j.Method, j.Seed,
			r.Accuracy, r.Seconds)
		return note, store.Add(r)
	})
}
