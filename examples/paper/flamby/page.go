package flamby

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/stat"
	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// The tasks.
const (
	heartTask  = "Fed-Heart"
	cancerTask = "Fed-TCGA-BRCA"
)

// published has FLamby's own figures: the mean over clients, and all test rows together.
var published = map[string][][3]string{
	heartTask: {
		{"pooled training", "73.5 ± 0.2", "79.5 ± 0.2"}, {"FedAdagrad, FedYogi", "73.1 ± 1.1", "77.9 ± 1.4"},
		{"FedAvg", "68.5 ± 2.5", "74.8 ± 2.4"}, {"Scaffold", "68.4 ± 2.5", "74.8 ± 2.4"}, {"best single hospital", "72.2 ± 1.9", "78.4 ± 0.6"},
		{"FedAvg, each sample private (Opacus), epsilon 1, delta 1e-4", "68.5 ± 5.5", ""}, {"the same, epsilon 0.1", "60.6 ± 12.1", ""},
	},
	cancerTask: {
		{"FedAdam, FedYogi", "81.5 ± 2.3", "84.2 ± 1.5"}, {"FedAdagrad", "81.3 ± 0.4", "83.4 ± 0.7"}, {"FedAvg", "73.2 ± 16.2", "73.5 ± 15.7"},
		{"pooled training", "67.6 ± 8.5", "70.4 ± 10.2"}, {"best single region", "75.0 ± 3.3", "72.8 ± 4.3"},
	},
}

const head = `# FLamby's tables

Two tasks of FLamby on its own split: Fed-Heart (four hospitals, ten columns; accuracy) and Fed-TCGA-BRCA (six regions, 39 columns; C-index of
survival), in percent: the mean of the clients' figures on their own test rows, and the figure on all test rows together. Means and standard
deviations over %d seeds. FLamby's figures are as published, over its five seeds.

Settings are those that "spade-edge simulate" chooses. Those for survival were chosen by cross-validation on the training rows
(sdk/DEFAULTS.md), by people who had already seen figures on these test rows. That age counts threefold for survival is public knowledge, confirmed on training rows alone. The rivals of
this module have the agreed values too, protect each patient, and ask at most 640 losses of each; a search of %d points on held-out training rows
chose their settings. Epsilon is that of each patient against everybody else together; with *noise shared by pairs* (-colluders auto) against all who collude with as many
clients as the program chooses. Preprocessing comes from a table of usual values that describes nobody. FLamby standardizes with each
client's own data instead, which no epsilon covers: the rows *each client's own standardization* do the same. Two regions have one and two events
among their test rows, so the means over clients swing.
`

// page returns the text of README.md without its origin.
func page(runs *sweep.Table, seeds int) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, head, seeds, trials)
	for _, task := range []string{heartTask, cancerTask} {
		measure := "accuracy"
		if task == cancerTask {
			measure = "C-index"
		}
		fmt.Fprintf(&b, "\n## %s, %s\n\n| | epsilon | delta | clients | pooled | rounds | queries of all clients | bytes sent | seconds |\n|---|---|---|---|---|---|---|---|---|\n",
			task, measure)
		for _, c := range commands() {
			line, err := rowOf(runs, task, c, seeds)
			if err != nil {
				return "", err
			}
			b.WriteString(line)
		}
		for _, r := range rivals() {
			for _, e := range rivalEpsilons {
				line, err := rowOf(runs, task, command{row: r.name, epsilon: e, delta: rivalDelta}, seeds)
				if err != nil {
					return "", err
				}
				b.WriteString(line)
			}
		}
		for _, p := range published[task] {
			fmt.Fprintf(&b, "| FLamby: %s | | | %s | %s | | | | |\n", p[0], p[1], p[2])
		}
	}
	b.WriteString("\n")
	return b.String(), nil
}

func rowOf(runs *sweep.Table, task string, c command, seeds int) (string, error) {
	values := make([][]float64, 7)
	for seed := range seeds {
		rows := runs.Rows(task, c.row, fmt.Sprint(c.epsilon), fmt.Sprint(c.delta), fmt.Sprint(seed+1))
		if len(rows) != 1 {
			return "", fmt.Errorf("flamby: %d runs of %s, %s, epsilon %v, delta %v, seed %d, want 1", len(rows), task, c.row, c.epsilon, c.delta, seed+1)
		}
		for i := range values {
			v, err := strconv.ParseFloat(rows[0][5+i], 64)
			if err != nil {
				return "", fmt.Errorf("flamby: runs.csv: %w", err)
			}
			values[i] = append(values[i], v)
		}
	}
	spread := func(i int) string { return fmt.Sprintf("%.1f ± %.1f", stat.Mean(values[i]), stat.SampleSD(values[i])) }
	noise := "| no noise | "
	if c.delta > 0 {
		noise = fmt.Sprintf("| %v | %v ", c.epsilon, c.delta)
	}
	return fmt.Sprintf("| %s %s| %s | %s | %.0f of %.0f queries a record | %.0f | %.0f | %.1f |\n", c.row, noise, spread(0), spread(1), stat.Mean(values[2]),
		stat.Mean(values[3]), stat.Mean(values[4]), stat.Mean(values[5]), stat.Mean(values[6])), nil
}
