package task

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Spec says which data set to load and how to prepare it. Its fields are the program's data flags.
type Spec struct {
	// Source is "idx:DIR", "csv:FILE" or "synthetic:clinical" (-data).
	//
	// DIR holds train-images-idx3-ubyte and train-labels-idx1-ubyte, and with t10k- or test- in place of train- the test
	// set; or images-idx3-ubyte and labels-idx1-ubyte alone. Each may be gzipped and then may end in .gz. Pixels are
	// scaled to [0, 1].
	//
	// FILE has a header line. Its categories are read off the whole file: like its columns, they count as public.
	Source string

	// For CSV only, names of columns: the one that holds the class (-label, required), those to pass over (-drop), and
	// those that become one 0/1 column for each of their values (-onehot).
	Label  string
	Drop   []string
	OneHot []string

	// Labels selects classes and gives their order (-labels): samples with other labels are left out. None takes all,
	// sorted by number if all are numbers.
	Labels []string

	// PCA is the number of principal components to project on (-pca), 0 for none.
	PCA int

	// Standardize brings each column to mean 0 and variance 1, before PCA; Bias appends a column of ones at the end
	// (-standardize, -bias). Nil means yes for CSV and synthetic data, no for IDX.
	Standardize, Bias *bool

	// TestFraction is the share of samples to test on (-test-fraction), 0 for 0.2. It plays no part if the source has a
	// test set of its own.
	TestFraction float64

	// Seed picks the test samples and generates synthetic data.
	Seed uint64
}

// Set is a data set ready for use.
type Set struct {
	Train, Test *Data

	// Spec is what was asked for with every choice filled in that was left open: Labels, Standardize and Bias are never
	// nil, and TestFraction is 0 if the source has a test set of its own.
	Spec Spec

	// Fitted lists what was taken from the data themselves, in words for people. A privacy guarantee of a run is
	// conditional on these.
	Fitted []string

	recipe Recipe // what was done, as far as it is known
}

// Load reads and prepares a data set as the package comment describes. All faults of the Spec are reported together, and
// as many of a file as can be told at once.
func Load(s Spec) (*Set, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	train, test, err := s.read()
	if err != nil {
		return nil, err
	}
	set := &Set{Spec: s.filled(test != nil)}
	if err := set.choose(train, test); err != nil {
		return nil, err
	}
	set.recipe = Recipe{Source: s.kind(), Columns: train.columns, Label: s.Label, Classes: set.Spec.Labels, Subset: len(s.Labels) > 0, Bias: *set.Spec.Bias}
	if train.columns == nil {
		set.recipe.Pixels = train.dim
	}
	if err := set.prepare(); err != nil {
		return nil, err
	}
	return set, nil
}

// Validate reports every fault that can be told without opening a file. Load does so as well.
func (s Spec) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("task: "+format, args...)) }
	if err := CheckSource(s.Source); err != nil {
		faults = append(faults, err)
	}
	if s.kind() == "csv" {
		if s.Label == "" {
			fault("-label is missing: -data %s needs the name of the column that holds the class", s.Source)
		}
		used := map[string]string{s.Label: "-label"}
		for _, v := range s.Drop {
			if flag, ok := used[v]; ok {
				fault("-drop %q: that column is already in %s", v, flag)
			}
			used[v] = "-drop"
		}
		for _, v := range s.OneHot {
			if flag, ok := used[v]; ok {
				fault("-onehot %q: that column is already in %s", v, flag)
			}
			used[v] = "-onehot"
		}
	} else if s.Label != "" || len(s.Drop) > 0 || len(s.OneHot) > 0 {
		fault("-label %q, -drop %q, -onehot %q: only for -data csv:FILE, not for %q", s.Label, s.Drop, s.OneHot, s.Source)
	}
	if len(s.Labels) == 1 {
		fault("-labels %q, want at least two, or none for all", s.Labels)
	}
	for i, l := range s.Labels {
		if slices.Contains(s.Labels[:i], l) {
			fault("-labels %s: %q is there twice", strings.Join(s.Labels, ","), l)
		}
	}
	if s.PCA < 0 {
		fault("-pca %d, want a number of components, or 0 for none", s.PCA)
	}
	if !(s.TestFraction >= 0 && s.TestFraction < 1) {
		fault("-test-fraction %v, want more than 0 and less than 1", s.TestFraction)
	}
	return errors.Join(faults...)
}

