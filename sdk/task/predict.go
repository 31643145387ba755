package task

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Predictor applies a trained model to data that its recipe describes. It computes in float64 what training computes in
// float32, so that others can get the same numbers. It is safe for concurrent use.
type Predictor struct {
	// Unknown, if not nil, is told of each value of a column of categories that is none of them; the sample then belongs
	// to none. If it is nil such a value is an error.
	Unknown func(column, value string)

	recipe *Recipe
	x      []float64
	head   linear
	back   [][]float64 // the weights of each unit, or of each output, on the columns before PCA
	origin []float64   // of these columns, the values at which they contribute nothing
	of     []int       // of each of these columns, the one of Recipe.Columns that it comes from
}

// Prediction is what a model says of one sample.
type Prediction struct {
	Class       int       // the most probable one, in Recipe.Classes; the first of equally probable ones
	Probability []float64 // of each class; nil if the recipe has a target
	Number      float64   // what is predicted of the target, in its unit; 0 without one
	// Contribution is, for each of Recipe.Columns, how much the score would be lower if the column had its mean in the
	// data that the recipe was fitted on. Without standardisation and PCA it is zero in place of the mean. The score is
	// Number, or for two classes the log odds of class 1, and else the logit of Class less the mean of all logits. For
	// softmax this is the weight times the standardised value, summed over the columns that a column of categories
	// becomes, and the one that tells where it is missing. It is nil for images.
	Contribution []float64
}

