package setup

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
)

// Result is the result of a run, printed as text or, with -json, as JSON.
type Result struct {
	Nodes      int    `json:"nodes"`
	Rounds     int    `json:"rounds"`
	Cooldown   int    `json:"cooldown"`
	Mixing     int    `json:"mixing,omitempty"` // mixing rounds after each learning round
	Dim        int    `json:"dim"`
	Tau        int    `json:"tau"`
	Seed       uint64 `json:"seed"`
	Simulated  bool   `json:"simulated"`
	NonPrivate bool   `json:"non_private"`

	Score *Score `json:"score"`

	Files []clientFile `json:"files,omitempty"` // if -data has several files

	Curve []Point `json:"curve,omitempty"` // a point for each release

	ConsensusError float64 `json:"consensus_error"` // (1/N) sum |x_i - xbar|^2
	Queries        int64   `json:"queries"`
	ScalarsSent    int64   `json:"scalars_sent"` // 2|E|d times the number of releases
	BytesSent      int64   `json:"bytes_sent"`   // of encoded frames
	Seconds        float64 `json:"seconds"`
	Transcript     string  `json:"transcript"` // SHA-256 over every release

	Chosen   map[string]any `json:"chosen"`
	Privacy  *Privacy       `json:"privacy"`
	Forecast *plan.Outlook  `json:"forecast"` // null without noise
}

// Point describes a run after a release. Score is that of the average model.
type Point struct {
	Round          int     `json:"round"`
	Score          float64 `json:"score"`
	ConsensusError float64 `json:"consensus_error"`
	BytesSent      int64   `json:"bytes_sent"` // so far, by all clients
}

// Score has values of the task's measure on the test data. Unless noted otherwise, a value covers all clients, and each
// client is scored with its own final model.
type Score struct {
	Measure  score.Measure `json:"measure"`
	Mean     float64       `json:"mean"`
	Worst    float64       `json:"worst"`            // of any client
	Network  float64       `json:"network"`          // of the average model, which no client has
	Alone    *float64      `json:"alone,omitempty"`  // mean over models that each client trained alone
	Pooled   *float64      `json:"pooled,omitempty"` // of one client with all data
	Constant float64       `json:"constant"`         // of always saying the most frequent class, the mean of the test data, or the same risk
}

// clientFile has the score of a client's model on the client's own test samples.
type clientFile struct {
	File     string   `json:"file"` // the file that has the test samples
	Train    int      `json:"train"`
	Test     int      `json:"test"`
	Score    *float64 `json:"score"`              // null if no two test samples can be compared
	Majority *float64 `json:"majority,omitempty"` // for classes: the accuracy of always saying the most frequent one
	Warning  string   `json:"warning,omitempty"`  // if the model ranks the test samples of two classes the wrong way round
}

// Privacy is the privacy cost of a run for each client.
type Privacy struct {
	certificate.Cost
	Unit    dpmech.Unit `json:"unit,omitzero"`     // omitted for client-level privacy
	Warning string      `json:"warning,omitempty"` // why an epsilon at this delta says little
	Sigma   float64     `json:"sigma"`
	// for pairwise noise; see [sdk.Privacy]
	PairSigma      float64  `json:"pair_sigma,omitempty"`
	EffectiveSigma float64  `json:"effective_sigma,omitempty"`
	Colluders      int      `json:"colluders,omitempty"`
	Partners       int      `json:"partners,omitempty"`
	Clip           float64  `json:"clip"`
	ConditionalOn  []string `json:"conditional_on"`

	spent dpmech.Total
}

