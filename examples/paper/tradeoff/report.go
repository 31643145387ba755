package tradeoff

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/figure"
	"github.com/spade-dfl/spade-edge/examples/paper/stat"
	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

type job struct {
	series
	Budget
	Setting
	seed int
}

func (j job) key() []string {
	return []string{j.estimator, j.schedule, strconv.Itoa(j.Steps), strconv.Itoa(j.seed)}
}

func (j job) row(c figure.Cost) []string {
	return append(j.key(), strconv.Itoa(j.Budget.Tau), format(j.Eta0), format(j.Mu0), format(j.Gain),
		strconv.Itoa(j.Batch),
		strconv.FormatInt(c.Scalars, 10), strconv.FormatInt(j.Queries(j.Batch), 10), format(c.Stationarity),
		format(c.Consensus), format(c.Start))
}

// cost parses a row of runs.csv. ok is false if the row was computed with a different setting.
func (j job) cost(row []string) (c figure.Cost, ok bool, err error) {
	c = figure.Cost{Series: j.name, Steps: j.Steps, Seed: j.seed, Scalars: j.Scalars()}
	for i, to := range []*float64{&c.Stationarity, &c.Consensus, &c.Start} {
		if *to, err = strconv.ParseFloat(row[len(row)-3+i], 64); err != nil {
			return c, false, fmt.Errorf("tradeoff: runs.csv: %w", err)
		}
	}
	same := strings.Join(j.row(c), ",") == strings.Join(row, ",")
	return c, same, nil
}

func open(out string) (*sweep.Table, error) {
	return sweep.Open(filepath.Join(out, "runs.csv"), 4, "estimator", "schedule", "T", "seed",
		"tau", "eta0", "mu0", "gain", "batch", "scalars", "queries", "stationarity", "consensus", "start")
}

// Run chooses the constants of each schedule. For every seed from 1 to the value of seeds, it then performs the runs
// whose results are not yet in the folder out. It writes these files to out, which should hold nothing else:
//
//	trials.csv      every setting that was tried, on the instance for TuningSeed
//	runs.csv        every run: both parts of S_K, and |grad F(x_0)|^2
//	README.md       the results
//	tradeoff.svg    see [figure.Tradeoff]
//
// Thirty seeds take about sixteen minutes on one processor, less on several.
func Run(ctx context.Context, out string, seeds int, log io.Writer) error {
	if seeds < 1 || seeds >= TuningSeed {
		return fmt.Errorf("tradeoff: found %d seeds, want 1 to %d", seeds, TuningSeed-1)
	}
	settings, err := tune(ctx, out, log)
	if err != nil {
		return err
	}
	table, err := open(out)
	if err != nil {
		return err
	}
	var jobs, missing []job
	for seed := 1; seed <= seeds; seed++ {
		for i, l := range all {
			for _, b := range l.budgets {
				jobs = append(jobs, job{l, b, settings[i], seed})
			}
		}
	}
	for _, j := range jobs {
		rows := table.Rows(j.key()...)
		if len(rows) == 1 {
			_, same, err := j.cost(rows[0])
			if err != nil {
				return err
			}
			if same {
				continue
			}
		}
		table.Drop(j.key()...) // drop a run with another setting
		missing = append(missing, j)
	}
	if err := table.Sort(); err != nil {
		return err
	}
	cost := func(i int) float64 { return float64(missing[i].Queries(missing[i].Batch)) }
	err = sweep.Do(ctx, log, "runs", len(missing), cost, func(ctx context.Context, i int) (string, error) {
		j := missing[i]
		c, err := measure(ctx, j.Budget, j.Setting, uint64(j.seed))
		if err != nil {
			return "", fmt.Errorf("tradeoff: %s, T = %d, seed %d: %w", j.name, j.Steps, j.seed, err)
		}
		return fmt.Sprintf("%s, T = %d, seed %d: %.4f", j.name, j.Steps, j.seed, c.Ratio()), table.Add(j.row(c))
	})
	if err != nil {
		return err
	}
	if err := table.Sort(); err != nil {
		return err
	}
	var costs []figure.Cost
	for _, j := range jobs {
		c, _, err := j.cost(table.Rows(j.key()...)[0])
		if err != nil {
			return err
		}
		costs = append(costs, c)
	}
	if err := figure.Tradeoff(costs, filepath.Join(out, "tradeoff.svg")); err != nil {
		return err
	}
	return sweep.WritePage(filepath.Join(out, "README.md"), markdown(costs, settings, seeds), table)
}

