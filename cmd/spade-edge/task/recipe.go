package task

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
)

const (
	maxFittedOn   = 200     // maximum number of bytes of FittedOn
	maxParameters = 1 << 28 // maximum number of parameters of a fleet's model
)

// Recipe is the preprocessing that [Fit] fitted once, on public data. It turns a device's data, which must have the
// form of the public data, into the columns of a fleet's model. The recipe is public: all members have it in their
// fleet file.
type Recipe struct {
	FittedOn string `json:"fitted_on"` // name of the public data, for a certificate: 1 to 200 printable bytes

	Source  string   `json:"source"`            // the required kind of a device's source: "csv", "idx" or "synthetic"
	Columns []Column `json:"columns,omitempty"` // CSV, generated data: columns to use, in order; the file may have more
	Pixels  int      `json:"pixels,omitempty"`  // IDX: number of pixels of each image

	Label   string   `json:"label,omitempty"`   // CSV: the column of the class or the target; empty for other kinds
	Classes []string `json:"classes,omitempty"` // labels of classes 0, 1, ..., in either letter case; nil with a Target
	Person  string   `json:"person,omitempty"`  // CSV: the column that identifies the person of a row; empty for none
	Subset  bool     `json:"subset,omitempty"`  // true: samples with other labels are dropped; false: they are errors
	Target  *Range   `json:"target,omitempty"`  // range of the numbers to predict; nil if the recipe has classes

	// Survival describes a survival task: Label is the column of the event, and Classes are its labels without and with
	// the event. It is nil for other tasks.
	Survival *survival.Horizon `json:"survival,omitempty"`

	Missing     *Missing      `json:"missing,omitempty"`     // rule for missing cells; if nil, they are an error
	Standardize *Standardizer `json:"standardize,omitempty"` // nil for no standardization
	PCA         *PCA          `json:"pca,omitempty"`         // nil for no projection
	Bias        bool          `json:"bias,omitempty"`        // append a column of ones
	Model       ModelSpec     `json:"-"`                     // the model to train
}

// Column is a feature column of a data file.
type Column struct {
	Name string `json:"name"`
	// Categories turns the column into one column of zeros and ones for each of these values, in this order; a value
	// that is not in the list is an error. If Categories is nil, the cells are numbers.
	Categories []string `json:"categories,omitzero"`
}

func indexOf(columns []Column, name string) int {
	return slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
}

// Fit loads a public data set as [Load] does and returns the fitted recipe for a model. fittedOn becomes
// Recipe.FittedOn. Fit does not use the test split; with s.Whole there is none.
func Fit(s Spec, m ModelSpec, fittedOn string) (*Recipe, error) {
	if err := errors.Join(s.Validate(), m.Validate(), CheckFittedOn(fittedOn)); err != nil {
		return nil, err
	}
	set, err := Load(s)
	if err != nil {
		return nil, err
	}
	return set.Recipe(m, fittedOn)
}

// Recipe returns the preprocessing of the set as a recipe for a model. fittedOn becomes Recipe.FittedOn.
func (set *Set) Recipe(m ModelSpec, fittedOn string) (*Recipe, error) {
	r := set.recipe
	r.FittedOn, r.Model = fittedOn, m
	return &r, r.Validate()
}

// raw returns the number of data columns made from the columns of the file, without columns that mark missing cells.
func (r *Recipe) raw() int {
	n := r.Pixels
	for _, c := range r.Columns {
		n += max(1, len(c.Categories))
	}
	return n
}

// full returns the number of columns before PCA, including columns that mark missing cells.
func (r *Recipe) full() int {
	if r.Missing != nil {
		return r.raw() + len(r.Missing.Columns)
	}
	return r.raw()
}

// outputs returns the number of classes, which is 2 for a target, low and high; for a survival task that of intervals.
func (r *Recipe) outputs() int {
	if r.Target != nil {
		return len(sides)
	} else if r.Survival != nil {
		return r.Survival.Cuts().Len()
	}
	return len(r.Classes)
}

