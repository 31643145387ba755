package report

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
	"github.com/spade-dfl/spade-edge/examples/paper/figure"
	"github.com/spade-dfl/spade-edge/examples/paper/stat"
)

// Reference is the method that the others are compared with after every round.
const Reference = "LT-ADMM-VR"

// Figures draws what the results in a folder have curves for, and writes the numbers behind each as CSV beside it:
// accuracy over rounds for each data set, and all methods against [Reference].
func Figures(store *experiment.Store, dir string, sets []string, seeds int) error {
	out := filepath.Join(dir, "figures")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, set := range sets {
		curves, err := curvesOf(store, experiment.EqualQueries, set, seeds)
		if err != nil {
			return err
		}
		if len(curves) == 0 {
			continue
		}
		path := filepath.Join(out, "accuracy-"+set)
		if err := writeMeans(path+".csv", curves); err != nil {
			return err
		}
		if err := figure.Accuracy(curves, path); err != nil {
			return err
		}
		if err := volcano(curves, filepath.Join(out, "volcano-"+set)); err != nil {
			return err
		}
	}
	return nil
}

// curvesOf returns the accuracy after every round of all runs of a table on a data set, without SPADE-DFL's options.
// The method that has all data in one place is there for every partition.
func curvesOf(store *experiment.Store, table, set string, seeds int) ([]figure.Curve, error) {
	results, err := store.Results(table, set)
	if err != nil {
		return nil, err
	}
	var curves []figure.Curve
	for _, r := range results {
		if r.Seed > uint64(seeds) || r.Method != experiment.PaperForm && strings.HasPrefix(r.Method, experiment.PaperForm) {
			continue
		}
		partitions := []string{r.Partition}
		if r.Method == experiment.Pooled {
			partitions = experiment.Partitions
		}
		for _, p := range partitions {
			for i, a := range r.Curve {
				curves = append(curves, figure.Curve{
					Dataset: data.Titles[set], Partition: p, Method: r.Method, Seed: int(r.Seed)*data.Folds + r.Fold, Round: i + 1,
					Accuracy: a / 100,
				})
			}
		}
	}
	return curves, nil
}

// writeMeans writes mean and population standard deviation of every line of a figure, in percent.
func writeMeans(path string, curves []figure.Curve) error {
	type key struct {
		partition, method string
		round             int
	}
	var order []key
	values := make(map[key][]float64)
	for _, c := range curves {
		k := key{c.Partition, c.Method, c.Round}
		if values[k] == nil {
			order = append(order, k)
		}
		values[k] = append(values[k], 100*c.Accuracy)
	}
	rows := [][]string{{"partition", "method", "round", "runs", "accuracy", "sd"}}
	for _, k := range order {
		rows = append(rows, []string{k.partition, k.method, strconv.Itoa(k.round), strconv.Itoa(len(values[k])),
			fmt.Sprintf("%.4f", stat.Mean(values[k])), fmt.Sprintf("%.4f", stat.SD(values[k]))})
	}
	return writeCSV(path, rows)
}

// volcano draws every method, partition and round against the reference.
func volcano(curves []figure.Curve, path string) error {
	comparisons, err := figure.Compare(curves, Reference)
	if err != nil || len(comparisons) == 0 {
		return err
	}
	rows := [][]string{{"partition", "method", "round", "pairs", "difference", "p", "adjusted"}}
	for _, c := range comparisons {
		rows = append(rows, []string{c.Partition, c.Method, strconv.Itoa(c.Round), strconv.Itoa(c.Seeds),
			fmt.Sprintf("%.4f", c.Difference),
			fmt.Sprintf("%.4g", c.P), fmt.Sprintf("%.4g", c.Adjusted)})
	}
	if err := writeCSV(path+".csv", rows); err != nil {
		return err
	}
	return figure.Volcano(comparisons, Reference, path)
}

func writeCSV(path string, rows [][]string) error {
	var text strings.Builder
	w := csv.NewWriter(&text)
	if err := w.WriteAll(rows); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text.String()), 0o644)
}
