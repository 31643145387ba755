package hospitals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/examples/hospital/heart"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/examples/paper/stat"
	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// Run performs the searches whose results are not yet in the folder out. For every seed from 1 to the value of seeds
// (at least 2), it then performs the runs whose results are not yet there. It writes these files to out, which should
// hold nothing else:
//
//	settings.csv   the settings that the search chose
//	runs.csv       every run, with a line for each hospital
//	README.md      the results
//
// data is the folder of the data sets. table is the folder of agreed.csv, to which preprocessing is fitted.
func Run(ctx context.Context, data, table, out string, seeds int, log io.Writer) error {
	return prepare(data, table, out, seeds, func(from *clinic, runs *sweep.Table) error {
		settings, err := sweep.Open(filepath.Join(out, "settings.csv"), 3, "method", "graph", "epsilon", "accuracy",
			"setting")
		if err != nil {
			return err
		}
		if err := from.searches(ctx, settings, log); err != nil {
			return err
		}
		if err := from.runs(ctx, cells(), settings, runs, seeds, log); err != nil {
			return err
		}
		text, err := report(runs, seeds)
		if err != nil {
			return err
		}
		return sweep.WritePage(filepath.Join(out, "README.md"), text+"\n", runs)
	})
}

// prepare opens the data, and the table of runs in the folder out, and passes both to the function do.
func prepare(data, table, out string, seeds int, do func(*clinic, *sweep.Table) error) error {
	if seeds < 2 {
		return fmt.Errorf("hospitals: found %d seeds, want at least 2, because a single seed has no spread", seeds)
	}
	clean, err := os.MkdirTemp("", "hospitals")
	if err != nil {
		return fmt.Errorf("hospitals: %w", err)
	}
	defer os.RemoveAll(clean)
	from, err := open(data, table, clean)
	if err != nil {
		return err
	}
	runs, err := openRuns(out)
	if err != nil {
		return err
	}
	return do(from, runs)
}

func openRuns(out string) (*sweep.Table, error) {
	head := append([]string{"method", "graph", "epsilon", "seed", "hospital"}, metrics...)
	return sweep.Open(filepath.Join(out, "runs.csv"), 4, head...)
}

func even(int) float64 { return 1 }

func (from *clinic) searches(ctx context.Context, settings *sweep.Table, log io.Writer) error {
	var todo []cell
	for _, c := range cells() {
		if c.method != nil && len(settings.Rows(c.key()...)) == 0 {
			todo = append(todo, c)
		}
	}
	err := sweep.Do(ctx, log, "search", len(todo), even, func(ctx context.Context, i int) (string, error) {
		s, score, err := todo[i].search(ctx, from)
		if err != nil {
			return "", err
		}
		row := append(todo[i].key(), strconv.FormatFloat(score, 'f', 4, 64), s.String())
		return strings.Join(row, " "), settings.Add(row)
	})
	if err != nil {
		return err
	}
	return settings.Sort()
}

func (from *clinic) runs(ctx context.Context, list []cell, settings, runs *sweep.Table, seeds int, log io.Writer) error {
	type job struct {
		cell
		setting method.Setting
		key     []string
		seed    uint64
	}
	var todo []job
	for _, c := range list {
		var s method.Setting
		if c.method != nil {
			var err error
			if s, err = parse(settings.Rows(c.key()...)[0][4]); err != nil {
				return err
			}
		}
		for seed := 1; seed <= seeds; seed++ {
			key := append(c.key(), strconv.Itoa(seed))
			if rows := runs.Rows(key...); len(rows) != len(heart.Hospitals) {
				runs.Drop(key...)
				todo = append(todo, job{c, s, key, uint64(seed)})
			}
		}
	}
	if err := runs.Sort(); err != nil {
		return err
	}
	err := sweep.Do(ctx, log, "hospitals", len(todo), even, func(ctx context.Context, i int) (string, error) {
		j := todo[i]
		marks, err := j.run(ctx, from, j.setting, j.seed)
		if err != nil {
			return "", err
		}
		return strings.Join(j.key, " "), runs.Add(rows(j.key, marks)...)
	})
	if err != nil {
		return err
	}
	return runs.Sort()
}

