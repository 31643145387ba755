package task

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a recipe.
const (
	maxFittedOn   = 200     // bytes of FittedOn
	maxParameters = 1 << 28 // of the model, as many as a fleet can have
)

// Recipe is preprocessing that has been fitted once and then applies to any data set of the same form: all that it takes to
// turn a device's own file into the columns that a fleet's model is for. It is public, and made from public data: [Fit].
// Package fleetfile keeps it in a fleet file, so that all members have the same.
type Recipe struct {
	FittedOn string // what it was fitted on, in words for a certificate: 1 to 200 bytes, printable

	Source  string   // what a device's data must be: "csv", "idx" or "synthetic"
	Columns []Column // CSV and generated data: the columns to take, in this order; others are passed over
	Pixels  int      // IDX: of each image

	Label   string   // CSV: the column that holds the class; else empty
	Classes []string // the labels that are classes 0, 1, ...
	Subset  bool     // samples with other labels are left out; if false they are an error

	Standardize *Standardizer // nil for none
	PCA         *PCA          // nil for none; Variances play no part
	Bias        bool          // a column of ones at the end
	Model       ModelSpec     // what is trained on it
}

// Column is a column of a data file that is learned from.
type Column struct {
	Name string
	// Categories turns the column into one column of zeros and ones for each of these values, in this order; nil takes its
	// cells as numbers. A value that is not among them is an error: as zeros throughout it would be no category, which the
	// model has never seen.
	Categories []string
}

// Fit loads a public data set as [Load] does and returns what was fitted, for a model and with a word on what the data
// are. As in Load the test split plays no part in it, so that a simulation on the same Spec shows what the recipe is worth.
func Fit(s Spec, m ModelSpec, fittedOn string) (*Recipe, error) {
	if err := errors.Join(s.Validate(), m.Validate(), CheckFittedOn(fittedOn)); err != nil {
		return nil, err
	}
	set, err := Load(s)
	if err != nil {
		return nil, err
	}
	r := set.recipe
	r.FittedOn, r.Model = fittedOn, m
	if r.PCA != nil {
		r.PCA = &PCA{Mean: r.PCA.Mean, Components: r.PCA.Components, Scale: r.PCA.Scale}
	}
	return &r, r.Validate()
}

// raw returns how many columns the data have before PCA.
func (r *Recipe) raw() int {
	n := r.Pixels
	for _, c := range r.Columns {
		n += max(1, len(c.Categories))
	}
	return n
}

// width returns how many columns the model gets.
func (r *Recipe) width() int {
	n := r.raw()
	if r.PCA != nil {
		n = len(r.PCA.Components)
	}
	if r.Bias {
		n++
	}
	return n
}

// Dim returns the number of the model's parameters.
func (r *Recipe) Dim() int { return r.Model.Dim(r.width(), len(r.Classes)) }

// Start returns the common start of a run with the recipe's model, see [ModelSpec.Start].
func (r *Recipe) Start(seed uint64) []float32 {
	return r.Model.Start(r.width(), len(r.Classes), seed)
}