// NewResult returns a result with all values that are known before the run.
func (p *Problem) NewResult(simulated bool) *Result {
	o, f := &p.Opt, p.Fleet
	r := &Result{
		Nodes: o.Nodes, Rounds: f.Method.Rounds, Cooldown: f.Method.Cooldown, Mixing: f.Method.Mixing, Dim: f.Dim,
		Tau: f.Method.Tau, Seed: f.Method.Seed, Simulated: simulated, NonPrivate: f.Privacy.NonPrivate,
		ScalarsSent: 2 * int64(len(f.Edges)) * int64(f.Dim) * int64(f.Method.Last()),
		Chosen:      p.Chosen,
	}
	if !f.Privacy.NonPrivate {
		var conditional []string
		if p.Set != nil { // there is no data in plan and init
			conditional = p.Set.Fitted
		}
		r.Privacy = NewPrivacy(f.Total(f.Method.Rounds), f, conditional)
		r.Forecast = p.Forecast()
	}
	return r
}

// NewPrivacy returns the privacy cost of releases of the fleet f whose total is spent. conditional lists the assumptions on
// which the guarantee depends.
func NewPrivacy(spent dpmech.Total, f *sdk.Fleet, conditional []string) *Privacy {
	p, unit := f.Privacy, f.Privacy.Protects()
	return &Privacy{Cost: certificate.CostOf(spent, p.Delta), Unit: unit, Warning: plan.WeakDelta(p.Delta, unit, plan.Units(f)), Sigma: p.Sigma,
		PairSigma: p.PairSigma, EffectiveSigma: p.EffectiveSigma, Colluders: p.Colluders, Partners: p.Partners, Clip: p.Clip,
		ConditionalOn: append(slices.Clip(conditional), unit.Conditions()...),
		spent:         spent}
}

// SetScore scores the final models and returns the score of each.
func (r *Result) SetScore(p *Problem, models [][]float32) ([]float64, error) {
	xbar := Mean(models)
	r.ConsensusError = ConsensusError(xbar, models)
	each := p.Scores(models...)
	s := &Score{Measure: p.Train.Kind().Measure(), Network: p.Scores(xbar)[0], Constant: 0.5}
	s.Mean, s.Worst = Average(each), s.Measure.Worst(each)
	r.Score = s
	switch s.Measure {
	case score.Accuracy:
		s.Constant = 100 * p.Test.Majority()
		if math.IsNaN(s.Network) {
			return nil, errors.New("accuracy is not a number: the model does not match the test data")
		}
	case score.RMSE:
		of, err := p.Test.Judge(xbar)
		if err != nil {
			return nil, err
		}
		s.Constant = of.Numbers.MeanRMSE
	case score.CIndex:
		if math.IsNaN(s.Network) {
			return nil, errors.New("no two test samples can be compared, so there is no C-index: one of them needs an event that is earlier " +
				"than the other's time")
		}
	}
	return each, nil
}

// JudgeFiles scores each client's model on the held-out samples from the client's own file.
func (p *Problem) JudgeFiles(models [][]float32) (all []clientFile, err error) {
	for i, held := range p.held {
		file := p.Opt.Spec.Files[i]
		if p.Opt.Tests != nil {
			file = p.Opt.Tests[i]
		}
		c := clientFile{File: file, Train: len(p.Labels[i]), Test: held.Len()}
		test := p.Opt.ModelSpec().New(held)
		worth, err := worthOf(test, models[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.File, err)
		}
		if !math.IsNaN(worth) {
			c.Score = &worth
		}
		if held.Kind() == task.OfClasses {
			most := 100 * test.Majority()
			c.Majority = &most
			c.Warning = backwards(test, models[i], held.ClassNames, file)
		}
		all = append(all, c)
	}
	return all, nil
}

// backwards warns if a model of two classes ranks the test samples of a file the wrong way round. Otherwise it returns "".
func backwards(test *task.Model, model []float32, classes []string, file string) string {
	m, err := test.Judge(model)
	if err != nil || m.Classes.Binary == nil || m.Classes.Binary.AUC == nil || !(m.Classes.Binary.AUC.High < 0.5) {
		return ""
	}
	return fmt.Sprintf("the model ranks the test samples of %s the wrong way round (AUC %.2f, 0.5 is chance): check whether %q and %q are "+
		"swapped there", file, m.Classes.Binary.AUC.Value, classes[0], classes[1])
}