// CheckSource reports what is wrong with the name of a source, as Spec has it, without opening a file.
func CheckSource(source string) error {
	kind, arg, _ := strings.Cut(source, ":")
	switch {
	case kind != "idx" && kind != "csv" && kind != "synthetic":
		return fmt.Errorf("task: -data %q, want idx:DIR, csv:FILE or synthetic:clinical", source)
	case arg == "":
		return fmt.Errorf("task: -data %q names nothing behind the colon, want idx:DIR, csv:FILE or synthetic:clinical", source)
	case kind == "synthetic" && arg != "clinical":
		return fmt.Errorf("task: -data %q, want synthetic:clinical", source)
	}
	return nil
}

// kind returns what stands before the colon of the source.
func (s Spec) kind() string {
	kind, _, _ := strings.Cut(s.Source, ":")
	return kind
}

// filled returns the Spec with the choices made that do not depend on the data.
func (s Spec) filled(ownTest bool) Spec {
	standardize := !strings.HasPrefix(s.Source, "idx:")
	bias := standardize
	if s.Standardize == nil {
		s.Standardize = &standardize
	}
	if s.Bias == nil {
		s.Bias = &bias
	}
	if ownTest {
		s.TestFraction = 0
	} else if s.TestFraction == 0 {
		s.TestFraction = 0.2
	}
	return s
}

// read opens the source. test is nil if it has no test set of its own.
func (s Spec) read() (train, test *table, err error) { return readSource(s.Source, s.Seed, s) }

// readSource opens a source whose name is valid; l is for a CSV file and seed for generated data.
func readSource(source string, seed uint64, l layout) (train, test *table, err error) {
	kind, arg, _ := strings.Cut(source, ":")
	switch kind {
	case "idx":
		return loadIDX(arg)
	case "csv":
		train, err = loadCSV(arg, l)
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

// choose picks classes, and test samples if there is no test table.
func (set *Set) choose(train, test *table) error {
	s := &set.Spec
	tables := []*table{train}
	if test != nil {
		tables = append(tables, test)
	}
	names, err := classNames(s.Labels, tables...)
	if err != nil {
		return err
	}
	if len(s.Labels) == 0 {
		s.Labels = names
		set.fitted("classes taken from the labels of all rows")
	}
	for _, c := range s.OneHot {
		set.fitted("categories of column %q taken from all rows", c)
	}
	if err := set.split(train, test); err != nil {
		return err
	}
	for c, members := range byClass(set.Train.Y, len(names)) {
		if len(members) == 0 {
			return fmt.Errorf("task: -labels: %s has no training sample with the label %q", s.Source, names[c])
		}
	}
	if set.Test.Len() == 0 {
		return fmt.Errorf("task: -labels: %s has no test sample with a label from %s", s.Source, quoted(names))
	}
	return nil
}

// split takes over the samples of the classes, and holds some back for tests if there is no test table.
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

// prepare standardises, projects and appends the bias.
func (set *Set) prepare() error {
	s := &set.Spec
	if *s.Standardize {
		f, err := FitStandardizer(set.Train)
		if err != nil {
			return err
		}
		if err := set.apply(f.Apply); err != nil {
			return err
		}
		set.recipe.Standardize = f
		set.fitted("standardisation fitted on the training split")
	}
	if s.PCA > 0 {
		if s.PCA > set.Train.Dim {
			return fmt.Errorf("task: -pca %d, want 1 to %d, the number of columns of %s", s.PCA, set.Train.Dim, s.Source)
		}
		f, err := FitPCA(set.Train, s.PCA)
		if err != nil {
			return err
		}
		if err := set.apply(f.Apply); err != nil {
			return err
		}
		set.recipe.PCA = f
		set.fitted("PCA to %d fitted on the training split", s.PCA)
	}
	if *s.Bias {
		set.Train, set.Test = set.Train.WithBias(), set.Test.WithBias()
	}
	return nil
}

// apply puts both parts through a fitted transformation.
func (set *Set) apply(f func(*Data) (*Data, error)) (err error) {
	if set.Train, err = f(set.Train); err != nil {
		return err
	}
	set.Test, err = f(set.Test)
	return err
}

func (set *Set) fitted(format string, args ...any) {
	set.Fitted = append(set.Fitted, fmt.Sprintf(format, args...))
}