func (r *Recipe) width() int {
	n := r.full()
	if r.PCA != nil {
		n = len(r.PCA.Components)
	}
	if r.Bias {
		n++
	}
	return n
}

// Dim returns the number of the model's parameters.
func (r *Recipe) Dim() int { return r.Model.Dim(r.width(), r.outputs()) }

// Start returns the start vector that all members of a run with the recipe's model share; see [ModelSpec.Start].
func (r *Recipe) Start(seed uint64) []float32 {
	if r.Survival != nil {
		return append(make([]float32, r.width()), r.Survival.Start()...)
	}
	return r.Model.Start(r.width(), r.outputs(), seed)
}

// Apply loads and prepares a device's data, from a source of the recipe's kind. It uses only Source, Files, TestFraction,
// NA, Whole, Records and Seed of s. A device need not have samples of all classes. For the data that the recipe was fitted
// on, the result has the same bits as with [Load]. Errors name the file, line and column. Apply reports all errors
// in a header, or the first ten in the cells.
//
// With s.Records each line of a CSV file below the header is a record: it keeps its place, and no other record depends
// on its content. A line is lost, even if the recipe has a Subset, if the line is empty, has fewer or more cells than
// the header, has a stray or open quote, or has one of these cells: a cell that is not a number or not a category of
// its column, a missing cell if the recipe has no rule for missing cells, or a label that is missing or not a class.
// The loss of a lost line is NaN in Train, for all parameters; Test does not contain the line. A comma in a number is a
// decimal comma; but unless semicolons separate the cells, a number such as 1,234 is ambiguous and its line is lost. A
// line without a person counts as a separate person. [Recipe.ForRecords] rejects recipes with which lines cannot keep
// their place.
func (r *Recipe) Apply(s Spec) (*Set, error) {
	if err := errors.Join(r.Validate(), checkFraction(s.TestFraction)); err != nil {
		return nil, err
	}
	if s.Records {
		if err := r.ForRecords(); err != nil {
			return nil, err
		}
	}
	standardize, bias := r.Standardize != nil, r.Bias
	s = Spec{
		Source: s.named().Source, Files: s.Files, NA: s.NA, TestFraction: s.TestFraction, Whole: s.Whole, Seed: s.Seed, Records: s.Records, Once: s.Once,
		Label: r.Label, Person: r.Person, Labels: r.Classes, Standardize: &standardize, Bias: &bias,
	}
	if r.Target != nil {
		s.Label, s.Target = "", r.Label
	}
	train, test, err := r.read(s, nil)
	if err != nil {
		return nil, err
	}
	set := &Set{Spec: s.filled(test != nil), Unread: train.unread, recipe: *r}
	err = errors.Join(r.checkTable(train), r.checkTable(test))
	if err == nil {
		err = set.split(train, test)
	}
	if err == nil && set.Train.Len() == 0 {
		err = fmt.Errorf("task: %s has no sample with one of the labels %s", train.name, quoted(r.Classes))
	}
	if err != nil {
		return nil, err
	}
	set.Rows = len(train.lost)
	set.Lost = set.Rows - len(slices.DeleteFunc(slices.Clone(train.lost), func(lost bool) bool { return lost }))
	set.Train, set.Test = r.prepare(set.Train), r.prepare(set.Test.keep())
	set.Train.spoil()
	return set, nil
}

// Raw reads the samples of a CSV file or of generated patients without preparation, for inspection. A missing number is
// NaN; if a category is missing, all of its column's zeros and ones are NaN. Raw uses only Source, NA, Records and Seed
// of s. With s.Records it drops lines that [Recipe.Apply] cannot read. unknown is called for each value that is not a
// category of its column.
func (r *Recipe) Raw(s Spec, unknown func(column, value string)) (*Data, error) {
	t, _, err := r.read(s, unknown)
	if err != nil {
		return nil, err
	}
	d := t.data(r).keep()
	d.Notes = t.notes
	return d, nil
}

