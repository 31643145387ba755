package task

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
	"github.com/spade-dfl/spade-edge/zoest/vec/tabular"
)

// The built-in models, see [ModelSpec].
const (
	SoftmaxModel    = "softmax"    // predicts classes
	LinearModel     = "linear"     // predicts a target
	PerceptronModel = "perceptron" // predicts classes or a target
	HazardsModel    = "hazards"    // predicts survival

	MaxHidden = 256 // the maximum number of hidden units of a perceptron
)

// Kind is what a task predicts.
type Kind int

// The kinds of tasks.
const (
	OfClasses Kind = iota
	OfTarget
	OfSurvival
)

// Kind returns the kind of task that s describes.
func (s Spec) Kind() Kind { return kindOf(s.Target != "", s.Survival != "") }

// Kind returns the kind of task of the samples.
func (d *Data) Kind() Kind { return kindOf(d.Target != nil, d.Horizon != nil) }

// Measure returns the measure of models of this kind.
func (k Kind) Measure() score.Measure {
	return [...]score.Measure{score.Accuracy, score.RMSE, score.CIndex}[k]
}

func kindOf(target, survival bool) Kind {
	switch {
	case target:
		return OfTarget
	case survival:
		return OfSurvival
	}
	return OfClasses
}

const leak = 0.125 // the slope of a hidden unit's output for negative input

// ModelSpec names a built-in model. For a sample a whose class has the indicator vector y, the losses are in [0, 1]:
//
//	softmax     f(x) = 1/2 |softmax(W a) - y|², the squared probability loss of the paper, section III-B
//	perceptron  f(x) = 1/2 |softmax(V (act(W a), 1)) - y|², act(z) = z above zero, z/8 below
//
// For a sample with a target t, which the public range of the data scales and clips to [0, 1], the losses are squared
// errors of a prediction that cannot leave the range. With s the sigmoid:
//
//	linear      f(x) = (s(w a) - t)²
//	perceptron  f(x) = (s(v (act(W a), 1)) - t)²
//
// So a target that takes only the two ends of its range has the same loss as two classes, and no other target has a
// steeper loss.
//
// For a survival task, hazards is the model of package survival, with a loss in [0, survival.MostLoss]. Its parameter
// vector is w, then b_j for each interval.
//
// Otherwise the parameter vector x is W by rows, then V by rows. W has Data.Dim weights for each class (softmax, linear) or
// hidden unit (perceptron); V has, for each class, a weight for each unit and a constant. For two classes or a target,
// the last matrix (V of a perceptron, else W) has a single row. For two classes the row has the weights of class 1
// minus the weights of class 0: with p the sigmoid of its product with the layer's input, the loss above equals
// (p - y)² for y = 0 or 1.
//
// Hidden units have a constant term only if the data has a column of ones ([Data.WithBias]). The leaky rectifier
// (Maas, Hannun and Ng, "Rectifier nonlinearities improve neural network acoustic models", 2013) has the same bits on
// every processor, and with single-point queries it learned XOR where smooth units did not.
type ModelSpec struct {
	Name   string `json:"model"`            // "softmax", "linear", "perceptron" or "hazards"
	Hidden int    `json:"hidden,omitempty"` // hidden units: 1 to [MaxHidden] for a perceptron, 0 for other models
}

// Validate returns an error for an unknown name or a number of hidden units that the model does not allow.
func (m ModelSpec) Validate() error {
	switch {
	case !slices.Contains([]string{SoftmaxModel, LinearModel, PerceptronModel, HazardsModel}, m.Name):
		const format = "task: model %q, want %s or %s, %s for a target, or %s for survival"
		return fmt.Errorf(format, m.Name, SoftmaxModel, PerceptronModel, LinearModel, HazardsModel)
	case m.Name != PerceptronModel && m.Hidden != 0:
		return fmt.Errorf("task: model %s has %d hidden units, want none: it is a linear model", m.Name, m.Hidden)
	case m.Name == PerceptronModel && (m.Hidden < 1 || m.Hidden > MaxHidden):
		return fmt.Errorf("task: perceptron has %d hidden units, want 1 to %d", m.Hidden, MaxHidden)
	}
	return nil
}

