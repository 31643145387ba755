package setup

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// Result is the outcome of a run, and its JSON. Accuracies are in percent, on the test data.
type Result struct {
	Nodes      int    `json:"nodes"`
	Rounds     int    `json:"rounds"`
	Cooldown   int    `json:"cooldown"`
	Mixing     int    `json:"mixing,omitempty"` // rounds of it after each round of learning
	Dim        int    `json:"dim"`
	Tau        int    `json:"tau"`
	Seed       uint64 `json:"seed"`
	Simulated  bool   `json:"simulated"`
	NonPrivate bool   `json:"non_private"`

	*Accuracies
	Regression *regression `json:"regression,omitempty"` // in place of accuracies where a number is predicted

	Files []clientFile `json:"files,omitempty"` // of several files in -data

	ConsensusError float64 `json:"consensus_error"` // (1/N) sum |x_i - xbar|^2
	Queries        int64   `json:"queries"`
	ScalarsSent    int64   `json:"scalars_sent"` // 2|E|d times the number of releases
	BytesSent      int64   `json:"bytes_sent"`   // of encoded frames
	Seconds        float64 `json:"seconds"`
	Transcript     string  `json:"transcript"` // SHA-256 over every release

	Chosen  map[string]any `json:"chosen"`
	Privacy *Privacy       `json:"privacy"`
}

// Accuracies are those of a result, in its JSON.
type Accuracies struct {
	// over clients, each with the model it holds at the end
	AccuracyMean        float64 `json:"accuracy_mean"`
	AccuracyMin         float64 `json:"accuracy_min"`          // of these, the lowest
	AccuracyNetworkMean float64 `json:"accuracy_network_mean"` // of the average model, which no client holds
	// over clients, each with the running mean of its releases
	AccuracyAveraged *float64 `json:"accuracy_averaged,omitempty"`
	AccuracyAlone    *float64 `json:"accuracy_alone,omitempty"`  // over clients, each trained by itself
	AccuracyPooled   *float64 `json:"accuracy_pooled,omitempty"` // of one client with everybody's data
	AccuracyMajority float64  `json:"accuracy_majority"`         // of always saying the most frequent class

	TwoClasses *TwoClasses `json:"two_classes,omitempty"`
	MacroF1    *float64    `json:"macro_f1_mean,omitempty"` // over clients; in [0, 1]
}

// TwoClasses is what models are worth on test data of two classes, over clients, each with the model that it holds at
// the end, and its JSON. Shares are in percent; all are nil if the test data lack a class.
type TwoClasses struct {
	Positive    string   `json:"positive_class"` // the second one
	AUC         *float64 `json:"auc_mean"`
	Sensitivity *float64 `json:"sensitivity_mean"`
	Specificity *float64 `json:"specificity_mean"`
}

// regression is what predicted numbers are worth on the test data, in the unit of the target, and its JSON.
type regression struct {
	// over clients, each with the model it holds at the end
	RMSEMean float64 `json:"rmse_mean"`
	RMSEMax  float64 `json:"rmse_max"` // the worst
	MAEMean  float64 `json:"mae_mean"`
	R2Mean   float64 `json:"r2_mean"`

	RMSENetworkMean float64  `json:"rmse_network_mean"`       // of the average model, which no client holds
	RMSEAveraged    *float64 `json:"rmse_averaged,omitempty"` // over clients, each with the running mean of its releases
	RMSEAlone       *float64 `json:"rmse_alone,omitempty"`    // over clients, each trained by itself
	RMSEPooled      *float64 `json:"rmse_pooled,omitempty"`   // of one client with everybody's data

	// of always saying the mean of the test data, whose R^2 is 0
	MeanRMSE float64 `json:"rmse_of_mean"`
	MeanMAE  float64 `json:"mae_of_mean"`
}

// clientFile is what the model of a client is worth on the samples of its own file that it has held back, and its JSON.
type clientFile struct {
	File     string   `json:"file"`
	Train    int      `json:"train"` // samples
	Test     int      `json:"test"`
	Accuracy *float64 `json:"accuracy,omitempty"` // in percent
	Majority *float64 `json:"accuracy_majority,omitempty"`
	RMSE     *float64 `json:"rmse,omitempty"`
}

