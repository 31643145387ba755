package task

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Predictor applies a trained model to data that its recipe describes. It is safe for concurrent use.
type Predictor struct {
	// Unknown, if not nil, is told of each value of a column of categories that is none of them; the sample then belongs
	// to none. If it is nil such a value is an error.
	Unknown func(column, value string)

	recipe *Recipe
	x      []float32
	head   linear
	back   [][]float64 // the weights of each unit, or of each output, on the columns before PCA
	origin []float64   // of these columns, the values at which they contribute nothing
}

// Prediction is what a model says of one sample.
type Prediction struct {
	Class       int       // the most probable one, in Recipe.Classes; the first of equally probable ones
	Probability []float64 // of each class
	// Contribution is, for each of Recipe.Columns, how much the score would be lower if the column had its mean in the
	// data that the recipe was fitted on. Without standardisation and PCA it is zero in place of the mean. The score is
	// the log odds of class 1 for two classes, and else the logit of Class less the mean of all logits. For softmax this
	// is the weight times the standardised value, summed over the columns that a column of categories becomes.
	// It is nil for images.
	Contribution []float64
}

// Predictor returns what applies a model, of Recipe.Dim parameters, which it keeps and which must not change.
func (r *Recipe) Predictor(model []float32) (*Predictor, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if len(model) != r.Dim() {
		return nil, fmt.Errorf("task: a model of %d parameters, want %d for the recipe's %v", len(model), r.Dim(), r.Model)
	}
	for j, x := range model {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("task: parameter %d of the model is %v, want a finite number", j, x)
		}
	}
	width := r.width()
	p := &Predictor{recipe: r, x: model, head: r.Model.head(width, len(r.Classes)), origin: make([]float64, r.raw())}
	if r.PCA != nil && r.Standardize == nil {
		p.origin = r.PCA.Mean
	}
	if r.Columns == nil {
		return p, nil
	}
	for f := range p.firsts() {
		row, back := model[f*width:(f+1)*width], make([]float64, r.raw())
		for j := range back {
			if r.PCA == nil {
				back[j] = float64(row[j])
				continue
			}
			for l, c := range r.PCA.Components {
				back[j] += float64(float64(row[l]) * float64(r.PCA.Scale*c[j]))
			}
		}
		p.back = append(p.back, back)
	}
	return p, nil
}

// firsts returns how many rows of weights meet the columns.
func (p *Predictor) firsts() int {
	if h := p.recipe.Model.Hidden; h > 0 {
		return h
	}
	return p.head.parameters() / p.head.dim
}

// Predict says something of each sample of a source of the recipe's kind, as [Spec] has it; "csv:-" reads from stdin. Of
// a CSV file it reads the recipe's columns alone: the label may be missing. Of images with a test set it takes that. seed
// is for generated patients. Errors are those of [Recipe.Apply].
func (p *Predictor) Predict(source string, stdin io.Reader, seed uint64) ([]Prediction, error) {
	t, err := p.read(source, stdin, seed, false)
	if err != nil {
		return nil, err
	}
	said, _, err := p.predict(t)
	return said, err
}

// Evaluate judges the model by the labels of a source that Predict could read. Samples with other labels than the
// recipe's are left out if it says so, and else an error.
func (p *Predictor) Evaluate(source string, stdin io.Reader, seed uint64) (*ClassMetrics, error) {
	t, err := p.read(source, stdin, seed, true)
	if err == nil {
		err = p.recipe.checkTable(t)
	}
	if err != nil {
		return nil, err
	}
	all, is, err := p.predict(t)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("task: %s has no sample with a label from %s", t.name, quoted(p.recipe.Classes))
	}
	said := make([]int, len(all))
	var ones []float64
	for i, one := range all {
		said[i] = one.Class
		if p.head.classes == 2 {
			ones = append(ones, one.Probability[1])
		}
	}
	return JudgeClasses(p.head.classes, is, said, ones)
}

