package task

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/eigen"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Predictor applies a trained model to data in the form that the model's recipe describes. It computes predictions and
// contributions in float64, so that other programs can reproduce them. It is safe for concurrent use.
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
	x      []float64          // the model
	origin []float64          // the value at which a column contributes 0, for each column before PCA
	cuts   survival.Intervals // of a survival task
	of     []int              // for each column before PCA, the index in Recipe.Columns of the column that it comes from
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
	p := &Predictor{recipe: r, model: model, origin: make([]float64, r.full())}
	for j, x := range model {
		p.x = append(p.x, float64(x))
		if !finite(p.x[j:]) {
			return nil, fmt.Errorf("task: parameter %d of the model is %v, want a finite number", j, x)
		}
	}
	if r.PCA != nil && r.Standardize == nil {
		p.origin = r.PCA.Mean
	}
	if r.Survival != nil {
		p.cuts = r.Survival.Cuts()
	}
	for k, c := range r.Columns {
		p.of = append(p.of, slices.Repeat([]int{k}, max(1, len(c.Categories)))...)
	}
	if r.Missing != nil {
		for _, name := range r.Missing.Columns {
			p.of = append(p.of, indexOf(r.Columns, name))
		}
	}
	return p, nil
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

// Scores has the figures of one kind of task; the others are nil.
type Scores struct {
	Classes  *score.ClassMetrics
	Numbers  *score.NumberMetrics
	Survival *survival.Metrics
}

// Evaluate measures the model on a source that is valid for Predict and also has labels, targets or times. It computes
// in float32, as in training. If the recipe has a Subset, Evaluate drops samples with labels that are not in the recipe;
// otherwise such labels are an error.
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
	m, scores := r.Model.New(d), Scores{}
	switch {
	case r.Target != nil:
		scores.Numbers, err = m.Errors(p.model)
	case r.Survival != nil:
		scores.Survival, err = m.Survival(p.model, nil)
	default:
		scores.Classes, err = m.judge(p.model, p.Threshold)
	}
	if err != nil {
		err = fmt.Errorf("task: %s: %s", t.name, strings.TrimPrefix(err.Error(), "task: "))
	}
	return scores, err
}

// read reads a source. If labels is false, all rows of a CSV file get the first class, and the label is not read.
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
	return cmp.Or(test, train), err
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
	d := p.raw(t)
	if err := d.checkColumns(p.recipe.raw()); err != nil {
		return nil, err
	}
	d = p.recipe.clean(d)
	said := make([]Prediction, d.Len())
	eigen.Share(d.Len(), func(from, to int) {
		for i := from; i < to; i++ {
			said[i] = p.sample(d.Row(i))
		}
	})
	for i, one := range said {
		if t.ids != nil {
			said[i].ID = t.ids[i]
		}
		if !finite(one.Probability) || !finite(one.Survival) || !finite([]float64{one.Number}) || !finite(one.Contribution) {
			return nil, fmt.Errorf("task: %s: sample %d has numbers too large for the model", t.name, i+1)
		}
	}
	return said, nil
}

// sample returns the prediction for a sample. columns has the values of the sample's columns before PCA.
func (p *Predictor) sample(columns []float32) (said Prediction) {
	row := make([]float64, len(columns))
	for j, v := range columns {
		row[j] = float64(v)
	}
	z := p.outputs(row)
	for k, v := range z {
		if v > z[said.Class] {
			said.Class = k
		}
	}
	if p.recipe.Survival != nil {
		said.Survival = survival.Curve(z[0], p.x[p.recipe.width():])
		said.Median = p.cuts.Median(said.Survival)
	} else if p.recipe.Target != nil {
		said.Number = p.score(z, 0)
	} else if len(z) > 1 {
		said.Probability = slices.Clone(z)
		softmax(said.Probability)
	} else {
		said.Class = max(sideOf(z[0]), 0)
		said.Probability = []float64{vec.Sigmoid(-z[0]), vec.Sigmoid(z[0])}
	}
	score := p.score(z, said.Class)
	for k := range p.recipe.Columns {
		moved := slices.Clone(row)
		for j, of := range p.of {
			if of == k {
				moved[j] = p.origin[j]
			}
		}
		said.Contribution = append(said.Contribution, score-p.score(p.outputs(moved), said.Class))
	}
	return said
}

// outputs returns the logits for a row of values of the columns before PCA. For two classes the only element is the log
// odds of class 1, and for a target the score before the sigmoid.
func (p *Predictor) outputs(row []float64) []float64 {
	r, w := p.recipe, p.x
	if r.PCA != nil {
		projected := make([]float64, len(r.PCA.Components))
		for l, c := range r.PCA.Components {
			for j, x := range row {
				projected[l] += float64(c[j] * (x - r.PCA.Mean[j]))
			}
			projected[l] *= r.PCA.Scale
		}
		row = projected
	}
	if r.Bias {
		row = append(slices.Clip(row), 1)
	}
	if h := r.Model.Hidden; h > 0 {
		n := h * len(row)
		units := products(w[:n], row)
		for k, z := range units {
			units[k] = max(z, float64(leak*z))
		}
		row, w = append(units, 1), w[n:]
	}
	if r.Survival != nil {
		w = w[:len(row)]
	}
	return products(w, row)
}

func products(weights, row []float64) (z []float64) {
	for w := range slices.Chunk(weights, len(row)) {
		z = append(z, eigen.Dot(w, row))
	}
	return z
}

// score returns the score whose changes [Prediction].Contribution reports. z is the result of outputs.
func (p *Predictor) score(z []float64, class int) float64 {
	if t := p.recipe.Target; t != nil {
		return t.at(vec.Sigmoid(z[0]))
	} else if len(z) == 1 {
		return z[0]
	}
	sum := 0.0
	for _, v := range z {
		sum += v
	}
	return z[class] - sum/float64(len(z))
}

func softmax(z []float64) {
	top, sum := math.Inf(-1), 0.0
	for _, v := range z {
		top = max(top, v)
	}
	for k, v := range z {
		z[k] = vec.Exp(v - top)
		sum += z[k]
	}
	for k := range z {
		z[k] /= sum
	}
}