// Apply loads a device's own data, "csv:FILE", "idx:DIR" or "synthetic:clinical" as the recipe has it, and prepares them.
// Nothing is fitted on them but the choice of test samples, for which testFraction and seed are those of [Spec]. A device
// need not have samples of all classes. On the data that the recipe was fitted on the result has the bits of [Load]'s.
// Errors name the file, and line and column where there are any; all faults of a header are told at once, and of cells ten.
func (r *Recipe) Apply(source string, testFraction float64, seed uint64) (*Set, error) {
	if err := errors.Join(r.Validate(), CheckSource(source)); err != nil {
		return nil, err
	}
	s := Spec{Source: source, Label: r.Label, Labels: r.Classes, TestFraction: testFraction, Seed: seed, Standardize: new(bool), Bias: new(bool)}
	if s.kind() != r.Source {
		return nil, fmt.Errorf("task: -data %q, want data from %s: as such they were when the recipe was made", source, r.Source)
	}
	if !(testFraction >= 0 && testFraction < 1) {
		return nil, fmt.Errorf("task: -test-fraction %v, want more than 0 and less than 1", testFraction)
	}
	*s.Standardize, *s.Bias = r.Standardize != nil, r.Bias
	if r.PCA != nil {
		s.PCA = len(r.PCA.Components)
	}
	for _, c := range r.Columns {
		if c.Categories != nil {
			s.OneHot = append(s.OneHot, c.Name)
		}
	}
	train, test, err := readSource(source, seed, r)
	if err != nil {
		return nil, err
	}
	for _, t := range []*table{train, test} {
		if err := r.checkTable(t); err != nil {
			return nil, err
		}
	}
	set := &Set{Spec: s.filled(test != nil), recipe: *r}
	if err := set.split(train, test); err != nil {
		return nil, err
	}
	if set.Train.Len() == 0 {
		return nil, fmt.Errorf("task: %s has no sample with a label from %s", train.name, quoted(r.Classes))
	}
	if err := set.apply(r.transform); err != nil {
		return nil, err
	}
	return set, nil
}

// checkTable reports what does not fit in data that have no header which could say so. There may be no table.
func (r *Recipe) checkTable(t *table) error {
	if t == nil {
		return nil
	}
	if r.Pixels > 0 && t.dim != r.Pixels {
		return fmt.Errorf("task: %s holds images of %d pixels, want %d as in the recipe", t.name, t.dim, r.Pixels)
	}
	if r.Source == "synthetic" && !slices.EqualFunc(t.columns, r.Columns, func(a, b Column) bool { return a.Name == b.Name && b.Categories == nil }) {
		return fmt.Errorf("task: %s has the columns %s, which are not those of the recipe", t.name, quoted(t.features))
	}
	for i, l := range t.labels {
		if !r.Subset && !slices.Contains(r.Classes, l) {
			return fmt.Errorf("task: %s: sample %d has the label %q, none of the classes, which are %s", t.name, i, l, quoted(r.Classes))
		}
	}
	return nil
}

// transform standardises, projects and appends the bias. There may be no samples, in a test set of other classes.
func (r *Recipe) transform(d *Data) (_ *Data, err error) {
	if d.Len() == 0 {
		return &Data{Dim: r.width(), Classes: d.Classes, ClassNames: d.ClassNames}, nil
	}
	if r.Standardize != nil {
		if d, err = r.Standardize.Apply(d); err != nil {
			return nil, err
		}
	}
	if r.PCA != nil {
		if d, err = r.PCA.Apply(d); err != nil {
			return nil, err
		}
	}
	if r.Bias {
		d = d.WithBias()
	}
	return d, nil
}

// columns makes a Recipe a layout: its columns wherever they are in the file.
func (r *Recipe) columns(header []string, name string) (label column, features []column, err error) {
	names, at, faults := columnNames(header, name)
	missing := false
	find := func(want, as string, values *index) column {
		i, ok := at[want]
		if !ok {
			missing = true
			faults = append(faults, fmt.Errorf("task: %s has no column %q, which the recipe wants as %s", name, want, as))
		}
		return column{name: want, at: i, values: values}
	}
	for _, c := range r.Columns {
		if c.Categories != nil {
			features = append(features, find(c.Name, "a category", fixedIndex(c.Categories)))
		} else {
			features = append(features, find(c.Name, "a number", nil))
		}
	}
	if r.Subset {
		label = find(r.Label, "the label", newIndex())
	} else {
		label = find(r.Label, "the label", fixedIndex(r.Classes))
	}
	if missing {
		faults = append(faults, fmt.Errorf("task: the columns of %s are %s", name, quoted(names)))
	}
	return label, features, errors.Join(faults...)
}