// PredictRow is Predict for one sample: its cells, by the names of columns. Columns that the recipe does not have are
// left alone.
func (p *Predictor) PredictRow(cells map[string]string) (*Prediction, error) {
	h := &header{file: "the row", names: []string{""}}
	for name := range cells {
		h.names = append(h.names, name)
	}
	features, label := p.layout(h, false)
	if h.faults != nil {
		return nil, errors.Join(h.faults...)
	}
	row := make([]float32, 0, len(features)+1)
	var faults []error
	for _, c := range features {
		cell := strings.TrimSpace(cells[c.Name])
		v, wrong := c.read(h, cell, 1)
		if wrong != "" {
			faults = append(faults, fmt.Errorf("task: column %q: %q %s", c.Name, cell, wrong))
		}
		row = append(row, v)
	}
	if err := h.numbers.fault(h.file); err != nil {
		faults = append(faults, err)
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	all, _, err := p.predict(csvTable(h.file, features, label, append(row, 0)))
	if err != nil {
		return nil, err
	}
	return &all[0], nil
}

// read reads a source. Without labels, of a CSV file, all rows have the first class.
func (p *Predictor) read(source string, stdin io.Reader, seed uint64, labels bool) (*table, error) {
	kind, arg, _ := strings.Cut(source, ":")
	if err := CheckSource(source); err != nil {
		return nil, err
	}
	if kind != p.recipe.Source {
		return nil, fieldError("data", "%q, want data from %s, as the recipe was fitted on", source, p.recipe.Source)
	}
	l := func(h *header) (features []*column, label *column) { return p.layout(h, labels) }
	if kind == "csv" && arg == "-" && stdin != nil {
		return readCSV(stdin, "standard input", l)
	}
	train, test, err := readSource(source, seed, l)
	if test != nil {
		train = test
	}
	return train, err
}

// layout is the recipe's, with or without the label.
func (p *Predictor) layout(h *header, labels bool) (features []*column, label *column) {
	r := *p.recipe
	if !labels {
		r.Label = h.names[0] // any column that there is
	}
	features, label = r.layout(h)
	if !labels {
		label.Categories, label.ignored = r.Classes[:1], true
	}
	for _, c := range features {
		c.unknown = p.Unknown
	}
	return features, label
}

// predict prepares the rows of a table and applies the model to each.
func (p *Predictor) predict(t *table) (said []Prediction, is []int, err error) {
	r := p.recipe
	raw := t.data(r.Classes)
	if s := r.Standardize; s != nil {
		if raw, err = s.Apply(raw); err != nil {
			return nil, nil, err
		}
	}
	d := raw
	if r.PCA != nil {
		if d, err = r.PCA.Apply(raw); err != nil {
			return nil, nil, err
		}
	}
	if r.Bias {
		d = d.WithBias()
	}
	if err := d.checkColumns(r.width()); err != nil {
		return nil, nil, err
	}
	said = make([]Prediction, d.Len())
	share(d.Len(), func(from, to int) {
		for i := from; i < to; i++ {
			p.sample(&said[i], d.Row(i), raw.Row(i))
		}
	})
	for i := range said {
		if math.IsNaN(said[i].Probability[0]) {
			return nil, nil, fmt.Errorf("task: %s: sample %d has numbers too large for the model", t.name, i+1)
		}
	}
	return said, d.Y, nil
}

// sample predicts from the columns of the model, and tells contributions from those before PCA.
func (p *Predictor) sample(to *Prediction, a, raw []float32) {
	first := make([]float64, p.firsts())
	for f := range first {
		first[f] = vec.Dot(p.x[f*len(a):(f+1)*len(a)], a)
	}
	z := p.outputs(first)
	to.Probability = probabilities(z)
	if len(z) == 1 && z[0] > 0 {
		to.Class = 1
	}
	for k, v := range z {
		if v > z[min(to.Class, len(z)-1)] {
			to.Class = k
		}
	}
	score := p.score(z, to.Class)
	moved := make([]float64, len(first))
	at := 0
	for _, c := range p.recipe.Columns {
		copy(moved, first)
		for range max(1, len(c.Categories)) {
			for f, back := range p.back {
				moved[f] -= float64(back[at] * (float64(raw[at]) - p.origin[at]))
			}
			at++
		}
		to.Contribution = append(to.Contribution, score-p.score(p.outputs(moved), to.Class))
	}
}

// outputs returns the logits, or the log odds of class 1 of two, from the products of the first rows of weights.
func (p *Predictor) outputs(first []float64) []float64 {
	hidden := p.recipe.Model.Hidden
	z := first
	if hidden > 0 {
		var u units
		for h, v := range first {
			if v < 0 {
				v *= leak
			}
			u[h] = float32(v)
		}
		u[hidden] = 1
		w := p.x[hidden*p.recipe.width():]
		z = make([]float64, len(w)/(hidden+1))
		for k := range z {
			z[k] = vec.Dot(w[k*(hidden+1):(k+1)*(hidden+1)], u[:hidden+1])
		}
	}
	return z
}

// score is what contributions are parts of.
func (p *Predictor) score(z []float64, class int) float64 {
	if len(z) == 1 {
		return z[0]
	}
	sum := 0.0
	for _, v := range z {
		sum += v
	}
	return z[class] - sum/float64(len(z))
}

// probabilities are those of the logits, or of the log odds of class 1 of two.
func probabilities(z []float64) []float64 {
	if len(z) == 1 {
		return []float64{sigmoid(-z[0]), sigmoid(z[0])}
	}
	p, top, sum := make([]float64, len(z)), math.Inf(-1), 0.0
	for _, v := range z {
		top = max(top, v)
	}
	for k, v := range z {
		p[k] = vec.Exp(v - top)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}
