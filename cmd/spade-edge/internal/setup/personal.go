package setup

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

const (
	personalRounds = 50 // of local learning, at most
	personalLeast  = 20 // fewest samples for choosing and judging together
)

// Personal compares three models at a site: the fleet's model, a model trained only on the site's own records, and a
// personal model, which is the fleet's model after further training on these records.
type Personal struct {
	Models  []Judged `json:"models"` // shared, own, personal
	Records int      `json:"records"`
	Best    string   `json:"best"`  // the model with the smallest loss
	Beats   []string `json:"beats"` // models with greater loss: the 95 % interval of the mean difference is above zero
}

// Judged has a model's scores on samples that were used neither to train nor to choose the model.
type Judged struct {
	Name string `json:"name"`
	// Start is the point where the training of a personal model began: 0 is the fleet's model, 2 is the initial model
	// of the fleet's run, and 1 is halfway between the two.
	Start          int                 `json:"start"`
	Rounds         int                 `json:"rounds"` // of local learning from that start
	Loss           float64             `json:"loss"`   // mean over the judging samples
	Classification *task.ClassMetrics  `json:"classification,omitempty"`
	Regression     *task.NumberMetrics `json:"regression,omitempty"`
	Model          []float32           `json:"-"`

	losses []float64
}

// Personalize compares the fleet's model (shared) with models that it trains on the site's own records (train). start
// is the initial model of the fleet's run. lopsided reports whether the columns are principal components or pixels.
//
// No model was trained on the samples in test. Personalize uses one half of them to choose the starting point and the
// number of rounds, and the other half to score the models. Everything runs locally, without noise and with seed 1;
// nothing is sent.
func Personalize(ctx context.Context, spec task.ModelSpec, shared, start []float32, lopsided bool, train, test *task.Data) (*Personal, error) {
	if test.Len() < personalLeast {
		return nil, fmt.Errorf("found %d samples for selecting and evaluating models, want at least %d", test.Len(), personalLeast)
	}
	halves, err := task.Partition{}.Deal(test, 2, 1)
	if err != nil {
		return nil, err
	}
	chooser, judge := spec.New(test.Select(halves[0])), spec.New(test.Select(halves[1]))
	p := &Personal{Records: train.Len(), Models: []Judged{{Name: "shared", Model: shared}, {Name: "own"}, {Name: "personal"}}, Beats: []string{}}
	if err := p.Models[1].tune(ctx, spec, lopsided, train, chooser, start); err != nil {
		return nil, err
	}
	if err := p.Models[2].tune(ctx, spec, lopsided, train, chooser, shared, Mean([][]float32{shared, start}), start); err != nil {
		return nil, err
	}
	best := 0
	for _, i := range []int{0, 2, 1} { // the first wins a tie
		if err := p.Models[i].judge(judge); err != nil {
			return nil, err
		}
		if p.Models[i].Loss < p.Models[best].Loss {
			best = i
		}
	}
	p.Best = p.Models[best].Name
	for _, other := range p.Models {
		if less(p.Models[best].losses, other.losses) {
			p.Beats = append(p.Beats, other.Name)
		}
	}
	return p, nil
}

// tune trains on all records, once from each model in starts. Among all models (the initial ones, and the model after
// each round), it keeps the model with the smallest mean loss on the samples of chooser.
func (j *Judged) tune(ctx context.Context, spec task.ModelSpec, lopsided bool, train *task.Data, chooser *task.Model, starts ...[]float32) error {
	oracle, least := spec.New(train), math.Inf(1)
	known := plan.Known{
		Hidden: spec.Hidden > 0, Uneven: lopsided, Open: true,
		Method: sdk.Method{Rounds: personalRounds, Seed: 1}, Fixed: []string{"method.cooldown"},
	}
	for i, start := range starts {
		note := func(round int, x []float32) {
			if loss := chooser.MeanLoss(x); loss < least {
				least, j.Start, j.Rounds, j.Model = loss, i, round, slices.Clone(x)
			}
		}
		note(0, start)
		local := &Problem{Fleet: &sdk.Fleet{Run: "local", Dim: oracle.Dim(), Members: []string{"own"}, X0: start}}
		if err := local.learn(ctx, known, oracle, note); err != nil {
			return err
		}
	}
	return nil
}

func (j *Judged) judge(m *task.Model) (err error) {
	for i := range m.Len() {
		loss, err := m.Loss(context.Background(), j.Model, i)
		if err != nil {
			return err
		}
		j.losses = append(j.losses, loss)
	}
	j.Loss = m.MeanLoss(j.Model)
	if m.Data().Target != nil {
		j.Regression, err = m.Errors(j.Model)
		return err
	}
	j.Classification, err = m.Judge(j.Model)
	return err
}

// less reports whether a is significantly less than b on average: whether the whole 95 % confidence interval for the
// mean of b[i]-a[i] is above zero.
func less(a, b []float64) bool {
	n, mean, square := float64(len(a)), 0.0, 0.0
	for i := range a {
		mean += (b[i] - a[i]) / n
	}
	for i := range a {
		d := b[i] - a[i] - mean
		square += float64(d * d)
	}
	return len(a) > 1 && mean > 1.96*math.Sqrt(square/(n-1)/n)
}
