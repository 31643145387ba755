package task

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/eigen"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Predictor applies a trained model to data in the form that the model's recipe describes. It is safe for concurrent use.
type Predictor struct {
	// Unknown, if not nil, is called for each value that is not a category of its column; the sample then has none of
	// the column's categories. If Unknown is nil, such a value is an error.
	Unknown func(column, value string)
	// Raw, if not nil, is called with the samples as read, before any preparation; see [Recipe.Raw].
	Raw func(*Data)
	NA  []string // markers of missing cells, as in [Spec]

	// Threshold, if not nil, returns the lowest probability of class 1 at which Evaluate, for two classes, predicts
	// class 1. Its arguments are, for each sample, the true class and the probability of class 1.
	Threshold func(is []int, probability []float64) (float64, error)

	recipe *Recipe
	model  []float32
}

// Prediction is the output of a model for one sample.
type Prediction struct {
	// ID is the cell that identifies the row. It is in the recipe's Person column or, without Person, in the first
	// column that is not in the recipe and is called id, patient_id, PatientID or the like. ID is empty if there is no
	// such column.
	ID          string
	Class       int       // index in Recipe.Classes of the most probable class; the lowest if several are
	Probability []float64 // probability of each class; nil if the recipe has a target
	Number      float64   // the predicted target, in the target's unit; 0 if the recipe has none
	// Survival has, for a survival task, the probability of surviving beyond each finite end of the horizon; nil for other
	// tasks. Median is the time in days before which half of such samples have the event, or nil if that lies beyond the
	// last end.
	Survival []float64
	Median   *float64
	// Contribution has a number for each of Recipe.Columns: the score minus the score that the sample would have with
	// this column at its mean in the data that the recipe was fitted on (or at zero if the recipe has neither
	// standardization nor PCA). The score is Number for a target and the log odds of class 1 for two classes. For more
	// classes the score is the logit of Class minus the mean of all logits. For survival it is the log odds of the event in
	// any interval. Contribution is nil for images.
	//
	// For softmax the contribution is the weight times the standardized value, summed over all model columns made from
	// the column: its categories and the marker of its missing cells.
	Contribution []float64
}

// Predictor returns a Predictor for a model with Recipe.Dim parameters. It keeps both the recipe and the model, which
// must not change.
func (r *Recipe) Predictor(model []float32) (*Predictor, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if len(model) != r.Dim() {
		return nil, fmt.Errorf("task: found %d parameters, want %d for the model %v", len(model), r.Dim(), r.Model)
	}
	for j, x := range model {
		if !finite([]float64{float64(x)}) {
			return nil, fmt.Errorf("task: parameter %d of the model is %v, want a finite number", j, x)
		}
	}
	return &Predictor{recipe: r, model: model}, nil
}

// Predict applies the model to each sample of a source, which is named as in [Spec].Source and must be of the recipe's
// kind; "csv:-" reads stdin. From a CSV file, Predict reads only the recipe's feature columns. The label may be missing; other
// cells may be missing only if the recipe has a rule for missing cells. From images, Predict uses the test set if there
// is one. seed generates the patients of a synthetic source. Predict reports errors in the data as [Recipe.Apply] does.
func (p *Predictor) Predict(source string, stdin io.Reader, seed uint64) ([]Prediction, error) {
	t, err := p.read(source, stdin, seed, false)
	if err != nil {
		return nil, err
	}
	return p.predict(t)
}

// Evaluate measures the model on a source that is valid for Predict and also has labels, targets or times. If the recipe
// has a Subset, Evaluate drops samples with labels that are not in the recipe; otherwise such labels are an error.
func (p *Predictor) Evaluate(source string, stdin io.Reader, seed uint64) (Scores, error) {
	r := p.recipe
	t, err := p.read(source, stdin, seed, true)
	if err == nil {
		err = r.checkTable(t)
	}
	if err != nil {
		return Scores{}, err
	}
	d := r.prepare(p.raw(t))
	if d.Len() == 0 {
		return Scores{}, fmt.Errorf("task: %s has no sample with one of the labels %s", t.name, quoted(r.Classes))
	}
	scores, err := r.Model.New(d).judge(p.model, p.Threshold)
	return scores, in(t, err)
}

// in adds the name of the source to an error about its samples.
func in(t *table, err error) error {
	if err != nil {
		err = fmt.Errorf("task: %s: %s", t.name, strings.TrimPrefix(err.Error(), "task: "))
	}
	return err
}

// read reads a source. If labels is false, all samples get the first class, and the label of a CSV file is not read.
func (p *Predictor) read(source string, stdin io.Reader, seed uint64, labels bool) (*table, error) {
	if err := p.recipe.checkSource(source); err != nil {
		return nil, err
	}
	l := p.layout(labels)
	if source == "csv:-" && stdin != nil {
		r, err := readCSV(stdin, "standard input", false, l)
		if err != nil {
			return nil, err
		}
		return r.table(), nil
	}
	train, test, err := Spec{Source: source, Seed: seed}.read(l)
	if err != nil {
		return nil, err
	}
	t := cmp.Or(test, train)
	for i := range t.labels {
		if !labels { // images may have labels that are not in the recipe
			t.labels[i] = p.recipe.Classes[0]
		}
	}
	return t, nil
}

