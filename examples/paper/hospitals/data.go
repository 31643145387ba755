package hospitals

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/task"
)

// Names lists the hospitals by file name, without the extension.
var Names = []string{"cleveland", "hungarian", "switzerland", "va"}

const (
	held   = 0.25 // share of each hospital's patients that is held out for testing
	agreed = "agreed.csv"
)

// site holds one hospital's training and test patients in one split.
type site struct{ train, test *task.Data }

// clinic holds the input shared by all splits: the cleaned files and the agreed preprocessing.
type clinic struct {
	files  []string
	recipe *task.Recipe
}

// open cleans the files in dir, like examples/hospital/hospitals.sh, and writes the results to the folder clean. It
// fits the preprocessing to agreed.csv, a table of typical values in the folder table.
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

// tidy copies a file, with two changes: a cholesterol or blood pressure of 0 becomes a missing value, and diagnoses 1
// to 4 become the single label "ill".
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

// split splits each hospital's patients into training and test patients for a seed, stratified by label.
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

// pool returns the training patients of all hospitals as one data set.
func pool(sites []site) *task.Data {
	all := *sites[0].train
	all.X, all.Y = nil, nil
	for _, w := range sites {
		all.X, all.Y = append(all.X, w.train.X...), append(all.Y, w.train.Y...)
	}
	return &all
}
