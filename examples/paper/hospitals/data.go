package hospitals

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/task"
)

// Names lists the hospitals by their files.
var Names = []string{"cleveland", "hungarian", "switzerland", "va"}

const (
	held   = 0.25 // share of each hospital's patients held out for testing
	agreed = "agreed.csv"
)

// site is one hospital's patients in one split.
type site struct{ train, test *task.Data }

// clinic is the common input of all splits: the cleaned files and the agreed preprocessing.
type clinic struct {
	files  []string
	recipe *task.Recipe
}

// open cleans the files of dir, as examples/hospital/hospitals.sh does, into the folder clean. It fits the
// preprocessing on the table of usual values in the folder table.
func open(dir, table, clean string) (*clinic, error) {
	c := new(clinic)
	for _, name := range Names {
		to := filepath.Join(clean, name+".csv")
		if err := tidy(filepath.Join(dir, "heart-four-hospitals", name+".csv"), to); err != nil {
			return nil, fmt.Errorf("hospitals: %w", err)
		}
		c.files = append(c.files, "csv:"+to)
	}
	var err error
	c.recipe, err = task.Fit(task.Spec{
		Source: "csv:" + filepath.Join(table, agreed), Label: "ill", OneHot: []string{"cp", "restecg", "slope", "thal"},
		Missing: "indicator", Whole: true,
	}, task.ModelSpec{Name: task.SoftmaxModel}, "a table of usual values that describes nobody")
	return c, err
}

// tidy copies a file, with a cholesterol or blood pressure of 0 as missing and 1 to 4 as ill.
func tidy(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	rows, err := csv.NewReader(in).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	head := rows[0]
	label := slices.Index(head, "num")
	for i, row := range rows {
		if i == 0 {
			row[label] = "ill"
			continue
		}
		for j, cell := range row {
			switch {
			case j == label && cell == "0":
				row[j] = "no"
			case j == label:
				row[j] = "yes"
			case cell == "0" && (head[j] == "chol" || head[j] == "trestbps"):
				row[j] = ""
			}
		}
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	return csv.NewWriter(out).WriteAll(rows)
}

// split returns the hospitals' patients in the split of a seed, stratified by label.
func (c *clinic) split(seed uint64) ([]site, error) {
	var sites []site
	for _, file := range c.files {
		set, err := c.recipe.Apply(task.Spec{Source: file, TestFraction: held, Seed: seed})
		if err != nil {
			return nil, err
		}
		sites = append(sites, site{set.Train, set.Test})
	}
	return sites, nil
}

// pool returns all hospitals' training patients as one data set.
func pool(sites []site) *task.Data {
	all := *sites[0].train
	all.X, all.Y = nil, nil
	for _, w := range sites {
		all.X, all.Y = append(all.X, w.train.X...), append(all.Y, w.train.Y...)
	}
	return &all
}
