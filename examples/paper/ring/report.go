package ring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/examples/paper/figure"
	"github.com/spade-dfl/spade-edge/examples/paper/stat"
	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// Run performs, for every seed from 1 to the value of seeds (at least 2), the runs whose results are not yet in the
// folder out. It writes these files to out, which should hold nothing else:
//
//	runs.csv        the accuracies of every run, one line for each way to score it
//	README.md       the results
//	accuracy.svg    accuracy over rounds; see [figure.Partitions]
//	shares.png      the clients' shares of digit 7, for the partitions of seed 1
//
// data is the folder of the data sets. A run takes about three and a half seconds on one processor; thirty seeds take
// nine minutes.
func Run(ctx context.Context, data, out string, seeds int, log io.Writer) error {
	if seeds < 2 {
		return fmt.Errorf("ring: found %d seeds, want at least 2, because a single seed has no spread", seeds)
	}
	set, err := load(data)
	if err != nil {
		return err
	}
	return study(ctx, set, out, seeds, log)
}

func study(ctx context.Context, set *task.Set, out string, seeds int, log io.Writer) error {
	table, err := open(out)
	if err != nil {
		return err
	}
	type job struct {
		partition string
		seed      int
	}
	var jobs []job
	for seed := 1; seed <= seeds; seed++ {
		for _, p := range Partitions {
			if rows := table.Rows(p, strconv.Itoa(seed)); len(rows) != 3 {
				table.Drop(p, strconv.Itoa(seed)) // remove what an interrupted run left
				jobs = append(jobs, job{p, seed})
			}
		}
	}
	if err := table.Sort(); err != nil {
		return err
	}
	err = sweep.Do(ctx, log, "ring", len(jobs), func(int) float64 { return 1 },
		func(ctx context.Context, i int) (string, error) {
			j := jobs[i]
			curves, err := run(ctx, set, j.partition, uint64(j.seed), full)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%s, seed %d", j.partition, j.seed), table.Add(rows(curves)...)
		})
	if err != nil {
		return err
	}
	if err := table.Sort(); err != nil {
		return err
	}
	curves, err := read(table, seeds)
	if err != nil {
		return err
	}
	return report(set, table, curves, seeds, out)
}

func open(out string) (*sweep.Table, error) {
	header := []string{"partition", "seed", "model"}
	for round := 1; round <= full.rounds+full.cooldown; round++ {
		if scored(round, full.rounds) {
			header = append(header, strconv.Itoa(round))
		}
	}
	return sweep.Open(filepath.Join(out, "runs.csv"), 2, header...)
}

// rows returns the points of a run as table rows. There is one row for each way to score the run, with the accuracies
// by round. Accuracies have seven digits, enough to recover the number of correct predictions.
func rows(curves []figure.Curve) [][]string {
	var out [][]string
	for _, method := range []string{Held, Averaged, Network} {
		row := []string{curves[0].Partition, strconv.Itoa(curves[0].Seed), method}
		for _, c := range curves {
			if c.Method == method {
				row = append(row, strconv.FormatFloat(c.Accuracy, 'f', 7, 64))
			}
		}
		out = append(out, row)
	}
	return out
}

func read(table *sweep.Table, seeds int) ([]figure.Curve, error) {
	var out []figure.Curve
	for _, p := range Partitions {
		for seed := 1; seed <= seeds; seed++ {
			for _, row := range table.Rows(p, strconv.Itoa(seed)) {
				next := 3
				for round := 1; round <= full.rounds+full.cooldown; round++ {
					if !scored(round, full.rounds) {
						continue
					}
					a, err := strconv.ParseFloat(row[next], 64)
					if err != nil {
						return nil, fmt.Errorf("ring: runs.csv, %s, seed %d: %w", p, seed, err)
					}
					next++
					out = append(out, figure.Curve{Dataset: "MNIST", Partition: p, Method: row[2], Seed: seed, Round: round,
						Accuracy: a})
				}
			}
		}
	}
	return out, nil
}

func report(set *task.Set, table *sweep.Table, curves []figure.Curve, seeds int, out string) error {
	var all []figure.Share
	for _, p := range Partitions {
		s, err := shares(set, p, full.nodes, 1)
		if err != nil {
			return err
		}
		all = append(all, s...)
	}
	if err := errors.Join(
		figure.Partitions(curves, full.rounds, filepath.Join(out, "accuracy.svg")),
		figure.Shares(all, "digit 7", filepath.Join(out, "shares.png")),
	); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# A ring of %d clients

SPADE-DFL on the digits 6 and 7 (MNIST, 10 principal components), %d clients on a ring, %d rounds of learning with `+
		`tau = %d,
client-level (%v, %v)-differential privacy by exact Gaussian accounting, then %d rounds of pure consensus at no cost `+
		`in privacy or
queries. Paper's estimator. eta = %v, mu = %v, clip = %v: what the program picks from public numbers; nothing is `+
		`tuned. Seeds 1 to %d.

Test accuracy in percent, mean and two-sided 95 %% interval by Student's t:

`, full.nodes, full.nodes, full.rounds, Tau, Epsilon, Delta, full.cooldown, eta, mu, clip, seeds)
	rounds := []int{full.rounds, full.rounds + full.cooldown/4, full.rounds + full.cooldown}
	fmt.Fprintf(&b, "| Partition | Model | Round %d | Round %d | Round %d |\n|---|---|---|---|---|\n", rounds[0],
		rounds[1], rounds[2])
	for _, p := range Partitions {
		for _, method := range []string{Held, Averaged, Network} {
			fmt.Fprintf(&b, "| %s | %s |", p, method)
			for _, round := range rounds {
				i, err := stat.TInterval(values(curves, p, method, round), 0.95)
				if err != nil {
					return err
				}
				fmt.Fprintf(&b, " %.2f (%.2f to %.2f) |", i.Mean, i.Low, i.High)
			}
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, `
- %s: what a client holds, its last release with the noise that it and its neighbors added, on average over all clients.
- %s: what a client holds if it keeps the mean of its releases so far, at no cost in privacy.
- %s: one model that no client holds.

![Accuracy over rounds](accuracy.svg)

![Shares of digit 7](shares.png)

`, Held, Averaged, Network)
	return sweep.WritePage(filepath.Join(out, "README.md"), b.String(), table)
}

func values(curves []figure.Curve, partition, method string, round int) []float64 {
	var out []float64
	for _, c := range curves {
		if c.Partition == partition && c.Method == method && c.Round == round {
			out = append(out, 100*c.Accuracy)
		}
	}
	slices.Sort(out)
	return out
}
