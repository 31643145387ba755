package task

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Spec says which data set to load and how to prepare it.
type Spec struct {
	// Source is "idx:DIR", "csv:FILE" or "synthetic:clinical".
	//
	// DIR holds train-images-idx3-ubyte and train-labels-idx1-ubyte, and with t10k- or test- in place of train- the
	// test set; or images-idx3-ubyte and labels-idx1-ubyte alone. Each may be gzipped and then may end in .gz. Pixels
	// are scaled to [0, 1].
	//
	// FILE has a header line. Its categories are read from the whole file: like its columns, they count as public.
	Source string

	// For CSV only, names of columns: the one that holds the class (required), those to leave out, and those that
	// become one 0/1 column for each of their values.
	Label  string
	Drop   []string
	OneHot []string

	// Labels selects classes and gives their order: samples with other labels are left out. None takes all, sorted by
	// number if all are numbers.
	Labels []string

	// PCA is the number of principal components to project on, 0 for none.
	PCA int

	// Standardize brings each column to mean 0 and variance 1, before PCA; Bias appends a column of ones at the end.
	// Nil means yes for CSV and synthetic data, no for IDX.
	Standardize, Bias *bool

	// TestFraction is the share of samples to test on, 0 for 0.2. It is not used if the source has a test set of its
	// own.
	TestFraction float64

	// Seed picks the test samples and generates synthetic data.
	Seed uint64
}

// FieldError is a fault of a setting: of a field of a [Spec], or of the text of a [Partition].
type FieldError struct {
	Field string // data, label, drop, onehot, labels, pca, test_fraction or partition
	Fault string // what was found and what was wanted; it follows the name of the field
}

// Error names the field.
func (e *FieldError) Error() string { return "task: " + e.Field + " " + e.Fault }

func fieldError(field, format string, args ...any) error {
	return &FieldError{Field: field, Fault: fmt.Sprintf(format, args...)}
}

// Validate reports every fault that can be found without opening a file. Load does so as well.
func (s Spec) Validate() error {
	faults := []error{CheckSource(s.Source), checkFraction(s.TestFraction)}
	want := func(ok bool, field, format string, args ...any) {
		if !ok {
			faults = append(faults, fieldError(field, format, args...))
		}
	}
	isCSV := s.kind() == "csv"
	want(!isCSV || s.Label != "", "label", "is missing, want the name of the column that holds the class in %s", s.Source)
	want(isCSV || s.Label == "" && len(s.Drop) == 0 && len(s.OneHot) == 0, "label",
		"%q, drop %q, onehot %q: only for data csv:FILE, not for %q", s.Label, s.Drop, s.OneHot, s.Source)
	used := map[string]string{}
	for _, f := range s.csvFields() {
		for _, v := range f.columns {
			first, again := used[v]
			want(!again || !isCSV, f.name, "%q: that column is already in %s", v, first)
			used[v] = f.name
		}
	}
	want(len(s.Labels) != 1, "labels", "%q, want at least two, or none for all", s.Labels)
	for i, l := range s.Labels {
		want(!slices.Contains(s.Labels[:i], l), "labels", "%s: %q is there twice", strings.Join(s.Labels, ","), l)
	}
	want(s.PCA >= 0, "pca", "%d, want a number of components, or 0 for none", s.PCA)
	return errors.Join(faults...)
}

// csvFields returns the fields that name columns of a CSV file.
func (s Spec) csvFields() []csvField {
	return []csvField{{"label", []string{s.Label}}, {"drop", s.Drop}, {"onehot", s.OneHot}}
}

type csvField struct {
	name    string
	columns []string
}

// CheckSource reports what is wrong with the name of a source, as Spec has it, without opening a file.
func CheckSource(source string) error {
	kind, arg, _ := strings.Cut(source, ":")
	switch {
	case kind != "idx" && kind != "csv" && kind != "synthetic":
		return fieldError("data", "%q, want idx:DIR, csv:FILE or synthetic:clinical", source)
	case arg == "":
		return fieldError("data", "%q names nothing behind the colon, want idx:DIR, csv:FILE or synthetic:clinical", source)
	case kind == "synthetic" && arg != "clinical":
		return fieldError("data", "%q, want synthetic:clinical", source)
	}
	return nil
}

func checkFraction(f float64) error {
	if !(f >= 0 && f < 1) {
		return fieldError("test_fraction", "%v, want more than 0 and less than 1", f)
	}
	return nil
}

// kind returns what stands before the colon of the source.
func (s Spec) kind() string {
	kind, _, _ := strings.Cut(s.Source, ":")
	return kind
}

// filled returns the Spec with the defaults that do not depend on the data.
func (s Spec) filled(ownTest bool) Spec {
	standardize := s.kind() != "idx"
	bias := standardize
	s.Standardize, s.Bias = cmp.Or(s.Standardize, &standardize), cmp.Or(s.Bias, &bias)
	s.TestFraction = cmp.Or(s.TestFraction, 0.2)
	if ownTest {
		s.TestFraction = 0
	}
	return s
}