func rows(key []string, marks []mark) [][]string {
	var out [][]string
	for i, m := range marks {
		row := append(slices.Clone(key), heart.Hospitals[i])
		for _, v := range m {
			row = append(row, strconv.FormatFloat(v, 'f', 6, 64))
		}
		out = append(out, row)
	}
	return out
}

// values returns the value of a metric at a hospital for every seed. If hospital is -1, it returns the means over all
// hospitals.
func (c cell) values(runs *sweep.Table, seeds, hospital, metric int) ([]float64, error) {
	out := make([]float64, seeds)
	for seed := range out {
		rows := runs.Rows(append(c.key(), strconv.Itoa(seed+1))...)
		for i, row := range rows {
			v, err := strconv.ParseFloat(row[5+metric], 64)
			if err != nil {
				return nil, fmt.Errorf("hospitals: runs.csv: %w", err)
			}
			switch hospital {
			case i:
				out[seed] = v
			case -1:
				out[seed] += v / float64(len(rows))
			}
		}
	}
	return out, nil
}

// report returns the text of README.md without the lines about the origin of the results.
func report(runs *sweep.Table, seeds int) (string, error) {
	var b strings.Builder
	var err error
	var together []string
	for _, e := range Epsilons[1:] {
		all, err := perHospital(e)
		if err != nil {
			return "", err
		}
		together = append(together, dpmech.FormatEpsilon(all, 3))
	}
	fmt.Fprintf(&b, `# Four hospitals

Cleveland (303 patients), Budapest (294), Zurich and Basel (123), Long Beach (200): who is ill, from 13 findings of which many were not measured.
Each hospital is one client, %d splits (a quarter of each hospital's patients is held out), and each hospital judges by its own held out patients the
model that it holds at the end. Preprocessing comes from a table of usual values that describes nobody (examples/hospital/agreed.csv), so that nothing is
fitted on patients: 33 parameters. Means over splits, with the 95 %% interval by Student's t where there is one. Splits share patients, so the
intervals are those of the splits, not of hospitals like these.

- *alone*, *pooled*: logistic regression (ridge penalty 1) on the hospital's own or on everybody's patients; *of another*: the mean of what the other
  three's own models are worth here.
- *%s*: each hospital is a fleet of its own, without noise. It stops early, which spares small hospitals what logistic regression makes up.
- *%s*: all settings are those that "spade-edge init" chose from public numbers when these runs were made; *with colluders 1*: neighbors share noise, and
  epsilon holds against whoever sees everything together with any one hospital, not against the three others together.
- Everything else has settings from a search on three other splits of the same patients (%d points), which flatters it where there is no noise; with
  noise three runs tell little. It may ask for %d losses a sample and round. 1P-DSG is decentralized gradient descent from losses, DP-FedAvg is
  FedAvg with noise added by the hospitals themselves, and LT-ADMM-DP is without a server too.
- majority is the accuracy of always saying what is more frequent at the hospital: a model below it is worth less than that.
- epsilon is that of a hospital's whole data set, for the whole run, at delta %v; 0: no noise, no protection.
- *%d wards each*: a hospital's patients are dealt out to as many wards at random, each a client of its own; a ring goes from ward to
  ward of a hospital. The unit of protection is a ward's whole data set then. A hospital's is protected less: by noise of the wards'
  own, an epsilon of %s a ward is one of %s for all wards of a hospital. *Epsilon per hospital* has
  the noise with which all its wards together are within epsilon. *With colluders 1*: any one other ward; *with colluders 3*: as many as a
  hospital has. What is shared between the wards of one hospital does not hide that hospital from somebody who knows them
  all. A ward that is judged by its hospital's patients is one of three; the mean is shown.

## In the mean of the four hospitals

| method | graph | epsilon |`, seeds, single, chosen, trials, queries, delta, wards,
		listed(Epsilons[1:]), strings.Join(together, ", "))
	for _, m := range metrics {
		b.WriteString(" " + m + " |")
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(metrics)) + "\n")
	for _, c := range cells() {
		fmt.Fprintf(&b, "| %s |", strings.Join(c.key(), " | "))
		for j, m := range metrics {
			v, err := c.values(runs, seeds, -1, j)
			if err != nil {
				return "", err
			}
			i, err := stat.TInterval(v, 0.95)
			if err != nil {
				return "", err
			}
			if m == "accuracy" || m == "AUC" {
				fmt.Fprintf(&b, " %.3f (%.3f to %.3f) |", i.Mean, i.Low, i.High)
			} else {
				fmt.Fprintf(&b, " %.3f |", i.Mean)
			}
		}
		b.WriteString("\n")
	}
	auc := func(name string, epsilon float64) float64 {
		v, e := cell{name: name, graph: Graphs[0], epsilon: epsilon}.values(runs, seeds, -1, 2)
		err = errors.Join(err, e)
		return stat.Mean(v)
	}
	fmt.Fprintf(&b, "\n**What it shows:** on the complete graph, AUC in the mean of the four is %.3f without noise; "+
		"at epsilon 8 it is %.3f with each hospital's own "+
		"noise, %.3f with noise that neighbors share, and with three wards each %.3f and %.3f, and %.3f where epsilon "+
		"is the whole hospital's. Four "+
		"clients are few to hide among.\n", auc(chosen, 0), auc(chosen, 8), auc(shared, 8), auc(warded, 8), auc(wardOne,
		8), auc(hospitalled, 8))
	if err != nil {
		return "", err
	}
	for h, name := range heart.Hospitals {
		if err := hospital(&b, runs, seeds, h, name); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// hospital writes the section about one hospital: a sentence about its gain and the cost of privacy, and all metrics.
func hospital(b *strings.Builder, runs *sweep.Table, seeds, h int, name string) error {
	const auc = 2
	own, err := cell{name: single, graph: "none"}.values(runs, seeds, h, auc)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "\n## %s\n\nAUC of %s %.3f. With the others on the complete graph it changes by", name, single,
		stat.Mean(own))
	for _, e := range Epsilons {
		c := cell{name: chosen, graph: Graphs[0], epsilon: e}
		if e > 0 {
			c.name = shared
		}
		v, err := c.values(runs, seeds, h, auc)
		if err != nil {
			return err
		}
		for i := range v {
			v[i] -= own[i]
		}
		d, err := stat.TInterval(v, 0.95)
		if err != nil {
			return err
		}
		if e == 0 {
			fmt.Fprintf(b, " %+.3f (%+.3f to %+.3f) without noise, and with colluders 1 by", d.Mean, d.Low, d.High)
			continue
		}
		fmt.Fprintf(b, " %+.3f (%+.3f to %+.3f) at epsilon %v%s", d.Mean, d.Low, d.High, e,
			map[bool]string{true: ".", false: ","}[e == Epsilons[len(Epsilons)-1]])
	}
	b.WriteString("\n\n| method | graph | epsilon | " + strings.Join(metrics, " | ") + " |\n|---|---|---|" +
		strings.Repeat("---|", len(metrics)) + "\n")
	for _, c := range cells() {
		fmt.Fprintf(b, "| %s |", strings.Join(c.key(), " | "))
		for j := range metrics {
			v, err := c.values(runs, seeds, h, j)
			if err != nil {
				return err
			}
			fmt.Fprintf(b, " %.3f |", stat.Mean(v))
		}
		b.WriteString("\n")
	}
	return nil
}

func listed(xs []float64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(xs), " ", ", "), "[]")
}
