package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
	"github.com/spade-dfl/spade-edge/examples/paper/stat"
)

// trust is a column of the private tables. The epsilon of all methods in a column is a guarantee against the same
// adversary.
type trust struct {
	title, against string
	methods        []string // the column shows the best of these methods
	value          value
}

var trusts = []trust{
	{"DP-SGD", "a curator has all raw data and is trusted; epsilon holds against who sees the models",
		[]string{experiment.Pooled}, accuracy},
	{"DP-FedAvg (central)", "a server sees every update and is trusted; epsilon holds against who sees the models",
		[]string{experiment.TrustedServer}, accuracy},
	{"DP-FedAvg", "the server sees all, nobody is trusted: everybody else may collude", []string{"DP-FedAvg"}, accuracy},
	{"best of the others", "no server, nobody is trusted: everybody else may collude",
		[]string{"LT-ADMM-VR", "LT-ADMM-DP", "1P-DSG", "1P-DSGT", experiment.TwoPointDSG}, accuracy},
	{"SPADE-DFL, paper's form", "the same", []string{experiment.PaperForm}, accuracy},
	{"centered, averaged, cooled", "the same", []string{experiment.Together}, cooledAveraged},
	{"tracking, Walsh, cooled", "the same", []string{experiment.TrackingWalsh}, cooled},
	{"tracking, Walsh, pairwise noise, mixing, cooled", "the network sees all, with at most one colluder (colluders 1)",
		[]string{experiment.Shared}, cooled},
	{"and momentum, twice the mixing", "the same", []string{experiment.SharedMomentum}, cooled},
}

// Column indices in trusts.
const (
	curator, trustedServer, seeingServer, others = 0, 1, 2, 3
)

// goals maps each data set to the mean accuracy that SPADE-DFL with pairwise noise should reach at epsilon 8 and equal
// queries.
var goals = map[string]float64{"mnist": 98.3, "fashion": 95, "alzheimers": 67, "brain": 58}

// best returns the most accurate cell, by mean accuracy, among the methods of the column.
func (t trust) best(get func(method string) *cell) *cell {
	var best *cell
	for _, name := range t.methods {
		if c := get(name); c != nil && c.mean(t.value) > best.mean(t.value) {
			best = c
		}
	}
	return best
}