// Fits returns an error if the model cannot learn tasks of a kind.
func (m ModelSpec) Fits(kind Kind) error {
	switch survival := m.Name == HazardsModel; {
	case kind == OfSurvival && !survival:
		return fmt.Errorf("task: model is %s, want %s for survival", m.Name, HazardsModel)
	case kind == OfTarget && (survival || m.Name == SoftmaxModel):
		return fmt.Errorf("task: model is %s, want %s or %s for a numeric target", m.Name, LinearModel, PerceptronModel)
	case kind == OfClasses && (survival || m.Name == LinearModel):
		return fmt.Errorf("task: model is %s, want %s or %s for classes", m.Name, SoftmaxModel, PerceptronModel)
	}
	return nil
}

// String returns the name and the number of hidden units.
func (m ModelSpec) String() string {
	if m.Hidden > 0 {
		return fmt.Sprintf("%s of %d hidden units", m.Name, m.Hidden)
	}
	return m.Name
}

// Dim returns the number of parameters for data with the given numbers of columns and classes or, for hazards, of columns
// and intervals.
func (m ModelSpec) Dim(columns, classes int) int {
	if m.Name == HazardsModel {
		return columns + classes
	}
	return m.Hidden*columns + m.head(columns, classes).parameters()
}

// head returns the linear classifier whose input is the hidden units or, if there are none, the columns.
func (m ModelSpec) head(columns, classes int) linear {
	if m.Hidden > 0 {
		columns = m.Hidden + 1
	}
	return linear{classes: classes, dim: columns}
}

// Start returns the start vector of a run, which depends only on the model's sizes and the seed. It returns nil, which
// means zeros, unless the model is a valid perceptron. A perceptron cannot start at zeros, where no single weight
// changes the loss. Its start weights are normal. On columns with a mean square of 1, the input of a hidden unit has
// variance 1. The logit of a class has a variance of about 2, twice the value of He et al., "Delving deep into
// rectifiers", 2015, because single-point queries then learned faster. Constant terms are 0.
func (m ModelSpec) Start(columns, classes int, seed uint64) []float32 {
	if m.Name != PerceptronModel || m.Validate() != nil {
		return nil
	}
	s := rng.New(seed, rng.Address{Purpose: rng.Start})
	inner, outer := 1/math.Sqrt(float64(columns)), 2/math.Sqrt(float64(m.Hidden))
	x := make([]float32, m.Dim(columns, classes))
	for j := range x {
		switch after := j - m.Hidden*columns; {
		case after < 0:
			x[j] = float32(inner * s.Normal())
		case after%(m.Hidden+1) != m.Hidden:
			x[j] = float32(outer * s.Normal())
		}
	}
	return x
}

// Model is the oracle of one client: a built-in model and the client's samples. It is safe for concurrent use.
type Model struct {
	spec ModelSpec
	data *Data
	dim  int // number of parameters
	head linear
	goal []float64 // the targets, in [0, 1]; nil for classes

	lives []survival.Life // of a survival task

	err error // set if the spec or the data is invalid

	place []int // sample at each place, or -1 for an empty place; nil if sample i is at place i; see InPlaces
}

// New returns the model for a data set. It keeps the data set, which must not change. If the spec or the data set is
// invalid, Loss returns the error.
func (m ModelSpec) New(d *Data) *Model {
	if err := cmp.Or(d.check(), m.Validate()); err != nil {
		return &Model{data: &Data{}, err: err}
	} else if err := m.Fits(d.Kind()); err != nil {
		return &Model{data: &Data{}, err: err}
	}
	return &Model{spec: m, data: d, head: m.head(d.Dim, d.Classes), goal: d.Range.scaled(d.Target), lives: d.lives(),
		dim: m.Dim(d.Dim, d.outputs())}
}