// Privacy is what the run has cost each client.
type Privacy struct {
	dpmech.Cost
	Unit   dpmech.Unit `json:"unit,omitzero"`    // record; left out where it is the client
	Places int         `json:"places,omitempty"` // of a person, where the unit is one
	Sigma  float64     `json:"sigma"`
	// of the noise that neighbors share; see [sdk.Privacy]
	PairSigma      float64  `json:"pair_sigma,omitempty"`
	EffectiveSigma float64  `json:"effective_sigma,omitempty"`
	Colluders      int      `json:"colluders,omitempty"`
	Clip           float64  `json:"clip"`
	ConditionalOn  []string `json:"conditional_on"`
}

// NewResult returns the result of a run with what is known before it begins.
func (p *Problem) NewResult(simulated bool) *Result {
	o, f := &p.Opt, p.Fleet
	r := &Result{
		Nodes: o.Nodes, Rounds: f.Method.Rounds, Cooldown: f.Method.Cooldown, Mixing: f.Method.Mixing, Dim: f.Dim,
		Tau: f.Method.Tau, Seed: f.Method.Seed, Simulated: simulated, NonPrivate: f.Privacy.NonPrivate,
		ScalarsSent: 2 * int64(len(f.Edges)) * int64(f.Dim) * int64(f.Method.Last()),
		Chosen:      p.ChosenValues(),
	}
	if !f.Privacy.NonPrivate {
		var conditional []string
		if p.Set != nil { // the data are here
			conditional = p.Set.Fitted
		}
		r.Privacy = NewPrivacy(f.Total(f.Method.Rounds), f.Privacy, conditional)
	}
	return r
}

// NewPrivacy says what a spend amounts to.
func NewPrivacy(spent dpmech.Total, p sdk.Privacy, conditional []string) *Privacy {
	return &Privacy{Cost: dpmech.CostOf(spent, p.Delta), Unit: p.Unit, Places: p.Places, Sigma: p.Sigma,
		PairSigma: p.PairSigma, EffectiveSigma: p.EffectiveSigma, Colluders: p.Colluders, Clip: p.Clip,
		ConditionalOn: append(slices.Clip(conditional), p.Unit.Conditions()...)}
}

// Score fills in what the models at the end, and with -average the running means of all releases, are worth. It returns
// the score of each model, see [Problem.Scores].
func (r *Result) Score(p *Problem, models, means [][]float32) ([]float64, error) {
	xbar := Mean(models)
	r.ConsensusError = ConsensusError(xbar, models)
	each := p.Scores(models...)
	var averaged *float64
	if p.Opt.Average {
		mean, _ := Average(p.Scores(means...))
		averaged = &mean
	}
	if p.Train.Target != nil {
		r.Regression = &regression{RMSEAveraged: averaged, RMSEMax: slices.Max(each)}
		r.Regression.RMSEMean, _ = Average(each)
		return each, r.Regression.score(p.Test, xbar, models)
	}
	r.Accuracies = &Accuracies{AccuracyMajority: 100 * p.Test.Majority(), AccuracyAveraged: averaged}
	r.AccuracyMean, r.AccuracyMin = Average(each)
	if r.AccuracyNetworkMean = 100 * p.Test.Accuracy(xbar); math.IsNaN(r.AccuracyNetworkMean) {
		return nil, errors.New("accuracy is not a number: model and test data do not fit")
	}
	r.judge(p, models)
	return each, nil
}

// score fills in what the RMSE of each model does not say.
func (g *regression) score(test *task.Model, xbar []float32, models [][]float32) error {
	of, err := test.Errors(xbar)
	if err != nil {
		return err
	}
	if of.R2 == nil {
		return errors.New("the test data have one target only: there is nothing to tell apart")
	}
	g.RMSENetworkMean, g.MeanRMSE, g.MeanMAE = of.RMSE.Value, of.MeanRMSE, of.MeanMAE
	n := float64(len(models))
	for _, x := range models {
		m, err := test.Errors(x)
		if err != nil {
			return err
		}
		g.MAEMean += m.MAE.Value / n
		g.R2Mean += m.R2.Value / n
	}
	return nil
}

