package task

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
)

// Spec specifies which data set to load and how to prepare it.
type Spec struct {
	// Source is "idx:DIR", "csv:FILE" or "synthetic:clinical".
	//
	// DIR holds train-images-idx3-ubyte and train-labels-idx1-ubyte, and the test set with t10k- or test- in place of
	// train-; or only images-idx3-ubyte and labels-idx1-ubyte. These files may have a dot before idx, and may be
	// gzipped, with or without .gz at the end of the name. Pixels are scaled to [0, 1].
	//
	// FILE has a header line. Its columns are public, and so are its categories, which come from the whole file.
	Source string `json:"data"`

	// For CSV only: Label names the column with the class, Drop names columns to ignore, and OneHot names columns that
	// become a 0/1 column for each value.
	Label  string   `json:"label"`
	Drop   []string `json:"drop"`
	OneHot []string `json:"onehot"`

	// Target is the column of the number to predict, in place of Label. The range of the target comes from all rows:
	// the mean plus and minus two standard deviations, limited to the minimum and the maximum of the column. Targets
	// outside the range are clipped to it.
	Target string `json:"target"`

	// Survival is "TIME,EVENT" in place of Label: the columns of a survival task, see [survival.Parse]. The labels of EVENT
	// are 0 and 1, no and yes, or the two in Labels; the second means that the event happened. Intervals and Rate are as
	// in [survival.Horizon]; if they are empty, they are [survival.DefaultIntervals] and [survival.DefaultRate].
	Survival  string  `json:"survival"`
	Intervals string  `json:"intervals"`
	Rate      float64 `json:"rate"`

	// Person names the column that identifies the person of each row, if persons have several rows; this column is not
	// a feature. Otherwise Person is empty. All rows of a person go to the same part of a test split.
	Person string `json:"person"`

	// Missing is the rule for missing cells, as in the field Rule of type [Missing]; if it is empty, missing cells are
	// errors. "indicator:a,b" adds columns that mark missing cells of a and b, even if this data has no missing cells
	// there (the data of other sites may have some). "indicator:*" adds such columns for all columns.
	Missing string `json:"missing"`

	// NA lists further texts that mark a missing cell, such as -9 or 999; the number -9 also matches -9.0. Unlike
	// Missing, NA also applies with a recipe, because each file has its own way to write missing cells.
	NA []string `json:"na"`

	// Labels selects classes and gives their order; samples with other labels are dropped. If Labels is empty, all
	// labels are classes, sorted by number if all are numbers. Labels that differ only in case are one class, named by
	// the first form in the file, unless Labels lists both forms.
	Labels []string `json:"labels"`

	PCA int `json:"pca"` // number of principal components to project on, 0 for no projection

	// Scale has factors for standardized columns, by name. The factor for "*" applies to all columns that are not
	// named; without "*" their factor is 1. A model learns faster along a column with a larger factor. The factors must
	// come from public knowledge, not from the data.
	Scale map[string]float64 `json:"scale"`

	// Standardize brings each column to mean 0 and variance 1, before PCA; Bias appends a column of ones. For both
	// fields, nil means true for CSV and synthetic data, and false for IDX.
	Standardize *bool `json:"standardize"`
	Bias        *bool `json:"bias"`

	// TestFraction is the share of samples to test on; 0 means 0.2. It is not used if the source has a test set.
	TestFraction float64 `json:"test_fraction"`

	// Whole keeps all samples for training: Test is empty unless the source has a test set.
	Whole bool `json:"-"`

	// If Records is set, each record, or each Person, is protected: the content of one record affects neither the other
	// records nor their number and order. Each line of a CSV file below its header is then a row, and the test split
	// depends only on the number of rows, or persons, and on Seed. For a row that cannot be read, [Load] fails, and
	// [Recipe.Apply] keeps an entry whose loss is NaN.
	Records bool `json:"-"`

	Seed uint64 `json:"seed"` // determines the test samples and the generated data

	Once *Once `json:"-"` // if not nil, files are read only once

	// Files, if not nil, are CSV files in place of Source, one for each client. Preprocessing is fitted on the training
	// samples of all files together; classes and categories come from all rows. Every file must have all columns that
	// Drop does not list, in any order, and is split into its own training and test part. [Set] has the samples of all
	// files in sequence, and [Set.Each] those of each file. Errors name the file.
	Files []string `json:"-"`
}

// Once keeps what was read of files for all [Spec] values that have it, which may differ in Seed only.
type Once struct {
	sync.Once
	train, test *table
	err         error
}

// FieldError is an invalid field of a [Spec], or invalid text for a [Partition].
type FieldError struct {
	Field string // data, label, target, survival, intervals, rate, person, drop, onehot, missing, na, labels, pca, scale, test_fraction or partition
	Fault string // what was found and what was expected; it follows the name of the field
}