// NewSoftmax returns the softmax model for a data set; see [ModelSpec.New].
func NewSoftmax(d *Data) *Model { return ModelSpec{Name: SoftmaxModel}.New(d) }

// Dim returns the number of parameters.
func (m *Model) Dim() int { return m.dim }

// Data returns the samples, which must not change.
func (m *Model) Data() *Data { return m.data }

// Len returns the number of samples or, for a model that [Model.InPlaces] returned, the number of places.
func (m *Model) Len() int {
	if m.place != nil {
		return len(m.place)
	}
	return m.data.Len()
}

// Loss returns the loss of parameters x at a sample; see [ModelSpec] for its range. The loss is NaN only if a parameter is NaN, products
// overflow, or the sample is a record that could not be read, see [Recipe.Apply]. Loss fails if the length of x is not
// Dim or sample is not in [0, Len). It ignores ctx, allocates nothing, and neither changes nor keeps x.
func (m *Model) Loss(_ context.Context, x []float32, sample int) (float64, error) {
	if err := m.check(x); err != nil {
		return 0, err
	}
	if sample < 0 || sample >= m.Len() {
		return 0, fmt.Errorf("task: sample is %d, want 0 to %d", sample, m.Len()-1)
	}
	if sample = m.at(sample); sample < 0 {
		return 0, nil
	}
	return m.loss(x, sample), nil
}

