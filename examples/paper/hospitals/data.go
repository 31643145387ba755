package hospitals

import (
	"fmt"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/examples/hospital/heart"
)

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

// open cleans the files in dir, see [heart.Write], and writes the results to the folder clean. It fits the preprocessing
// to agreed.csv, a table of typical values in the folder table.
func open(dir, table, clean string) (*clinic, error) {
	files, err := heart.Write(filepath.Join(dir, "heart-four-hospitals"), clean)
	if err != nil {
		return nil, fmt.Errorf("hospitals: %w", err)
	}
	c := new(clinic)
	for _, file := range files {
		c.files = append(c.files, "csv:"+file)
	}
	c.recipe, err = task.Fit(task.Spec{
		Source: "csv:" + filepath.Join(table, agreed), Label: "ill", OneHot: []string{"cp", "restecg", "slope", "thal"},
		Missing: "indicator", Whole: true,
	}, task.ModelSpec{Name: task.SoftmaxModel}, "a table of usual values that describes nobody")
	return c, err
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