// Error returns "task: ", the field and the fault.
func (e *FieldError) Error() string { return "task: " + e.Field + " " + e.Fault }

func fieldError(field, format string, args ...any) error {
	return &FieldError{Field: field, Fault: fmt.Sprintf(format, args...)}
}

func (s Spec) kind() string {
	kind, _, _ := strings.Cut(s.Source, ":")
	return kind
}

// filled returns the Spec with its data-independent defaults filled in. ownTest reports whether the source has a test
// set.
func (s Spec) filled(ownTest bool) Spec {
	standardize := s.kind() != "idx"
	bias := standardize && s.Survival == "" // each interval has a constant of its own
	s.Standardize, s.Bias = cmp.Or(s.Standardize, &standardize), cmp.Or(s.Bias, &bias)
	s.TestFraction = cmp.Or(s.TestFraction, 0.2)
	if ownTest || s.Whole {
		s.TestFraction = 0
	}
	return s
}

// Set is a data set ready for use.
type Set struct {
	Train, Test *Data

	// Spec has every default filled in: Standardize and Bias are never nil, Labels is not nil if there are classes,
	// and TestFraction is 0 if the source has a test set. With a recipe, OneHot, Missing and PCA stay empty.
	Spec Spec

	// Fitted describes what was taken from the data. The privacy guarantee of a run does not cover it.
	Fitted []string

	// With Spec.Records, Rows is the number of rows of the source, Lost the number of them that could not be read, and
	// Unread has up to ten different reasons, each with its first line. Only the owner of the data may see them.
	Rows, Lost int
	Unread     []error

	recipe Recipe // the steps that were applied; FittedOn and Model are empty
}

// Load reads and prepares a data set as the package comment describes. It reports all errors of the Spec at once or, if
// there are none, the errors that one pass over the file finds.
func Load(s Spec) (*Set, error) {
	s = s.clean()
	if err := s.Validate(); err != nil {
		return nil, err
	}
	train, test, err := s.read(s.columns)
	if err != nil {
		return nil, err
	}
	for _, name := range s.Drop {
		if s.Files != nil && !slices.Contains(train.names, name) {
			return nil, fieldError("drop", "%q: no file has such a column", name)
		}
	}
	set, err := s.begin(train, test)
	if err == nil {
		err = set.split(train, test)
	}
	if err == nil {
		err = set.fit()
	}
	if err != nil {
		return nil, err
	}
	set.Train, set.Test = set.recipe.prepare(set.Train), set.recipe.prepare(set.Test)
	return set, nil
}

// clean returns s with clean names of columns and classes; see [cell.Clean].
func (s Spec) clean() Spec {
	all := func(list []string) (clean []string) {
		for _, text := range list {
			clean = append(clean, cell.Clean(text))
		}
		return clean
	}
	for _, text := range []*string{&s.Label, &s.Target, &s.Survival, &s.Person, &s.Missing} {
		*text = cell.Clean(*text)
	}
	s.Drop, s.OneHot, s.Labels = all(s.Drop), all(s.OneHot), all(s.Labels)
	if scale := s.Scale; scale != nil {
		s.Scale = make(map[string]float64, len(scale))
		for name, by := range scale {
			s.Scale[cell.Clean(name)] = by
		}
	}
	return s.named()
}

// named returns s with a Source that names Files, if there are any.
func (s Spec) named() Spec {
	if s.Files != nil {
		s.Source = "csv:" + strings.Join(s.Files, ",")
	}
	return s
}

// begin returns a set without samples, whose recipe has everything that comes from all rows. test may be nil.
func (s Spec) begin(train, test *table) (set *Set, err error) {
	set = &Set{Spec: s.filled(test != nil), recipe: Recipe{
		Source: s.kind(), Columns: train.columns, Label: s.label(), Person: s.Person, Subset: len(s.Labels) > 0,
	}}
	if train.columns == nil {
		set.recipe.Pixels = train.dim
	}
	if s.Target != "" {
		if set.recipe.Target, err = rangeOf(train.targets); err != nil {
			return nil, fieldError("target", "%q: %v", s.Target, err)
		}
		set.fitted("range of the target %q taken from all rows", s.Target)
	} else if h, _ := s.horizon(); h != nil {
		set.recipe.Survival, set.recipe.Subset = h, false
		if set.Spec.Labels, err = s.events(train); err != nil {
			return nil, err
		}
		for _, time := range train.times {
			h.Usual += time / float64(len(train.times)) * h.Day()
		}
		set.fitted("usual time taken from all rows")
	} else if set.Spec.Labels, err = classNames(s.Labels, train, test); err != nil {
		return nil, err
	} else if err = s.checkClasses(set.Spec.Labels, len(train.labels)); err != nil {
		return nil, err
	} else if len(s.Labels) == 0 {
		set.fitted("classes taken from the labels of all rows")
	}
	set.recipe.Classes = set.Spec.Labels
	if s.Missing == dropRows {
		set.fitted("rows with missing cells left out")
	}
	for _, c := range s.OneHot {
		set.fitted("categories of column %q taken from all rows", c)
	}
	return set, nil
}