// Predictor returns what applies a model of Recipe.Dim parameters. It keeps the recipe, which must not change.
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
	p := &Predictor{recipe: r, head: r.Model.head(width, r.classes()), origin: make([]float64, r.full())}
	for _, x := range model {
		p.x = append(p.x, float64(x))
	}
	if r.PCA != nil && r.Standardize == nil {
		p.origin = r.PCA.Mean
	}
	if r.Columns == nil {
		return p, nil
	}
	for k, c := range r.Columns {
		p.of = append(p.of, slices.Repeat([]int{k}, max(1, len(c.Categories)))...)
	}
	if r.Missing != nil {
		for _, name := range r.Missing.Columns {
			p.of = append(p.of, slices.IndexFunc(r.Columns, func(c Column) bool { return c.Name == name }))
		}
	}
	for f := range p.firsts() {
		row, back := p.x[f*width:(f+1)*width], make([]float64, r.full())
		for j := range back {
			if r.PCA == nil {
				back[j] = row[j]
				continue
			}
			for l, c := range r.PCA.Components {
				back[j] += float64(row[l] * float64(r.PCA.Scale*c[j]))
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
// a CSV file it reads the recipe's columns alone: the label may be missing, and so may cells, if the recipe says what
// stands for them. Of images with a test set it takes that. seed is for generated patients. Errors are those of
// [Recipe.Apply].
func (p *Predictor) Predict(source string, stdin io.Reader, seed uint64) ([]Prediction, error) {
	t, err := p.read(source, stdin, seed, false)
	if err != nil {
		return nil, err
	}
	said, _, err := p.predict(t)
	return said, err
}

// Evaluate judges the model by the labels, or by the targets, of a source that Predict could read; the other result is
// nil. Samples with other labels than the recipe's are left out if it says so, and else an error.
func (p *Predictor) Evaluate(source string, stdin io.Reader, seed uint64) (*ClassMetrics, *NumberMetrics, error) {
	t, err := p.read(source, stdin, seed, true)
	if err == nil {
		err = p.recipe.checkTable(t)
	}
	if err != nil {
		return nil, nil, err
	}
	all, d, err := p.predict(t)
	if err != nil {
		return nil, nil, err
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("task: %s has no sample with a label from %s", t.name, quoted(p.recipe.Classes))
	}
	said := make([]int, len(all))
	var ones, numbers, is []float64
	for i, one := range all {
		said[i] = one.Class
		switch {
		case d.Target != nil:
			numbers, is = append(numbers, one.Number), append(is, float64(d.Target[i]))
		case d.Classes == 2:
			ones = append(ones, one.Probability[1])
		}
	}
	if d.Target != nil {
		m, err := JudgeNumbers(is, numbers)
		return nil, m, err
	}
	m, err := JudgeClasses(d.Classes, d.Y, said, ones)
	return m, nil, err
}

// PredictRow is Predict for one sample: its cells, by the names of columns. Columns that the recipe does not have are
// left alone.
func (p *Predictor) PredictRow(cells map[string]string) (*Prediction, error) {
	names, row := []string{"(row)"}, []string{"1"} // a row without anything in it would be passed over
	for name, cell := range cells {
		names, row = append(names, name), append(row, cell)
	}
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll([][]string{names, row}); err != nil {
		return nil, err
	}
	t, err := readCSV(&text, "the row", byRecord, p.layout(false))
	if err != nil {
		return nil, err
	}
	all, _, err := p.predict(t)
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
	l := p.layout(labels)
	if kind == "csv" && arg == "-" && stdin != nil {
		return readCSV(stdin, "standard input", byRecord, l)
	}
	train, test, err := readSource(source, seed, byRecord, l)
	if test != nil {
		train = test
	}
	return train, err
}

// layout is the recipe's, with or without the label.
func (p *Predictor) layout(labels bool) layout {
	r := *p.recipe
	return func(h *header) (features []*column, label *column) {
		if !labels {
			r.Label = h.names[0] // any column that there is
		}
		features, label = r.layout(h)
		if !labels {
			label.ignored = true // with classes, it is the first one
			if h.rule == dropRows {
				h.rule = "" // none is left out without a word
			}
		}
		for _, c := range features {
			c.unknown = p.Unknown
		}
		return features, label
	}
}

// predict prepares the rows of a table and applies the model to each. It returns the data as the model has them.
func (p *Predictor) predict(t *table) (said []Prediction, d *Data, err error) {
	r := p.recipe
	names := r.Classes
	if r.Target != nil {
		names, t.scale = sides, r.Target
	}
	raw, d, err := r.prepare(t.data(names))
	if err == nil {
		err = d.checkColumns(r.width())
	}
	if err != nil {
		return nil, nil, err
	}
	said = make([]Prediction, d.Len())
	share(d.Len(), func(from, to int) {
		for i := from; i < to; i++ {
			p.sample(&said[i], d.Row(i), raw.Row(i))
		}
	})
	for i := range said {
		if math.IsNaN(said[i].Number) || r.Target == nil && math.IsNaN(said[i].Probability[0]) {
			return nil, nil, fmt.Errorf("task: %s: sample %d has numbers too large for the model", t.name, i+1)
		}
	}
	return said, d, nil
}

// sample predicts from the columns of the model, and tells contributions from those before PCA.
func (p *Predictor) sample(to *Prediction, a, raw []float32) {
	wide := make([]float64, len(a))
	for j, v := range a {
		wide[j] = float64(v)
	}
	first := make([]float64, p.firsts())
	for f := range first {
		first[f] = dot(p.x[f*len(a):(f+1)*len(a)], wide)
	}
	z := p.outputs(first)
	if p.recipe.Target != nil {
		to.Number = p.score(z, 0)
	} else if to.Probability = probabilities(z); len(z) == 1 && z[0] > 0 {
		to.Class = 1
	}
	for k, v := range z {
		if v > z[min(to.Class, len(z)-1)] {
			to.Class = k
		}
	}
	score := p.score(z, to.Class)
	moved := make([]float64, len(first))
	for k := range p.recipe.Columns {
		copy(moved, first)
		for at, of := range p.of {
			for f := 0; of == k && f < len(first); f++ {
				moved[f] -= float64(p.back[f][at] * (float64(raw[at]) - p.origin[at]))
			}
		}
		to.Contribution = append(to.Contribution, score-p.score(p.outputs(moved), to.Class))
	}
}

// outputs returns the logits, or the log odds of class 1 of two, from the products of the first rows of weights.
func (p *Predictor) outputs(first []float64) []float64 {
	hidden := p.recipe.Model.Hidden
	z := first
	if hidden > 0 {
		u := append(slices.Clone(first), 1)
		for h, v := range first {
			if v < 0 {
				u[h] = float64(v * leak)
			}
		}
		w := p.x[hidden*p.recipe.width():]
		z = make([]float64, len(w)/(hidden+1))
		for k := range z {
			z[k] = dot(w[k*(hidden+1):(k+1)*(hidden+1)], u)
		}
	}
	return z
}

// score is what contributions are parts of.
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

// probabilities are those of the logits, or of the log odds of class 1 of two.
func probabilities(z []float64) []float64 {
	if len(z) == 1 {
		return []float64{vec.Sigmoid(-z[0]), vec.Sigmoid(z[0])}
	}
	p := slices.Clone(z)
	softmax(p)
	return p
}

// softmax turns logits into probabilities.
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
