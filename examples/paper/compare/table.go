package compare

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/stat"
)

func (o *options) table(out io.Writer, all []contender, results [][]result) error {
	var b strings.Builder
	guarantee := fmt.Sprintf("epsilon %v at delta %v for each client's whole data set", o.epsilon, o.delta)
	if o.nonPrivate {
		guarantee = "NOT PRIVATE"
	}
	dealt := o.partition.String()
	if o.files != nil {
		dealt = "a file each"
	}
	fmt.Fprintf(&b, "%d clients, %s, %s, %d rounds, %s; %d seeds\n\n", o.nodes, o.graph, dealt, o.rounds, guarantee, len(o.seeds))
	fmt.Fprintf(&b, "%-31s %-24s %-7s %-7s %s\n", "", "accuracy, %", "AUC, %", "losses", "who sees what")
	for i, c := range all {
		auc, losses := "", ""
		if v := stat.Mean(column(results[i], func(r result) float64 { return r.auc })); !math.IsNaN(v) {
			auc = fmt.Sprintf("%.1f", v)
		}
		if v := stat.Mean(column(results[i], func(r result) float64 { return r.losses })); v > 0 {
			losses = fmt.Sprintf("%.1f", v)
		}
		text := fmt.Sprintf("%-31s %-24s %-7s %-7s %s", c.name, interval(accuracies(results[i]), "%.1f"), auc, losses, c.sees)
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	b.WriteString("\n" + o.sentence(all, results) + "\n\n" + fmt.Sprintf(notes, o.trials, validation*100, rehearsals) + "\n")
	_, err := io.WriteString(out, b.String())
	return err
}

const notes = `Accuracy and AUC are those of the held-out samples, in the mean over the clients' own models; losses are asked for
of each sample and in each round. In brackets is the 95 %% interval by Student's t over seeds, which share samples.
SPADE-DFL has the settings that "spade-edge simulate" chooses from public numbers. Each rival has the best of %d settings,
searched for each seed on %.0f %% of its training samples (the best five on %d such parts); held-out samples are not
used, and the search costs no epsilon here, although it would with real data. Rivals without a server are judged by the mean of all
clients' models, as if consensus at the end were free and complete. 1P-DSG and 1P-DSGT are decentralized gradient descent
from losses, without and with gradient tracking. "alone" is SPADE-DFL without noise on a client's own data, and "pooled" is
logistic regression by exact gradients.`

func (o *options) sentence(all []contender, results [][]result) string {
	ours, best, alone, top := -1, -1, -1, -1
	mean := func(i int) float64 { return stat.Mean(accuracies(results[i])) }
	for i, c := range all {
		switch {
		case c.name == own:
			ours = i
		case c.name == "alone":
			alone = i
		case c.name == "pooled":
			top = i
		case c.searched && !c.trusted && (best < 0 || mean(i) > mean(best)):
			best = i
		}
	}
	differ := accuracies(results[ours])
	for s, v := range accuracies(results[best]) {
		differ[s] -= v
	}
	who := "the best rival that also trusts nobody"
	if o.nonPrivate {
		who = "the best rival without a server or with one"
	}
	return fmt.Sprintf("%s is right about %.1f %% of the held-out samples, %s (%s) about %.1f %%:\n"+
		"a difference of %s points, seed by seed; a client alone is right about %.1f %%, all data in one place about %.1f %%.",
		own, mean(ours), who, all[best].name, mean(best), interval(differ, "%+.1f"), mean(alone), mean(top))
}

func column(runs []result, of func(r result) float64) (v []float64) {
	for _, r := range runs {
		v = append(v, of(r))
	}
	return v
}

func accuracies(runs []result) []float64 {
	return column(runs, func(r result) float64 { return r.accuracy })
}

// interval formats the mean of v, followed by its confidence interval if v has several values.
func interval(v []float64, format string) string {
	i, err := stat.TInterval(v, 0.95)
	if err != nil {
		return fmt.Sprintf(format, stat.Mean(v))
	}
	return fmt.Sprintf(format+" ("+format+" to "+format+")", i.Mean, i.Low, i.High)
}
