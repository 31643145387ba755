package report

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
	"github.com/spade-dfl/spade-edge/examples/paper/stat"
)

// ceilings maps a data set, seed and fold to the model's best accuracies in percent, first with squared probability
// loss and then with logarithmic loss; see data.Ceiling.
type ceilings map[string][2]float64

const ceilingFile = "ceilings.csv"

var ceilingHeader = []string{"dataset", "seed", "fold", "squared_probability_loss", "logarithmic_loss"}

func readCeilings(dir string) (ceilings, error) {
	c := make(ceilings)
	text, err := os.ReadFile(filepath.Join(dir, ceilingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("report: %s: %w", ceilingFile, err)
	}
	for _, row := range rows[min(1, len(rows)):] {
		a, errA := strconv.ParseFloat(row[3], 64)
		b, errB := strconv.ParseFloat(row[4], 64)
		if err := errors.Join(errA, errB); err != nil {
			return nil, fmt.Errorf("report: %s: %w", ceilingFile, err)
		}
		c[strings.Join(row[:3], " ")] = [2]float64{a, b}
	}
	return c, nil
}

// complete computes the missing ceilings and writes all ceilings to their file.
func (c ceilings) complete(ctx context.Context, lab *experiment.Lab, dir string, sets []string, seeds int,
	log io.Writer) error {
	var text strings.Builder
	w := csv.NewWriter(&text)
	if err := w.Write(ceilingHeader); err != nil {
		return err
	}
	for _, set := range data.Names {
		wanted := false
		for _, s := range sets {
			wanted = wanted || s == set
		}
		n, folds := seeds, 1
		switch set {
		case "mnist", "brain":
			n = 1 // one split for all seeds
		case "alzheimers":
			folds = data.Folds
		}
		for seed := 1; seed <= max(n, c.last(set)); seed++ {
			for fold := range folds {
				key := fmt.Sprint(set, " ", seed, " ", fold)
				v, ok := c[key]
				if !ok && wanted && seed <= seeds {
					if err := ctx.Err(); err != nil {
						return err
					}
					source, err := lab.Source(set)
					if err != nil {
						return err
					}
					split, err := source.Split(uint64(seed), fold, false)
					if err != nil {
						return err
					}
					v = [2]float64{100 * data.Ceiling(split, false), 100 * data.Ceiling(split, true)}
					c[key], ok = v, true
					fmt.Fprintf(log, "ceiling: %s: %.2f %%\n", key, v[0])
				}
				if ok {
					err := w.Write([]string{set, strconv.Itoa(seed), strconv.Itoa(fold),
						strconv.FormatFloat(v[0], 'g', -1, 64), strconv.FormatFloat(v[1], 'g', -1, 64)})
					if err != nil {
						return err
					}
				}
			}
		}
	}
	w.Flush()
	return os.WriteFile(filepath.Join(dir, ceilingFile), []byte(text.String()), 0o644)
}

// last returns the highest seed with a ceiling for a data set. It may exceed the requested seeds, because complete
// keeps the ceilings of all seeds.
func (c ceilings) last(set string) (seed int) {
	for key := range c {
		if fields := strings.Fields(key); fields[0] == set {
			if n, err := strconv.Atoi(fields[1]); err == nil {
				seed = max(seed, n)
			}
		}
	}
	return seed
}

// The method of returns the mean ceiling over the splits of the given runs, for the squared and for the logarithmic
// loss.
func (c ceilings) of(dataset string, runs []experiment.Result) (squared, logarithmic float64) {
	var a, b []float64
	for _, r := range runs {
		seed := int(r.Seed)
		if dataset == "mnist" || dataset == "brain" {
			seed = 1
		}
		if v, ok := c[fmt.Sprint(dataset, " ", seed, " ", r.Fold)]; ok {
			a, b = append(a, v[0]), append(b, v[1])
		}
	}
	return stat.Mean(a), stat.Mean(b)
}
