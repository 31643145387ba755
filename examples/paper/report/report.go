package report

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
	"github.com/spade-dfl/spade-edge/examples/paper/stat"
)

// reporter writes the tables for one folder of results.
type reporter struct {
	lab      *experiment.Lab
	settings *experiment.Settings
	store    *experiment.Store
	ceilings ceilings
	sets     []string
	seeds    int
	cells    [][]string
}

var cellHeader = []string{"table", "dataset", "partition", "clients", "epsilon", "accounting", "method", "runs",
	"accuracy", "sd", "network", "averaged", "cooled",
	"cooled_averaged", "losses_per_sample_and_round", "scalars", "seconds"}

func (r *reporter) row(c *cell, samples int) {
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
	first := c.runs[0]
	seconds := func(r experiment.Result) float64 { return r.Seconds }
	r.cells = append(r.cells, []string{c.Table, c.Dataset, c.Partition, strconv.Itoa(c.Clients), num(c.Epsilon),
		c.Accounting, c.Method, strconv.Itoa(len(c.runs)),
		num(c.mean(accuracy)), num(stat.SD(c.values(accuracy))), num(c.mean(network)), num(c.mean(averaged)),
		num(c.mean(cooled)), num(c.mean(cooledAveraged)),
		fmt.Sprintf("%.4f", c.losses(samples)), strconv.FormatInt(first.Scalars, 10), fmt.Sprintf("%.3f", c.mean(seconds))})
}

// Write writes the tables of the results in the folder dir to the same folder: table2.md, table3.md, table4.md and
// longer.md, and cells.csv with all numbers in these tables. It first computes missing ceilings.
func Write(ctx context.Context, lab *experiment.Lab, settings *experiment.Settings, store *experiment.Store, dir string,
	sets []string, seeds int, log io.Writer) error {
	known, err := readCeilings(dir)
	if err != nil {
		return err
	}
	if err := known.complete(ctx, lab, dir, sets, seeds, log); err != nil {
		return err
	}
	r := &reporter{lab: lab, settings: settings, store: store, ceilings: known, sets: sets, seeds: seeds}
	var two, three, four, long strings.Builder
	two.WriteString("# Table II: test accuracy at round 50\n\nMean ± population standard deviation over the runs, in " +
		"percent; of a decentralized method, the mean over " +
		"its 31 clients' own models. **Bold** is the highest mean of the seven methods, _italics_ the best rival where " +
		"that is not it. Δ is SPADE-DFL less the best rival, in points, with " +
		"the p value of a two-sided Wilcoxon signed-rank test over the same seeds. DP-SGD has all data in one place, and " +
		"one value for all partitions. \"Average model\" is that of " +
		"SPADE-DFL's clients. The ceiling is the same model trained on all data in one place with exact gradients: by " +
		"the " +
		"loss that all methods see, and by the logarithmic one.\n")
	for _, form := range table2 {
		fmt.Fprintf(&two, "\n## %s\n\n%s\n\n", form.title, form.text)
		if err := r.table2(&two, form.table); err != nil {
			return err
		}
	}
	three.WriteString("# Table III: accuracy by number of clients, ε = 32\n\nδ = 1e-5, Dirichlet 0.3 (Brain Tumor MRI: " +
		"unbalanced). Each setting chooses its number of rounds, up to 50, and has as many losses " +
		"in all as 50 rounds with the paper's τ take.\n\n")
	four.WriteString("# Table IV: accuracy by ε, N = 100\n\nδ = 1e-5, Dirichlet 0.3 (Brain Tumor MRI: unbalanced); " +
		"rounds and losses as in Table III.\n\n")
	long.WriteString("# What holds SPADE-DFL back from the ceiling\n\nThe settings of Table II, A, and more rounds: " +
		"without noise, Dirichlet 0.3, 5 seeds. Where the accuracy still rises, 50 rounds of " +
		"one-point estimates were too few; what the average model has over the clients is their disagreement.\n\n")
	if err := errors.Join(r.table3(&three), r.table4(&four), r.longer(&long)); err != nil {
		return err
	}
	for name, text := range map[string]string{"table2.md": two.String(), "table3.md": three.String(),
		"table4.md": four.String(), "longer.md": long.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return r.writeCells(filepath.Join(dir, "cells.csv"))
}

func (r *reporter) writeCells(path string) error {
	var text strings.Builder
	w := csv.NewWriter(&text)
	if err := w.Write(cellHeader); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, row := range r.cells {
		key := strings.Join(row, ",")
		if seen[key] {
			continue
		}
		seen[key] = true
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return os.WriteFile(path, []byte(text.String()), 0o644)
}