// read reads the data that s names, which must be of the recipe's kind. unknown is as in layout; test may be nil.
func (r *Recipe) read(s Spec, unknown func(column, cell string)) (train, test *table, err error) {
	if err := r.checkSource(s.Source); err != nil {
		return nil, nil, err
	}
	reader := *r
	reader.Subset = r.Subset && !s.Records
	train, test, err = s.read(reader.layout(s.NA, unknown))
	if err == nil && s.Records {
		train.canLose()
		test.canLose()
	}
	return train, test, err
}

func (r *Recipe) checkSource(source string) error {
	if err := CheckSource(source); err != nil {
		return err
	}
	if !strings.HasPrefix(source, r.Source+":") {
		return fieldError("data", "%q, want %s data, like that of the recipe", source, r.Source)
	}
	return nil
}

func (r *Recipe) clean(d *Data) *Data {
	if r.Missing != nil && r.Missing.Fill != nil {
		d = r.fill(d)
	}
	if r.Standardize != nil {
		d = r.Standardize.apply(d)
	}
	return d
}

// prepare returns the columns of the model for data that has the columns of the recipe.
func (r *Recipe) prepare(d *Data) *Data { return r.project(r.clean(d)) }

// project returns the columns of the model for data that has clean columns of the recipe.
func (r *Recipe) project(d *Data) *Data {
	if r.PCA != nil {
		d = r.PCA.apply(d)
	}
	if r.Bias {
		d = d.WithBias()
	}
	return d.rounded()
}

// checkShape checks that images and generated patients, whose source has no header to reveal a mismatch, have the columns of
// the recipe.
func (r *Recipe) checkShape(t *table) error {
	if r.Pixels > 0 && t.dim != r.Pixels {
		return fmt.Errorf("task: %s holds images of %d pixels, want %d as in the recipe", t.name, t.dim, r.Pixels)
	}
	same := func(a, b Column) bool { return a.Name == b.Name && b.Categories == nil }
	if r.Source == "synthetic" && !slices.EqualFunc(t.columns, r.Columns, same) {
		return fmt.Errorf("task: %s has the columns %s, want the columns of the recipe", t.name, quoted(t.features))
	}
	return nil
}

// checkTable is like checkShape, but also checks the labels. t may be nil.
func (r *Recipe) checkTable(t *table) error {
	if t == nil {
		return nil
	} else if err := r.checkShape(t); err != nil {
		return err
	}
	for i, l := range t.labels {
		if !r.Subset && t.lost == nil && !slices.Contains(r.Classes, l) {
			return fmt.Errorf("task: %s: sample %d has the label %q, want one of %s",
				t.name, i, l, quoted(r.Classes))
		}
	}
	return nil
}

// layout returns a layout that finds the columns of the recipe anywhere in a file. na is as in [Spec].NA. unknown is
// called for each value that is not a category of its column; if it is nil, such a value is an error.
func (r *Recipe) layout(na []string, unknown func(column, cell string)) layout {
	return func(h *csvFile) (columns []*column) {
		h.na = na
		find := func(name, as string) *column {
			return h.column(name, fmt.Errorf("task: %s has no column %q, which the recipe needs as %s", h.name, name, as))
		}
		for _, c := range r.Columns {
			if c.Categories == nil {
				columns = append(columns, find(c.Name, "a number"))
			} else {
				category := find(c.Name, "a category").known(c.Categories)
				category.fixed, category.unknown = true, unknown
				columns = append(columns, category)
			}
		}
		if r.Person != "" {
			h.person = find(r.Person, "the person of a row")
		}
		if r.Missing != nil {
			h.rule = r.Missing.Rule
		}
		if r.Target != nil {
			return append(columns, find(r.Label, "the target"))
		}
		if r.Survival != nil {
			time := find(r.Survival.Time, "the time")
			time.time = true
			columns = append(columns, time)
		}
		label := find(r.Label, "the label").known(r.Classes)
		label.fixed = !r.Subset
		return append(columns, label)
	}
}