// judge fills in what accuracies do not say, unless a model has a parameter that is NaN.
func (a *Accuracies) judge(p *Problem, models [][]float32) {
	judged := make([]*task.ClassMetrics, len(models))
	Each(len(models), func(i int) { judged[i], _ = p.Test.Judge(models[i]) })
	if slices.Contains(judged, nil) {
		return
	}
	mean := func(of func(m *task.ClassMetrics) float64) *float64 {
		var sum float64
		for _, m := range judged {
			sum += of(m) / float64(len(judged))
		}
		return &sum
	}
	a.MacroF1 = mean(func(m *task.ClassMetrics) float64 { return m.MacroF1 })
	if p.Train.Classes != 2 {
		return
	}
	a.TwoClasses = &TwoClasses{Positive: ClassName(p.Train, 1)}
	if b := judged[0].Binary; b != nil && b.AUC != nil { // both classes are in the test data
		a.TwoClasses.AUC = mean(func(m *task.ClassMetrics) float64 { return m.Binary.AUC.Value })
		a.TwoClasses.Sensitivity = mean(func(m *task.ClassMetrics) float64 { return 100 * m.Binary.Sensitivity.Value })
		a.TwoClasses.Specificity = mean(func(m *task.ClassMetrics) float64 { return 100 * m.Binary.Specificity.Value })
	}
}

// JudgeFiles judges each client's model by the samples of its own file that it has held back.
func (p *Problem) JudgeFiles(models [][]float32) (all []clientFile, err error) {
	model := p.Opt.ModelSpec()
	for i, held := range p.held {
		c := clientFile{File: p.Opt.Files[i], Train: len(p.Labels[i]), Test: held.Len()}
		test := model.New(held)
		if held.Target != nil {
			m, err := test.Errors(models[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.File, err)
			}
			c.RMSE = &m.RMSE.Value
		} else {
			right, most := 100*test.Accuracy(models[i]), 100*test.Majority()
			c.Accuracy, c.Majority = &right, &most
		}
		all = append(all, c)
	}
	return all, nil
}

// Headline returns the mean score over clients, the worst client's, and that of always saying the same.
func (r *Result) Headline() (mean, worst, constant float64) {
	if g := r.Regression; g != nil {
		return g.RMSEMean, g.RMSEMax, g.MeanRMSE
	}
	return r.AccuracyMean, r.AccuracyMin, r.AccuracyMajority
}

// Baseline says what a model says that always says the same.
func (r *Result) Baseline() string {
	if r.Regression != nil {
		return "the mean of the test data"
	}
	return "the most frequent class"
}

// ScoreText is a score for people.
func (r *Result) ScoreText(score float64, digits int) string {
	if r.Regression != nil {
		return fmt.Sprintf("%.4g", score)
	}
	return fmt.Sprintf("%.*f %%", digits, score)
}

// WriteWorth prints what the models at the end are worth.
func (r *Result) WriteWorth(t cli.Table) {
	if g := r.Regression; g != nil {
		t.Row("errors", "RMSE %.4g on average over %d clients, %.4g at the highest, %.4g for the network's average model; "+
			"MAE %.4g; R^2 %.3f", g.RMSEMean, r.Nodes, g.RMSEMax, g.RMSENetworkMean, g.MAEMean, g.R2Mean)
		t.Row("", "always saying the mean: RMSE %.4g, MAE %.4g, R^2 0", g.MeanRMSE, g.MeanMAE)
		if g.RMSEAveraged != nil {
			t.Row("averaged", "RMSE %.4g with each client's running mean of its releases", *g.RMSEAveraged)
		}
	} else {
		t.Row("accuracy", "%.2f %% on average over %d clients, %.2f %% at the lowest, "+
			"%.2f %% for the network's average model, %.2f %% by always saying the most frequent class",
			r.AccuracyMean, r.Nodes, r.AccuracyMin, r.AccuracyNetworkMean, r.AccuracyMajority)
		r.WriteClasses(t)
		if r.AccuracyAveraged != nil {
			t.Row("averaged", "%.2f %% with each client's running mean of its releases", *r.AccuracyAveraged)
		}
	}
	name := "own samples"
	for _, c := range r.Files {
		var worth string
		if c.RMSE != nil {
			worth = fmt.Sprintf("RMSE %.4g", *c.RMSE)
		} else {
			worth = fmt.Sprintf("%6.2f %% (%.2f %% by saying the most frequent class)", *c.Accuracy, *c.Majority)
		}
		t.Row(name, "%s of the %d held back in %s, which learns from %d", worth, c.Test, c.File, c.Train)
		name = ""
	}
}

