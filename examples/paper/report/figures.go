package report

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
	"github.com/spade-dfl/spade-edge/examples/paper/figure"
)

// Reference is the method with which the figures compare all other methods, round by round.
const Reference = "LT-ADMM-VR"

// Figures draws figures from the results in a folder: for each data set, the accuracy over rounds and a comparison of
// all methods with [Reference].
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
		if err := figure.Accuracy(curves, filepath.Join(out, "accuracy-"+set+".svg")); err != nil {
			return err
		}
		if err := volcano(curves, filepath.Join(out, "volcano-"+set+".png")); err != nil {
			return err
		}
	}
	return nil
}

// curvesOf returns the accuracy after every round for a table's runs on a data set, except runs with SPADE-DFL's
// options. The method that has all data in one place gets the same curve in every partition.
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

// volcano draws the comparison of every method with the reference method, for every partition and round.
func volcano(curves []figure.Curve, path string) error {
	comparisons, err := figure.Compare(curves, Reference)
	if err != nil || len(comparisons) == 0 {
		return err
	}
	return figure.Volcano(comparisons, Reference, path)
}