func (p *Predictor) layout(labels bool) layout {
	return func(h *csvFile) []*column {
		h.id = p.idOf(h)
		r := *p.recipe
		r.Person = ""
		if !labels {
			r.Survival = nil
			r.Label = h.names[0] // any column of the file, because its cells are ignored
		}
		columns := r.layout(p.NA, p.Unknown)(h)
		if !labels {
			columns[len(columns)-1].ignored = true // for classes: every row gets the first class
			if h.rule == dropRows {
				h.rule = "" // no row may be dropped silently
			}
		}
		return columns
	}
}

// idOf returns the column of a file that identifies a row, or nil.
func (p *Predictor) idOf(h *csvFile) *column {
	is := func(name string) bool {
		other := name != p.recipe.Label && indexOf(p.recipe.Columns, name) < 0
		lower := strings.ToLower(name)
		return other && (lower == "id" || strings.HasSuffix(lower, "_id") || strings.HasSuffix(lower, " id") || strings.HasSuffix(name, "ID"))
	}
	at := slices.Index(h.names, cell.Clean(p.recipe.Person)) // no name is empty
	if at < 0 {
		at = slices.IndexFunc(h.names, is)
	}
	if at < 0 {
		return nil
	}
	return &column{Column: Column{Name: h.names[at]}, at: at}
}

// raw returns the samples of a table without preparation, after it has called p.Raw.
func (p *Predictor) raw(t *table) *Data {
	d := t.data(p.recipe)
	if p.Raw != nil {
		p.Raw(d)
	}
	return d
}

func (p *Predictor) predict(t *table) ([]Prediction, error) {
	r := p.recipe
	if err := r.checkShape(t); err != nil {
		return nil, err
	}
	d := p.raw(t)
	if r.Survival != nil { // the source has no times
		d.Time, d.Horizon = make([]float64, d.Len()), r.Survival
	}
	d = r.clean(d)
	m := r.Model.New(r.project(d))
	answers, err := m.Answers(p.model)
	if err != nil {
		return nil, in(t, err)
	}
	said := make([]Prediction, len(answers))
	for i, a := range answers {
		one := &said[i]
		switch {
		case r.Survival != nil:
			one.Survival, one.Median = a, r.Survival.Cuts().Median(a)
		case r.Target != nil:
			one.Number = a[0]
		default:
			one.Class, one.Probability = m.predict(p.model, i), a
		}
		if t.ids != nil {
			one.ID = t.ids[i]
		}
	}
	if r.Columns != nil {
		p.explain(said, m, d)
	}
	for i, one := range said {
		if !finite(one.Contribution) {
			return nil, in(t, fmt.Errorf(tooLarge, i+1))
		}
	}
	return said, nil
}

// explain sets the contributions to predictions. d has the columns before PCA.
func (p *Predictor) explain(said []Prediction, m *Model, d *Data) {
	r, project := p.recipe, p.recipe.project
	origin := make([]float32, d.Dim) // where a column contributes 0
	if r.PCA == nil {
		d, project = r.project(d), func(d *Data) *Data { return d }
	} else if r.Standardize == nil {
		for j, x := range r.PCA.Mean {
			origin[j] = float32(x)
		}
	}
	scores := make([]float64, len(said))
	for i := range said {
		scores[i] = m.explained(p.model, i, said[i].Class)
		said[i].Contribution = make([]float64, len(r.Columns))
	}
	first := firstOf(r.Columns)
	eigen.Share(len(first), func(from, to int) {
		for k := from; k < to; k++ {
			end, mark := first[k]+max(1, len(r.Columns[k].Categories)), -1
			if r.Missing != nil {
				mark = slices.Index(r.Missing.Columns, r.Columns[k].Name)
			}
			moved := d.rounded()
			moved.X = slices.Clone(d.X)
			for i := range said {
				row := moved.Row(i)
				copy(row[first[k]:end], origin[first[k]:end])
				if at := r.raw() + mark; mark >= 0 {
					row[at] = origin[at]
				}
			}
			without := m.On(project(moved))
			for i, one := range said {
				one.Contribution[k] = scores[i] - without.explained(p.model, i, one.Class)
			}
		}
	})
}

// explained returns the score whose changes [Prediction].Contribution reports.
func (m *Model) explained(x []float32, sample, class int) float64 {
	if m.head.classes == 2 {
		z := m.score(x, sample)
		if m.goal != nil {
			z = m.data.Range.at(vec.Sigmoid(z))
		}
		return z
	}
	var u units
	w, a := m.last(&u, x, sample)
	mean, own := 0.0, 0.0
	for k := range m.head.classes {
		z := vec.Dot(w[k*len(a):(k+1)*len(a)], a)
		if mean += z / float64(m.head.classes); k == class {
			own = z
		}
	}
	return own - mean
}