// read reads the Source, whose form must be valid, using l for CSV files. With Records each line of these is a row. test is nil if the source has no test set.
func (s Spec) read(l layout) (train, test *table, err error) {
	kind, arg, _ := strings.Cut(s.Source, ":")
	if o := s.Once; o != nil && kind != "synthetic" {
		s.Once = nil
		o.Do(func() { o.train, o.test, o.err = s.read(l) })
		return o.train.own(), o.test.own(), o.err
	}
	switch kind {
	case "idx":
		return loadIDX(arg)
	case "csv":
		if s.Files == nil {
			s.Files = []string{arg}
		}
		train, err = readFiles(s.Files, s.Records, l)
		return train, nil, err
	}
	d := Clinical(clinicalPatients, s.Seed)
	train = &table{name: s.Source, dim: d.Dim, features: d.Features}
	for _, f := range d.Features {
		train.columns = append(train.columns, Column{Name: f})
	}
	for _, c := range d.Y {
		train.labels = append(train.labels, d.ClassNames[c])
	}
	train.fill = func(row []float64, i int) {
		for j := range row {
			row[j] = d.Value(i, j)
		}
	}
	return train, nil, nil
}

// split selects the samples of the classes, and holds some of them out for tests if there is no test table.
func (set *Set) split(train, test *table) error {
	s := &set.Spec
	set.Train = train.data(&set.recipe)
	if test != nil {
		set.Test = test.data(&set.recipe)
		return nil
	} else if s.Whole {
		set.Test = set.Train.Select(nil)
		return nil
	}
	d, by := set.Train, ""
	sources := []string{s.Source}
	if s.Files != nil {
		sources, by = s.Files, " of each file"
	}
	if s.Person != "" {
		by += " by person"
	}
	var learn, hold []int
	for file, source := range sources {
		samples := d.inFile(file)
		part := &Data{Y: pick(d.Y, samples), Person: pick(d.Person, samples), Classes: d.Classes}
		train, test, err := part.split(s.TestFraction, s.Seed, s.Records)
		if err != nil {
			return fmt.Errorf("%w in %s", err, source)
		}
		learn, hold = append(learn, pick(samples, train)...), append(hold, pick(samples, test)...)
	}
	set.Train, set.Test = d.Select(learn), d.Select(hold)
	if !s.Records { // with Records, the split depends on no record's content
		set.fitted("test split of %v%s, stratified by label, seed %d", s.TestFraction, by, s.Seed)
	}
	return nil
}

// fit fits the steps that the Spec requests on the training part, which must have samples of all classes.
func (set *Set) fit() (err error) {
	s, r, names := &set.Spec, &set.recipe, set.Train.ClassNames
	for c, members := range byClass(set.Train.Y, len(names)) {
		if len(members) == 0 && !(r.Survival != nil && c == 0) { // without a censored sample all is known
			return fmt.Errorf("task: %s has no training sample with the label %q", s.Source, names[c])
		}
	}
	if set.Test.Len() == 0 && !s.Whole {
		return fmt.Errorf("task: %s has no test sample with one of the labels %s", s.Source, quoted(names))
	}
	if s.Missing != "" {
		if r.Missing, err = s.fitMissing(set.Train, r.Columns); err != nil {
			return err
		}
		if s.Missing != dropRows {
			set.fitted("values for missing cells (%s) fitted on the training split", s.Missing)
		}
	}
	if *s.Standardize {
		if r.Standardize, err = FitStandardizer(r.clean(set.Train)); err != nil {
			return err
		}
		r.Standardize.tell(r.raw())
		if r.Standardize.Scale, err = s.scales(r); err != nil {
			return err
		}
		if r.Standardize.Scale != nil {
			set.fitted("scale of columns, declared as public knowledge: %s", s.scaleText())
		}
		set.fitted("standardization fitted on the training split")
	}
	if s.PCA > 0 {
		if r.PCA, err = FitPCA(r.clean(set.Train).rounded(), s.PCA); err != nil {
			return err
		}
		set.fitted("PCA to %d fitted on the training split", s.PCA)
	}
	r.Bias = *s.Bias
	return nil
}

func (set *Set) fitted(format string, args ...any) {
	set.Fitted = append(set.Fitted, fmt.Sprintf(format, args...))
}