// private writes a table that groups methods by whom clients must trust, and a sentence that summarizes the table.
func (r *reporter) private(out *strings.Builder, table string) error {
	goal := table == experiment.Private8
	epsilon := 8.0
	if table == experiment.Private32 {
		epsilon = 32
	}
	all, err := together(31, epsilon)
	if err != nil {
		return err
	}
	fmt.Fprint(out, "\nBy whom one has to trust. All have settings of their own; where a cell has another number of "+
		"runs than ",
		r.seeds, ", it says so. Δ is over the same seeds, with the p value of a two-sided Wilcoxon signed-rank test. "+
			"Where pairwise noise is computed with momentum too, Δ and goal are about that. Pairwise noise takes nine "+
			"rounds of mixing (19 with momentum) after each of the 50 and a longer cool-down, which cost messages, but no query; "+
			"against all "+
			"other members together its ε is ", all,
		" (on the graph of seed 1).\n\n| data | partition |")
	for _, t := range trusts {
		fmt.Fprintf(out, " %s<br>_%s_ |", t.title, t.against)
	}
	out.WriteString(" Δ pairwise noise to DP-SGD (p) | Δ to DP-FedAvg (p) | Δ to the trusted server (p) |")
	if goal {
		out.WriteString(" goal for pairwise noise |")
	}
	out.WriteString("\n| --- | --- |" + strings.Repeat(" ---: |", len(trusts)+3) +
		map[bool]string{true: " ---: |"}[goal] + "\n")
	rows, reached, ahead, compared := 0, 0, make([]int, 3), make([]int, 3)
	searched := make(map[int][]string) // methods, by the number of seeds on which they were searched
	var missed, other []string
	for _, set := range r.sets {
		cells, err := gather(r.store, table, set, r.seeds)
		if err != nil {
			return err
		}
		for _, partition := range experiment.Partitions {
			get := in(cells, partition)
			ours := cmp.Or(get(experiment.SharedMomentum), get(experiment.Shared))
			if ours == nil {
				continue
			}
			rows++
			fmt.Fprintf(out, "| %s | %s |", heading(set), title(partition))
			var best []*cell
			top := -1.0
			for _, t := range trusts {
				c := t.best(get)
				best = append(best, c)
				top = max(top, c.mean(t.value))
			}
			for i, t := range trusts {
				text := best[i].counted(t.value, r.seeds)
				if best[i] != nil && i == others {
					text = best[i].Method + ": " + text
				}
				if best[i].mean(t.value) == top {
					text = "**" + text + "**"
				}
				fmt.Fprintf(out, " %s |", text)
			}
			for k, i := range []int{curator, seeingServer, trustedServer} {
				if best[i] == nil {
					out.WriteString(" – |")
					continue
				}
				x, y := pairedBy(ours, best[i], cooled, accuracy)
				test, err := stat.Wilcoxon(x, y, stat.PrattZeros)
				if err != nil {
					return err
				}
				diff := stat.Mean(x) - stat.Mean(y)
				compared[k]++
				fmt.Fprintf(out, " %+.2f (%.1g) |", diff, test.P)
				if diff > 0 {
					ahead[k]++
				}
			}
			if !goal {
				out.WriteString("\n")
				continue
			}
			verdict := "reached"
			if ours.mean(cooled) < goals[set] {
				verdict = "**missed**"
				missed = append(missed, fmt.Sprintf("%s, %s: %.2f of %.2f", heading(set), title(partition),
					ours.mean(cooled), goals[set]))
			} else {
				reached++
			}
			fmt.Fprintf(out, " %.1f: %s |\n", goals[set], verdict)
		}
		size, err := samples(r.lab, set)
		if err != nil {
			return err
		}
		for _, c := range cells {
			r.row(c, size)
			n := r.settings.Seeds(c.Job)
			if !slices.Contains(searched[n], c.Method) {
				searched[n] = append(searched[n], c.Method)
			}
			if !slices.Contains(other, c.Dataset) && len(c.runs) < r.seeds {
				other = append(other, c.Dataset)
			}
		}
	}
	if rows == 0 {
		out.WriteString("\nNo runs yet.\n")
		return nil
	}
	most := slices.Max(slices.Collect(maps.Keys(searched)))
	for _, n := range slices.Sorted(maps.Keys(searched)) {
		if n < most && n != 6 { // every search should have 6 seeds, or 15 on Fashion-MNIST
			fmt.Fprintf(out, "\nSettings from a search on %d seeds only, on some of the data sets: %s.\n", n,
				strings.Join(searched[n], ", "))
		}
	}
	fmt.Fprintf(out, "\n**What it shows:** with noise that neighbors cancel, which one colluder does not uncover, "+
		"SPADE-DFL is ahead of a curator with "+
		"all raw data in %d of %d rows, of DP-FedAvg's server that sees all in %d of %d, and of a server that is "+
		"trusted with every update in %d of %d.",
		ahead[0], compared[0], ahead[1], compared[1], ahead[2], compared[2])
	if goal {
		fmt.Fprintf(out, " The goal is reached in %d rows.", reached)
		for _, m := range missed {
			fmt.Fprintf(out, "\n- missed: %s", m)
		}
	}
	if len(other) > 0 {
		fmt.Fprintf(out, "\n\nNot all runs are made yet of: %s.", strings.Join(other, ", "))
	}
	out.WriteString("\n")
	return nil
}

// counted is like text, but appends the number of runs if this number differs from seeds.
func (c *cell) counted(f value, seeds int) string {
	text := c.text(f)
	if c != nil && len(c.runs) != seeds {
		text += fmt.Sprintf(" (%d runs)", len(c.runs))
	}
	return text
}
