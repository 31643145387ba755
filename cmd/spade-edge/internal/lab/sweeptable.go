package lab

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
)

// Sweep is what runs over seeds and epsilons come to, and its JSON.
type Sweep struct {
	Score   string          `json:"score"` // what Table is of: the key of each run's result
	Table   []sweepGroup    `json:"table"`
	Runs    []*setup.Result `json:"runs"` // by epsilon, then by seed, in the order in which they were given
	Seconds float64         `json:"seconds"`
}

// sweepGroup is what the runs at one epsilon are worth. A run's score is the mean over its clients.
type sweepGroup struct {
	Epsilon *float64 `json:"epsilon"` // null if it was not asked for
	Runs    int      `json:"runs"`
	Mean    float64  `json:"mean"`
	SD      float64  `json:"sd"` // of a sample; 0 for one run
	// Worst is that of the worst run: the lowest accuracy, or the highest RMSE. WorstClient is that of the worst client in
	// any run.
	Worst       float64 `json:"worst"`
	WorstClient float64 `json:"worst_client"`
}

// scoreOf returns a run's mean over clients and its worst client, and whether more is better.
func scoreOf(r *setup.Result) (mean, worst float64, more bool) {
	if g := r.Regression; g != nil {
		return g.RMSEMean, g.RMSEMax, false
	}
	return r.AccuracyMean, r.AccuracyMin, true
}

// asked returns the epsilon that the run's noise was made for, if it was asked for by name.
func (r *sweepRun) asked() *float64 {
	if o := &r.options; !o.Asked.Privacy.NonPrivate && !o.Given["sigma"] {
		return &o.Asked.Privacy.EpsilonLimit
	}
	return nil
}

// groupRuns splits runs by epsilon.
func groupRuns(runs []*sweepRun) (groups [][]*sweepRun) {
	for i, r := range runs {
		if i == 0 || r.options.Asked.Privacy.EpsilonLimit != runs[i-1].options.Asked.Privacy.EpsilonLimit {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], r)
	}
	return groups
}

func newSweep(groups [][]*sweepRun, began time.Time) *Sweep {
	s := &Sweep{Score: "accuracy_mean", Seconds: time.Since(began).Seconds()}
	for _, runs := range groups {
		g := sweepGroup{Epsilon: runs[0].asked(), Runs: len(runs)}
		var means []float64
		for i, run := range runs {
			mean, worst, more := scoreOf(run.result)
			worse := math.Min
			if !more {
				worse, s.Score = math.Max, "rmse_mean"
			}
			if i == 0 {
				g.Worst, g.WorstClient = mean, worst
			}
			g.Worst, g.WorstClient = worse(g.Worst, mean), worse(g.WorstClient, worst)
			means = append(means, mean)
			s.Runs = append(s.Runs, run.result)
		}
		g.Mean, g.SD = meanSD(means)
		s.Table = append(s.Table, g)
	}
	return s
}

// meanSD returns the mean and the standard deviation of a sample, which is 0 for one number.
func meanSD(xs []float64) (mean, sd float64) {
	mean, _ = setup.Average(xs)
	for _, x := range xs {
		sd += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(sd / float64(max(1, len(xs)-1)))
}

func (s *Sweep) write(t cli.Table) {
	what, unit, worst := "accuracy", " %", "lowest"
	if s.Score != "accuracy_mean" {
		what, unit, worst = "RMSE", "", "highest"
	}
	fmt.Fprintf(t, "%-10s %6s %14s %10s %12s %14s\n", "epsilon", "runs", "mean "+what, "sd", worst, worst+" client")
	cell := func(v float64) string {
		if unit == "" {
			return fmt.Sprintf("%.4g", v)
		}
		return fmt.Sprintf("%.2f%s", v, unit)
	}
	for _, g := range s.Table {
		epsilon := "-"
		if g.Epsilon != nil {
			epsilon = cli.Digits(*g.Epsilon)
		}
		fmt.Fprintf(t, "%-10s %6d %14s %10s %12s %14s\n", epsilon, g.Runs, cell(g.Mean), cell(g.SD), cell(g.Worst),
			cell(g.WorstClient))
	}
	if r := s.Runs[0]; r.Regression != nil {
		fmt.Fprintf(t, "\nalways saying the mean: RMSE %.4g (seed %d)\n", r.Regression.MeanRMSE, r.Seed)
	} else {
		fmt.Fprintf(t, "\nalways saying the most frequent class: %.2f %% (seed %d)\n", r.AccuracyMajority, r.Seed)
	}
	note := "simulated: the noise came from the seeds, and protects nobody's data"
	if s.Runs[0].NonPrivate {
		note = "NOT PRIVATE: nothing was clipped and no noise was added"
	}
	t.Row("privacy", "%s", note)
	t.Row("cost", "%d runs, %.1f s", len(s.Runs), s.Seconds)
}

// rowsOf returns a table of CSV with a row for each run. Its columns have the names of the JSON of a single run.
func rowsOf(runs []*sweepRun) []byte {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	optional := func(v *float64) string {
		if v == nil {
			return ""
		}
		return cli.Digits(*v)
	}
	for i, run := range runs {
		r := run.result
		cells := [][2]string{
			{"seed", strconv.FormatUint(r.Seed, 10)}, {"epsilon", optional(run.asked())}, {"nodes", strconv.Itoa(r.Nodes)},
			{"rounds", strconv.Itoa(r.Rounds)}, {"cooldown", strconv.Itoa(r.Cooldown)}, {"tau", strconv.Itoa(r.Tau)},
		}
		if g := r.Regression; g != nil {
			cells = append(cells, [][2]string{{"rmse_mean", cli.Digits(g.RMSEMean)}, {"rmse_max", cli.Digits(g.RMSEMax)},
				{"rmse_network_mean", cli.Digits(g.RMSENetworkMean)}, {"mae_mean", cli.Digits(g.MAEMean)}, {"r2_mean", cli.Digits(g.R2Mean)},
				{"rmse_of_mean", cli.Digits(g.MeanRMSE)}}...)
		} else {
			two := cmp.Or(r.TwoClasses, &setup.TwoClasses{})
			cells = append(cells, [][2]string{{"accuracy_mean", cli.Digits(r.AccuracyMean)}, {"accuracy_min", cli.Digits(r.AccuracyMin)},
				{"accuracy_network_mean", cli.Digits(r.AccuracyNetworkMean)}, {"accuracy_majority", cli.Digits(r.AccuracyMajority)},
				{"macro_f1_mean", optional(r.MacroF1)}, {"auc_mean", optional(two.AUC)},
				{"sensitivity_mean", optional(two.Sensitivity)}, {"specificity_mean", optional(two.Specificity)}}...)
		}
		cells = append(cells, [][2]string{{"consensus_error", cli.Digits(r.ConsensusError)},
			{"queries", strconv.FormatInt(r.Queries, 10)}, {"bytes_sent", strconv.FormatInt(r.BytesSent, 10)},
			{"seconds", cli.Digits(r.Seconds)}, {"transcript", r.Transcript}}...)
		column := func(j int) (all []string) {
			for _, c := range cells {
				all = append(all, c[j])
			}
			return all
		}
		if i == 0 {
			_ = w.Write(column(0)) // a buffer takes everything
		}
		_ = w.Write(column(1))
	}
	w.Flush()
	return text.Bytes()
}