// published holds, for each schedule, the criterion that the paper reports for its own instances at T = 29,791.
var published = map[string]string{"1": "0.000372", "T^(1/3)": "0.010392"}

func markdown(costs []figure.Cost, settings []Setting, seeds int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Communication against optimization

%d clients on a cycle, d = %d, %d samples each, T local steps a client, exchanges after every step or after every `+
		`T^(1/3) of them. Paired
seeds 1 to %d; each draws an instance, a start of norm %d, directions and batches. S is the paper's criterion S_K: `+
		`gradient, the mean over
local steps of |grad F|^2 at the mean iterate, plus disagreement, the mean over rounds of the mean squared distance `+
		`from the mean
model. Values are means over seeds, with the population standard deviation of S; the ratio is the mean of S over the `+
		`mean of
|grad F(x_0)|^2. The paper's S is that of other, unpublished instances: the two columns say nothing about each `+
		`other's size.

| series | T | tau | rounds | numbers sent | losses asked | gradient | disagreement | S | ± | S / start | paper's S |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`, Clients, Dim, Samples, seeds, startNorm)
	slopes := ""
	for i, l := range all {
		var logT, logS []float64
		falls := true
		for n, budget := range l.budgets {
			var gradient, disagreement, s, start []float64
			for _, c := range costs {
				if c.Series == l.name && c.Steps == budget.Steps {
					gradient, disagreement = append(gradient, c.Stationarity), append(disagreement, c.Consensus)
					s, start = append(s, c.Stationarity+c.Consensus), append(start, c.Start)
				}
			}
			paper := ""
			if n == len(l.budgets)-1 && l.estimator == "paper" {
				paper = published[l.schedule]
			}
			mean := stat.Mean(s)
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %.6f | %.6f | %.6f | %.6f | %.4f | %s |\n", l.name, budget.Steps,
				budget.Tau, budget.Steps/budget.Tau,
				budget.Scalars(), budget.Queries(settings[i].Batch), stat.Mean(gradient), stat.Mean(disagreement), mean, stat.SD(s),
				mean/stat.Mean(start), paper)
			logT, logS = append(logT, math.Log(float64(budget.Steps))), append(logS, math.Log(mean))
			falls = falls && (n == 0 || logS[n] < logS[n-1])
		}
		fall := "falls over all four budgets"
		if !falls {
			fall = "DOES NOT FALL over all four budgets"
		}
		slopes += fmt.Sprintf("- %s: mean S %s; slope of log S over log T %.3f (the bound's is -0.333)\n", l.name, fall,
			slope(logT, logS))
	}
	b.WriteString("\n" + slopes + "\n## Constants\n\n")
	fmt.Fprintf(&b, `eta = eta0 T^(-1/2), mu = mu0 T^(-1/6), beta = a0/(tau eta mu) with a0 = gain * 8/(3 rho `+
		`lambda_N), rho = 1, b queries a local step. Chosen
once for each series on the instance of seed %d, which is not reported, by the geometric mean of S over its start at `+
		`T = 1000 and T = 10648:
the same %d trials for every series, all in trials.csv.

| series | eta0 | mu0 | gain | b |
|---|---:|---:|---:|---:|
`, TuningSeed, len(eta0s)*len(mu0s)+len(gains)+len(batches))
	for i, l := range all {
		s := settings[i]
		fmt.Fprintf(&b, "| %s | %v | %v | %v | %d |\n", l.name, s.Eta0, s.Mu0, s.Gain, s.Batch)
	}
	b.WriteString("\n![Criterion](tradeoff.svg)\n\n")
	return b.String()
}

func slope(x, y []float64) float64 {
	mx, my := stat.Mean(x), stat.Mean(y)
	var xy, xx float64
	for i := range x {
		xy += float64((x[i] - mx) * (y[i] - my))
		xx += float64((x[i] - mx) * (x[i] - mx))
	}
	return xy / xx
}