// Words returns the words for the worst of several clients, and for the answer that is always the same.
func (s *Score) Words() (worst, constant string) {
	switch s.Measure {
	case score.RMSE:
		return "highest", "the mean of the test data"
	case score.CIndex:
		return "lowest", "the same risk"
	}
	return "lowest", "the most frequent class"
}

// WriteWorth prints the final scores.
func (r *Result) WriteWorth(t cli.Table) {
	s := r.Score
	say := func(value float64) string { return s.Measure.Text(value, 2) }
	worst, constant := s.Words()
	t.Row(s.Measure.Name(), "%s on average over %d clients, %s at the %s, %s for the network's average model, %s by always saying %s",
		say(s.Mean), r.Nodes, say(s.Worst), worst, say(s.Network), say(s.Constant), constant)
	for _, c := range r.Files {
		worth := "no two of whom can be compared"
		if c.Score != nil {
			worth = say(*c.Score)
		}
		if c.Majority != nil {
			worth += fmt.Sprintf(" (%s by saying the most frequent class)", say(*c.Majority))
		}
		t.Row("own samples", "%s on the %d test samples of %s; its client trains on %d", worth, c.Test, c.File, c.Train)
		if c.Warning != "" {
			t.Row("warning", "%s", c.Warning)
		}
	}
}

// WriteChosen prints the parameters that the program chose.
func (p *Problem) WriteChosen(w io.Writer) {
	var all []string
	for _, name := range p.order {
		value := p.Chosen[name]
		if labels, ok := value.([]string); ok {
			value = strings.Join(labels, ",")
		}
		all = append(all, fmt.Sprintf("-%s %v", name, value))
	}
	if all != nil {
		fmt.Fprintln(w, cli.Wrapped("chosen for you:", "  ", all, 100))
	}
}

// Brief prints the privacy cost of a run against each adversary, and what it means, in a few lines.
func (p *Privacy) Brief(t cli.Table) {
	if p == nil {
		t.Wrap("privacy", "NOT PRIVATE: what a node has sent may reveal its data")
		return
	}
	t.Wrap("privacy", "%s, at delta %v", cli.CostText(p.spent, p.Delta, dpmech.GDP, p.Unit), p.Delta)
	words, _, _ := strings.Cut(explain.Words(p.spent, p.Unit), ". ")
	t.Wrap("", "%s", words)
	t.Row("warning", "%s", p.Warning)
}

// Write prints the privacy cost of the given number of releases against each adversary, and whether they are simulated; p is
// nil for a run that is not private.
func (p *Privacy) Write(t cli.Table, releases int, simulated bool) {
	if p == nil {
		t.Row("privacy", "NOT PRIVATE: what a node has sent may reveal its data")
		return
	}
	note := ""
	if simulated {
		note = " (simulated: the noise came from the seed)"
	}
	cli.WriteCost(t, p.Cost, p.spent, p.Unit, note)
	t.Row("warning", "%s", p.Warning)
	what := "updates clipped to"
	switch p.Unit {
	case dpmech.Client:
	case dpmech.Record:
		what = "a sum of records, each one's share clipped to"
	default:
		what = "a sum of persons, each one's share clipped to"
	}
	if p.PairSigma == 0 {
		t.Row("", "noise %.4g on %s %.4g, in each of %d releases", p.Sigma, what, p.Clip, releases)
	} else {
		with := "each neighbor"
		if p.Partners > 0 {
			with = fmt.Sprintf("each of %d other members", p.Partners)
		}
		t.Row("", "noise %.4g of its own and %.4g shared with %s, on %s %.4g, in each of %d releases: as good as %.4g against %s, and "+
			"%.4g against %s", p.Sigma, p.PairSigma, with, what, p.Clip, releases, p.EffectiveSigma, p.Adversary, p.Sigma, dpmech.AllOthers)
	}
	if len(p.ConditionalOn) > 0 {
		t.Row("", "given as public: %s", strings.Join(p.ConditionalOn, "; "))
	}
	t.Row("", "not covered: when a node sends")
}
