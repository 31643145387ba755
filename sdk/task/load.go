package task

import (
	"fmt"
	"os"
	"strings"
)

// Set is a data set ready for use.
type Set struct {
	Train, Test *Data

	// Spec is the Spec of the call with every default filled in: Labels, Standardize and Bias are never nil, and
	// TestFraction is 0 if the source has a test set of its own.
	Spec Spec

	// Fitted lists what was taken from the data themselves, in words for people. A privacy guarantee of a run is
	// conditional on these.
	Fitted []string

	recipe Recipe // what was done; without FittedOn and Model
}

// Load reads and prepares a data set as the package comment describes. It reports all faults of the Spec together, and
// as many of a file as can be found in one pass.
func Load(s Spec) (*Set, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	train, test, err := readSource(s.Source, s.Seed, s.columns)
	if err != nil {
		return nil, err
	}
	names, err := classNames(s.Labels, train, test)
	if err != nil {
		return nil, err
	}
	set := &Set{Spec: s.filled(test != nil)}
	set.Spec.Labels = names
	if len(s.Labels) == 0 {
		set.fitted("classes taken from the labels of all rows")
	}
	for _, c := range s.OneHot {
		set.fitted("categories of column %q taken from all rows", c)
	}
	if err := set.split(train, test); err != nil {
		return nil, err
	}
	for c, members := range byClass(set.Train.Y, len(names)) {
		if len(members) == 0 {
			return nil, fmt.Errorf("task: %s has no training sample with the label %q", s.Source, names[c])
		}
	}
	if set.Test.Len() == 0 {
		return nil, fmt.Errorf("task: %s has no test sample with a label from %s", s.Source, quoted(names))
	}
	set.recipe = Recipe{
		Source: s.kind(), Columns: train.columns, Label: s.Label, Classes: names, Subset: len(s.Labels) > 0,
	}
	if train.columns == nil {
		set.recipe.Pixels = train.dim
	}
	return set, set.transform()
}

// readSource opens a source whose name is valid. l is for a CSV file and seed for generated data. test is nil if the
// source has no test set of its own.
func readSource(source string, seed uint64, l layout) (train, test *table, err error) {
	kind, arg, _ := strings.Cut(source, ":")
	switch kind {
	case "idx":
		return loadIDX(arg)
	case "csv":
		f, err := os.Open(arg)
		if err != nil {
			return nil, nil, fmt.Errorf("task: %w", err)
		}
		defer f.Close()
		train, err = readCSV(f, arg, l)
		return train, nil, err
	}
	d := Clinical(clinicalPatients, seed)
	train = &table{name: source, dim: d.Dim, features: d.Features}
	for _, f := range d.Features {
		train.columns = append(train.columns, Column{Name: f})
	}
	for _, c := range d.Y {
		train.labels = append(train.labels, d.ClassNames[c])
	}
	train.fill = func(row []float32, i int) { copy(row, d.Row(i)) }
	return train, nil, nil
}

// split takes the samples of the classes, and sets some aside for tests if there is no test table.
func (set *Set) split(train, test *table) error {
	s := &set.Spec
	set.Train = train.data(s.Labels)
	if test != nil {
		set.Test = test.data(s.Labels)
		return nil
	}
	learn, hold, err := Split(set.Train.Y, len(s.Labels), s.TestFraction, s.Seed)
	if err != nil {
		return err
	}
	set.Train, set.Test = set.Train.Select(learn), set.Train.Select(hold)
	set.fitted("test split of %v, stratified by label, seed %d", s.TestFraction, s.Seed)
	return nil
}

// transform brings both parts to the columns of the model. What the recipe lacks is fitted on the training part.
func (set *Set) transform() (err error) {
	s, r := &set.Spec, &set.recipe
	if *s.Standardize {
		if r.Standardize == nil {
			r.Standardize, err = FitStandardizer(set.Train)
			set.fitted("standardisation fitted on the training split")
		}
		if err = set.apply(r.Standardize, err); err != nil {
			return err
		}
	}
	if s.PCA > set.Train.Dim {
		return fieldError("pca", "%d, want 1 to %d, the number of columns of %s", s.PCA, set.Train.Dim, s.Source)
	}
	if s.PCA > 0 {
		if r.PCA == nil {
			r.PCA, err = FitPCA(set.Train, s.PCA)
			set.fitted("PCA to %d fitted on the training split", s.PCA)
		}
		if err = set.apply(r.PCA, err); err != nil {
			return err
		}
	}
	if r.Bias = *s.Bias; r.Bias {
		set.Train, set.Test = set.Train.WithBias(), set.Test.WithBias()
	}
	return nil
}

// apply transforms both parts, unless fitting the transformation has failed.
func (set *Set) apply(f interface{ Apply(*Data) (*Data, error) }, err error) error {
	if err == nil {
		set.Train, err = f.Apply(set.Train)
	}
	if err == nil {
		set.Test, err = f.Apply(set.Test)
	}
	return err
}

func (set *Set) fitted(format string, args ...any) {
	set.Fitted = append(set.Fitted, fmt.Sprintf(format, args...))
}