// CheckFittedOn reports what is wrong with a text for Recipe.FittedOn.
func CheckFittedOn(s string) error {
	if s == "" || len(s) > maxFittedOn || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("task: fitted_on is %q, want 1 to %d bytes of UTF-8, all printable, that say on which data", s, maxFittedOn)
	}
	return nil
}

// Validate reports every fault of the recipe at once.
func (r *Recipe) Validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("task: recipe: "+format, args...))
	}
	if err := CheckFittedOn(r.FittedOn); err != nil {
		faults = append(faults, err)
	}
	switch r.Source {
	case "csv", "synthetic":
		if len(r.Columns) == 0 {
			fault("columns is empty, want the columns to learn from")
		}
		if r.Pixels != 0 {
			fault("pixels is %d, want it left out: the source is %s", r.Pixels, r.Source)
		}
	case "idx":
		if len(r.Columns) > 0 {
			fault("columns has %d columns, want none: the source is idx", len(r.Columns))
		}
		if r.Pixels < 1 || r.Pixels > maxParameters {
			fault("pixels is %d, want 1 to %d", r.Pixels, maxParameters)
		}
	default:
		fault("source is %q, want csv, idx or synthetic", r.Source)
	}
	if csv := r.Source == "csv"; csv && r.Label == "" {
		fault("label is missing, want the column that holds the class")
	} else if !csv && r.Label != "" {
		fault("label is %q, want it left out: the source is %s", r.Label, r.Source)
	}
	used := map[string]bool{}
	if r.Label != "" {
		used[r.Label] = true
	}
	for i, c := range r.Columns {
		if c.Name == "" || used[c.Name] {
			fault("columns[%d].name is %q, want a name that no other column and not the label has", i, c.Name)
		}
		used[c.Name] = true
		if c.Categories != nil && (len(c.Categories) < 1 || len(c.Categories) > maxValues || !distinct(c.Categories)) {
			fault("columns[%d].categories has %d values, want 1 to %d, each once", i, len(c.Categories), maxValues)
		}
	}
	if n := len(r.Classes); n < 2 || n > maxValues || !distinct(r.Classes) || slices.Contains(r.Classes, "") {
		fault("classes has %d labels, want 2 to %d, none of them empty and each once", n, maxValues)
	}
	raw := r.raw()
	if s := r.Standardize; s != nil {
		if len(s.Mean) != raw || len(s.Std) != raw {
			fault("standardize has %d means and %d deviations, want one for each of %d columns", len(s.Mean), len(s.Std), raw)
		}
		if !finite(s.Mean) || !finite(s.Std) || slices.ContainsFunc(s.Std, func(x float64) bool { return x < 0 }) {
			fault("standardize has a number that is not finite, or a negative deviation")
		}
	}
	if p := r.PCA; p != nil {
		if len(p.Mean) != raw {
			fault("pca.mean has %d numbers, want one for each of %d columns", len(p.Mean), raw)
		}
		if n := len(p.Components); n < 1 || n > raw {
			fault("pca.components has %d components, want 1 to %d", n, raw)
		}
		ok := finite(p.Mean)
		for i, c := range p.Components {
			if len(c) != raw {
				fault("pca.components[%d] has %d numbers, want one for each of %d columns", i, len(c), raw)
			}
			ok = ok && finite(c)
		}
		if !ok {
			fault("pca has a number that is not finite")
		}
		if !(p.Scale > 0) || math.IsInf(p.Scale, 0) {
			fault("pca.scale is %v, want a positive number", p.Scale)
		}
	}
	if err := r.Model.Validate(); err != nil {
		faults = append(faults, err)
	} else if n := int64(r.width()) * int64(max(len(r.Classes), r.Model.Hidden)); n > maxParameters {
		fault("the model has about %d parameters, want at most %d", n, maxParameters)
	}
	return errors.Join(faults...)
}

func finite(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

func distinct(values []string) bool {
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		seen[v] = true
	}
	return len(seen) == len(values)
}