// WriteClasses prints what accuracies do not say.
func (a *Accuracies) WriteClasses(t cli.Table) {
	if two := a.TwoClasses; two != nil && two.AUC != nil {
		t.Row("two classes", "AUC %.3f, sensitivity %.2f %%, specificity %.2f %% on average; %q is the positive one", *two.AUC,
			*two.Sensitivity, *two.Specificity, two.Positive)
	} else if a.MacroF1 != nil {
		t.Row("macro F1", "%.3f on average: the mean over classes of the harmonic mean of recall and precision", *a.MacroF1)
	}
}

// ClassName returns what a class is called in the data.
func ClassName(d *task.Data, c int) string {
	if c < len(d.ClassNames) {
		return d.ClassNames[c]
	}
	return fmt.Sprint(c)
}

// WriteChosen says which parameters were picked for the user, and what does not fit the graph.
func (p *Problem) WriteChosen(w io.Writer) {
	if len(p.Chosen) > 0 {
		var all []string
		for _, c := range p.Chosen {
			if labels, ok := c.value.([]string); ok {
				c.value = strings.Join(labels, ",")
			}
			all = append(all, fmt.Sprintf("-%s %v", c.Name, c.value))
		}
		fmt.Fprintln(w, cli.Wrapped("chosen for you:", "  ", all, 100))
	}
	p.writeCaveat(w)
}

// writeCaveat says that the bound on neighbors does not fit the graph, if it does not: sdk/ROBUST.md has the figures.
func (p *Problem) writeCaveat(w io.Writer) {
	n := p.Graph.N()
	want := min(5, n-1, max(3, n/3))
	if degree := 2 * float64(len(p.Graph.Edges())) / float64(n); p.Fleet.Method.Robust > 0 && degree < float64(want) {
		fmt.Fprintf(w, "warning: -robust cuts honest neighbors back in so sparse a graph, which costs accuracy: %.2g neighbors a node, want %d\n",
			degree, want)
	}
}

// WritePrivacy prints what the run has cost in privacy.
func (r *Result) WritePrivacy(t cli.Table) {
	note := ""
	if r.Simulated {
		note = " (simulated: the noise came from the seed)"
	}
	if r.Privacy.write(t, r.Rounds, note); r.Privacy != nil {
		t.Row("", "not covered: when a node sends")
	}
}

// write prints a cost with each adversary; nil is a run that is not private.
func (p *Privacy) write(t cli.Table, releases int, note string) {
	if p == nil {
		t.Row("privacy", "NOT PRIVATE: what a node has sent may reveal its data")
		return
	}
	cli.WriteCost(t, p.Cost, sdk.Privacy{Unit: p.Unit, Places: p.Places}.Each(), note)
	what := "updates clipped to"
	if p.Unit == dpmech.Record {
		what = "a sum of records, each one's share clipped to"
	}
	if p.PairSigma == 0 {
		t.Row("", "noise %.4g on %s %.4g, in each of %d releases", p.Sigma, what, p.Clip, releases)
	} else {
		t.Row("", "noise %.4g of its own and %.4g shared with each neighbor, on %s %.4g, in each of %d releases: as good as "+
			"%.4g against the former, and %.4[1]g against the latter", p.Sigma, p.PairSigma, what, p.Clip, releases,
			p.EffectiveSigma)
	}
	t.Row("", "given as public: %s", strings.Join(p.ConditionalOn, "; "))
}