// CheckFittedOn returns an error if s is not a valid value for Recipe.FittedOn.
func CheckFittedOn(s string) error {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if s == "" || len(s) > maxFittedOn || !utf8.ValidString(s) || strings.ContainsFunc(s, hidden) {
		return fmt.Errorf("task: fitted_on is %q, want 1 to %d bytes of printable UTF-8 that describe the data",
			s, maxFittedOn)
	}
	return nil
}

// Validate reports all errors of the recipe at once. It names fields as in the fleet file.
func (r *Recipe) Validate() error {
	faults := []error{CheckFittedOn(r.FittedOn), r.Model.Validate()}
	want := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("task: recipe: "+format, args...))
		}
	}
	isCSV, isIDX := r.Source == "csv", r.Source == "idx"
	if !isCSV && !isIDX && r.Source != "synthetic" {
		want(false, "source is %q, want csv, idx or synthetic", r.Source)
	} else {
		want(isIDX == (len(r.Columns) == 0), "columns has %d columns, want none for the source idx, else at least one", len(r.Columns))
		want(isIDX == (r.Pixels > 0) && r.Pixels >= 0 && r.Pixels <= maxParameters,
			"pixels is %d, want 1 to %d for the source idx, else the field omitted", r.Pixels, maxParameters)
		want(isCSV == (r.Label != ""), "label is %q, want the column of the class for the source csv, else the field omitted", r.Label)
	}
	want(trimmed(r.Label), "label is %q, want the name without spaces around it", r.Label)
	want(r.Person == "" || isCSV && trimmed(r.Person) && r.Person != r.Label, "person is %q, want the name of a column other than "+
		"the label, without spaces around it, and the source csv", r.Person)
	used := map[string]bool{"": true, r.Label: true, r.Person: true}
	for i, c := range r.Columns {
		want(!used[c.Name] && trimmed(c.Name), "columns[%d].name is %q, want a name without spaces around it that neither the label nor "+
			"another column has", i, c.Name)
		used[c.Name] = true
		want(c.Categories == nil || distinct(c.Categories, 1), "columns[%d].categories has %d values, want 1 to %d, distinct and without "+
			"spaces around them", i, len(c.Categories), maxValues)
	}
	if r.Target != nil {
		want(r.Target.check() == nil && isCSV,
			"target is %v, want two float32 numbers, the lower one first, and the source csv", *r.Target)
		want(len(r.Classes) == 0 && !r.Subset, "classes has %d labels, want none with a target", len(r.Classes))
	}
	if h := r.Survival; h != nil {
		faults = append(faults, h.Validate())
		want(isCSV && len(r.Classes) == 2 && !r.Subset && !r.Bias && r.Target == nil, "survival is given, want the source csv, two classes, and "+
			"no subset, bias or target")
		want(h.Time != r.Label && h.Time != r.Person && indexOf(r.Columns, h.Time) < 0, "survival.time is %q, want a column of its own", h.Time)
	}
	if err := r.Model.Fits(kindOf(r.Target != nil, r.Survival != nil)); err != nil && r.Model.Validate() == nil {
		faults = append(faults, err)
	}
	if r.Missing != nil {
		faults = append(faults, checkRule(r.Missing.Rule))
		r.Missing.validate(r, want)
	}
	want(r.Target != nil || distinct(r.Classes, 2) && !slices.Contains(r.Classes, ""),
		"classes has %d labels, want 2 to %d, distinct, not empty and without spaces around them", len(r.Classes), maxValues)
	if r.Standardize != nil {
		r.Standardize.validate(r, want)
	}
	if r.PCA != nil {
		r.PCA.validate(r, want)
	}
	n := int64(r.width()) * int64(max(r.outputs(), r.Model.Hidden))
	want(n <= maxParameters || r.Model.Validate() != nil,
		"the model has about %d parameters, want at most %d", n, maxParameters)
	return errors.Join(faults...)
}