// Digest returns a SHA-256 of all that losses depend on: the kind of model, and the numbers, classes and targets of the
// samples in their order or, after [Model.InPlaces], at their places. Models with equal digests have the same losses.
func (m *Model) Digest() string {
	h := sha256.New()
	fmt.Fprintln(h, m.spec, m.data.Dim, m.data.Classes, m.data.Y, m.goal, m.place)
	if m.lives != nil {
		fmt.Fprintln(h, m.data.Horizon.Cuts(), m.lives)
	}
	for part := range slices.Chunk(m.data.X, 1<<12) {
		_ = binary.Write(h, binary.LittleEndian, part) // a hash accepts everything
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// at returns the sample at a place (see [Model.InPlaces]), or -1 if the place has no sample.
func (m *Model) at(place int) int {
	if m.place != nil {
		return m.place[place]
	}
	return place
}

// Losses stores the loss of each query in losses, with the same bits as Loss but in less time; see
// [zoest.BatchOracle]. A query for which Loss would fail gets NaN.
func (m *Model) Losses(ctx context.Context, queries []zoest.Query, losses []float64) error {
	linear := m.head.classes == 2 && m.spec.Hidden == 0 // also true of hazards
	for len(queries) > 0 {
		n := min(len(queries), survival.Batch)
		if !linear || !m.linearLosses(queries[:n], losses[:n]) {
			for i, q := range queries[:n] {
				losses[i] = math.NaN()
				if m.err == nil && len(q.Point) == m.Dim() && uint(q.Sample) < uint(m.Len()) {
					losses[i], _ = m.Loss(ctx, q.Point, q.Sample)
				}
			}
		}
		queries, losses = queries[n:], losses[n:]
	}
	return m.err
}

// linearLosses is a faster form of Losses for up to [survival.Batch] queries to a linear model for two classes or a target. If
// Loss would fail for any of the queries, it stores no loss and returns false.
func (m *Model) linearLosses(queries []zoest.Query, losses []float64) bool {
	var points [survival.Batch][]float32
	var samples [survival.Batch]int
	x, at, n := points[:len(losses)], samples[:len(losses)], uint(m.Len())
	for i := range x {
		q := &queries[i]
		if uint(q.Sample) >= n || len(q.Point) != m.dim {
			return false
		}
		x[i], at[i] = q.Point[:m.data.Dim], q.Sample
	}
	if m.place != nil {
		for i, h := range at {
			at[i] = max(0, m.place[h])
		}
	}
	if !tabular.DotRows(losses, x, m.data.X, at) {
		return false
	}
	if m.lives != nil {
		m.hazards(queries, at, losses)
	} else {
		m.squares(at, losses)
	}
	if m.place != nil {
		for i, q := range queries {
			if m.place[q.Sample] < 0 {
				losses[i] = 0
			}
		}
	}
	return true
}

// hazards replaces each score of a survival model by the sample's loss.
func (m *Model) hazards(queries []zoest.Query, samples []int, losses []float64) {
	var constants [survival.Batch][]float32
	var lives [survival.Batch]survival.Life
	for i, h := range samples {
		constants[i], lives[i] = queries[i].Point[m.data.Dim:], m.lives[h]
	}
	survival.Losses(losses, constants[:len(losses)], lives[:len(losses)])
}

// squares replaces each score of a linear model for two classes or a target by the sample's loss.
func (m *Model) squares(samples []int, losses []float64) {
	if m.goal == nil {
		for i, h := range samples { // for class 1 the loss is the squared sigmoid of the negated score
			losses[i] = math.Float64frombits(math.Float64bits(losses[i]) ^ uint64(m.data.Y[h])<<63)
		}
	}
	vec.Sigmoids(losses)
	for i, off := range losses {
		if m.goal != nil {
			off -= m.goal[samples[i]]
		}
		losses[i] = float64(off * off)
	}
}

func (m *Model) check(x []float32) error {
	if m.err == nil && len(x) != m.Dim() {
		return fmt.Errorf("task: found %d parameters, want %d", len(x), m.Dim())
	}
	return m.err
}

func (m *Model) loss(x []float32, sample int) float64 {
	if m.lives != nil {
		loss, b := [1]float64{m.score(x, sample)}, [1][]float32{x[m.data.Dim:]}
		survival.Losses(loss[:], b[:], m.lives[sample:sample+1])
		return loss[0]
	}
	if m.spec.Hidden == 0 && m.goal == nil { // this case is faster, because it does not clear u
		return m.head.loss(x, m.data.Row(sample), m.data.Y[sample])
	}
	var u units
	w, a := m.last(&u, x, sample)
	if m.goal == nil {
		return m.head.loss(w, a, m.data.Y[sample])
	}
	off := vec.Sigmoid(vec.Dot(w, a)) - m.goal[sample]
	return float64(off * off)
}

// score returns the output before the sigmoid, for a target or for class 1 of two classes; for hazards <w, x>.
func (m *Model) score(x []float32, sample int) float64 {
	if m.lives != nil {
		x = x[:m.data.Dim]
	}
	if m.spec.Hidden == 0 { // this case is faster, because it does not clear u
		return vec.Dot(x, m.data.Row(sample))
	}
	var u units
	return vec.Dot(m.last(&u, x, sample))
}

func (m *Model) predict(x []float32, sample int) int {
	if m.spec.Hidden == 0 {
		return m.head.predict(x, m.data.Row(sample))
	}
	var u units
	return m.head.predict(m.last(&u, x, sample))
}

// units holds the outputs of the hidden units, followed by the constant 1.
type units [MaxHidden + 1]float32

// last returns the weights and the input of the last layer. The input is the sample or the outputs of the hidden units,
// which are then stored in u.
func (m *Model) last(u *units, x []float32, sample int) (w, a []float32) {
	a = m.data.Row(sample)
	if m.spec.Hidden == 0 {
		return x, a
	}
	for h := range m.spec.Hidden {
		z := vec.Dot(x[h*len(a):(h+1)*len(a)], a)
		if z < 0 {
			z *= leak
		}
		u[h] = float32(z)
	}
	u[m.spec.Hidden] = 1
	return x[m.spec.Hidden*len(a):], u[:m.spec.Hidden+1]
}
