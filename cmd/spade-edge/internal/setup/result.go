package setup

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
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

// Privacy is what the run has cost each client: against Adversary, and, where noise is shared, against all other
// members.
type Privacy struct {
	dpmech.Cost
	Adversary string  `json:"adversary"`
	Sigma     float64 `json:"sigma"`
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
		r.Privacy = NewPrivacy(f.Total(f.Method.Rounds), f.Privacy, p.fitted)
	}
	return r
}

// NewPrivacy says what a spend amounts to.
func NewPrivacy(spent dpmech.Total, p sdk.Privacy, conditional []string) *Privacy {
	return &Privacy{Cost: dpmech.CostOf(spent, p.Delta), Adversary: p.Shared().Adversary(), Sigma: p.Sigma,
		PairSigma: p.PairSigma, EffectiveSigma: p.EffectiveSigma, Colluders: p.Colluders, Clip: p.Clip,
		ConditionalOn: conditional}
}

// noiseText says how much noise protects each release.
func (p *Privacy) noiseText(releases int) string {
	if p.PairSigma == 0 {
		return fmt.Sprintf("noise %.4g on updates clipped to %.4g, in each of %d releases", p.Sigma, p.Clip, releases)
	}
	return fmt.Sprintf("noise %.4g of its own and %.4g shared with each neighbor, on updates clipped to %.4g, in each of "+
		"%d releases: as good as %.4g against the former, and %.4[1]g against the latter", p.Sigma, p.PairSigma, p.Clip,
		releases, p.EffectiveSigma)
}

// Score fills in what the models at the end, and with -average the running means of all releases, are worth.
func (r *Result) Score(p *Problem, models, means [][]float32) ([]float64, error) {
	xbar := Mean(models)
	r.ConsensusError = ConsensusError(xbar, models)
	if p.Train.Target != nil {
		return r.scoreNumbers(p, xbar, models, means)
	}
	judged, each := p.judge(models), make([]float64, len(models))
	for i, m := range judged {
		if m != nil {
			each[i] = 100 * m.Accuracy.Value
		} else {
			each[i] = p.Scores(models[i])[0]
		}
	}
	r.Accuracies = &Accuracies{AccuracyMajority: 100 * p.majority}
	r.AccuracyMean, r.AccuracyMin = Average(each)
	if r.AccuracyNetworkMean = 100 * p.Test.Accuracy(xbar); math.IsNaN(r.AccuracyNetworkMean) {
		return nil, errors.New("accuracy is not a number: model and test data do not fit")
	}
	r.tell(p, judged)
	if p.Opt.Average {
		averaged, _ := Average(p.Scores(means...))
		r.AccuracyAveraged = &averaged
	}
	return each, nil
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
		fmt.Fprintln(w, cli.Wrapped("chosen for you:", all, 100))
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
	if r.Privacy == nil {
		t.Row("privacy", "NOT PRIVATE: what a node has sent may reveal its data")
		return
	}
	note := ""
	if r.Simulated {
		note = " (simulated: the noise came from the seed)"
	}
	pr := r.Privacy
	stated := func(name string, c *dpmech.Cost, against string) {
		t.Row(name, "epsilon %s at delta %v for each client's whole data set%s, %s",
			cli.EpsilonText(c.EpsilonGDP), c.Delta, note, against)
		t.Row("", "(the same spend as zCDP: rho %.4f, epsilon %s; by the paper's formula: epsilon %s; zero-out: epsilon %s)",
			c.Rho, cli.EpsilonText(c.EpsilonZCDP), cli.EpsilonText(c.EpsilonPaper), cli.EpsilonText(c.EpsilonZeroOut))
	}
	stated("privacy", &pr.Cost, "against "+pr.Adversary)
	if pr.AgainstAll != nil {
		stated("", pr.AgainstAll, cli.AgainstAll)
	}
	t.Row("", "%s", pr.noiseText(r.Rounds))
	t.Row("", "given as public: %s", strings.Join(pr.ConditionalOn, "; "))
	t.Row("", "not covered: when a node sends")
}
