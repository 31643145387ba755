package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/examples/paper/stat"
)

// table2 lists the versions of Table II.
var table2 = []struct{ table, title, text string }{
	{experiment.EqualQueries, "A. Without noise, at equal queries",
		"Every method has the same number of losses a sample and round: 3, and 9 for Alzheimer's disease, " +
			"which is what SPADE-DFL takes with the paper's τ = 2 and τ = 8 on all samples. Settings: one search of the " +
			"same " +
			"size for every method."},
	{experiment.Private8, "B. Private, ε = 8, δ = 1e-5",
		"The same, and every client's whole data set is protected by noise: (8, 1e-5) by exact Gaussian accounting, for " +
			"all methods alike. " +
			"DP-SGD has a curator who is trusted with all raw data; nobody else trusts anybody, but in the last table of " +
			"this part, which says " +
			"over each column whom."},
	{experiment.Private32, "B. Private, ε = 32, δ = 1e-5", "The same with a four times larger ε."},
	{experiment.FreeQueries, "C. Without noise, queries free (ours, not the paper's setting)",
		"Each method chooses its number of losses a sample and round, up to 10, and what it does with them. Still 50 " +
			"rounds."},
	{experiment.PrivateFree, "C. Private, ε = 8, δ = 1e-5, queries free (ours, not the paper's setting)",
		"As B, and everybody has the same free choice: up to 10 losses a sample and round, and what to do with them, " +
			"DP-SGD's curator and " +
			"DP-FedAvg's server included. A method without a server that makes two-point estimates or more local steps of " +
			"them does so where " +
			"its search finds that best."},
}

// table2 writes one version of Table II.
func (r *reporter) table2(out *strings.Builder, table string) error {
	methods := []string{}
	for _, m := range method.Rivals() {
		methods = append(methods, m.Name())
	}
	fmt.Fprintf(out, "| data | partition | %s | SPADE-DFL | Δ best rival (p) | average model | ceiling | paper's "+
		"SPADE-DFL |\n", strings.Join(methods, " | "))
	fmt.Fprintf(out, "| --- | --- |%s\n", strings.Repeat(" ---: |", len(methods)+5))
	var behind, spent []string
	for _, set := range r.sets {
		cells, err := gather(r.store, table, set, r.seeds)
		if err != nil {
			return err
		}
		if len(cells) == 0 {
			continue
		}
		n, err := samples(r.lab, set)
		if err != nil {
			return err
		}
		var queries []string
		for i, partition := range experiment.Partitions {
			get := in(cells, partition)
			spade := get(experiment.PaperForm)
			if spade == nil {
				continue
			}
			best, bestName := math.Inf(-1), ""
			for _, name := range methods {
				if m := get(name).mean(accuracy); m > best {
					best, bestName = m, name
				}
			}
			fmt.Fprintf(out, "| %s | %s |", heading(set), title(partition))
			for _, name := range methods {
				c := get(name)
				text := c.text(accuracy)
				switch {
				case name == bestName && best > spade.mean(accuracy):
					text = "**" + text + "**"
				case name == bestName:
					text = "_" + text + "_"
				}
				fmt.Fprintf(out, " %s |", text)
				if i == 2 && c != nil {
					queries = append(queries, fmt.Sprintf("%s %.2f", name, c.losses(n)))
				}
			}
			text := spade.text(accuracy)
			if spade.mean(accuracy) >= best {
				text = "**" + text + "**"
			}
			if i == 2 {
				queries = append(queries, fmt.Sprintf("SPADE-DFL %.2f", spade.losses(n)))
			}
			delta := "–"
			if rival := get(bestName); rival != nil {
				x, y := paired(spade, rival, accuracy)
				test, err := stat.Wilcoxon(x, y, stat.PrattZeros)
				if err != nil {
					return err
				}
				diff := spade.mean(accuracy) - best
				delta = fmt.Sprintf("%+.2f (%.1g)", diff, test.P)
				if diff < 0 {
					behind = append(behind, fmt.Sprintf("%s, %s: %+.2f to %s (p = %.1g, %d pairs)", heading(set), title(partition),
						diff, bestName, test.P, len(x)))
				}
			}
			squared, logarithmic := r.ceilings.of(set, spade.runs)
			fmt.Fprintf(out, " %s | %s | %.2f | %.2f / %.2f | %.2f |\n", text, delta, spade.mean(network), squared, logarithmic,
				publishedTable2[set][i])
			for _, c := range cells {
				if c.Partition == partition {
					r.row(c, n)
				}
			}
		}
		if len(queries) > 0 {
			spent = append(spent, heading(set)+": "+strings.Join(queries, ", "))
		}
	}
	if len(spent) == 0 {
		out.WriteString("\nNo runs in the paper's form yet.\n")
		if table == experiment.PrivateFree {
			return r.private(out, table)
		}
		return nil
	}
	fmt.Fprintf(out, "\nLosses spent, a training sample and round (Dir. 0.3): %s.\n", strings.Join(spent, "; "))
	if len(behind) > 0 {
		fmt.Fprintf(out, "\nSPADE-DFL is **not** ahead in %d cells:\n\n", len(behind))
		for _, line := range behind {
			fmt.Fprintf(out, "- %s\n", line)
		}
	} else {
		fmt.Fprint(out, "\nSPADE-DFL has the highest mean in every cell.\n")
	}
	return r.options(out, table)
}

// options writes a table for the SPADE-DFL options that are not in the paper. The parameter table is the comparison
// from which the results come.
func (r *reporter) options(out *strings.Builder, table string) error {
	fmt.Fprint(out, "\nAnd past it: SPADE-DFL with the options that the paper does not have, beside the best rival. The "+
		"first four columns are one run in the paper's form and with its setting; "+
		"the others have the centered or the tracking estimator, and settings that were searched for each of them as "+
		"for every method. "+
		"Averaging and cooling down cost no query and no privacy, cooling down 20 rounds of "+
		"messages. (Of Alzheimer's disease, those with centered losses have one fold a seed, the others all five "+
		"where all are done.)\n\n")
	var more []string // methods that have runs only at equal queries
	heads := ""
	if table == experiment.EqualQueries {
		more = []string{experiment.CenteredWalsh, experiment.Tracking, experiment.TrackingWalsh}
		heads = " centered, Walsh, cooled | tracking, cooled | tracking, Walsh, cooled |"
	}
	fmt.Fprint(out, "| data | partition | best rival | paper's form | averaged | cooled | both | centered | centered, "+
		"cooled | all |"+heads+"\n| --- | --- |"+strings.Repeat(" ---: |", 8+len(more))+"\n")
	ahead, rows := 0, 0
	for _, set := range r.sets {
		cells, err := gather(r.store, table, set, r.seeds)
		if err != nil {
			return err
		}
		for _, partition := range experiment.Partitions {
			line, first := optionRow(cells, heading(set)+" | "+title(partition), partition, more)
			out.WriteString(line)
			if line != "" {
				rows++
			}
			if first {
				ahead++
			}
		}
	}
	fmt.Fprintf(out, "\n**What it shows:** with the best option of this table SPADE-DFL is ahead of all rivals in %d "+
		"of %d rows.\n", ahead, rows)
	switch table {
	case experiment.EqualQueries:
		return r.serverless(out)
	case experiment.Private8, experiment.Private32, experiment.PrivateFree:
		return r.private(out, table)
	}
	return nil
}

// serverless writes a table that compares the tracking estimator with rivals that need no server.
func (r *reporter) serverless(out *strings.Builder) error {
	fmt.Fprint(out, "\nThe tracking estimator beside the best rival without a server, and the best with one (DP-SGD, "+
		"DP-FedAvg). "+
		"Δ is to the best without, over the same seeds and folds.\n\n"+
		"| data | partition | best without a server | tracking, cooled | Δ (p) | tracking, Walsh, cooled | Δ (p) | best "+
		"with a "+
		"server | ceiling |\n| --- | --- |"+strings.Repeat(" ---: |", 7)+"\n")
	forms := []string{experiment.Tracking, experiment.TrackingWalsh}
	names := []string{"tracking", "with Walsh directions"}
	ahead, near, worst, rows := make([]int, 2), make([]int, 2), make([]float64, 2), 0
	for _, set := range r.sets {
		cells, err := gather(r.store, experiment.EqualQueries, set, r.seeds)
		if err != nil {
			return err
		}
		for _, partition := range experiment.Partitions {
			get := in(cells, partition)
			if get(forms[0]) == nil || get(forms[1]) == nil {
				continue
			}
			var rival, served *cell
			for _, m := range method.Rivals() {
				best := &rival
				if slices.Contains(experiment.Served, m.Name()) {
					best = &served
				}
				if c := get(m.Name()); c != nil && c.mean(accuracy) > (*best).mean(accuracy) {
					*best = c
				}
			}
			if rival == nil || served == nil {
				continue
			}
			rows++
			ceiling, _ := r.ceilings.of(set, rival.runs)
			fmt.Fprintf(out, "| %s | %s | %s: %.2f |", heading(set), title(partition), rival.Method, rival.mean(accuracy))
			for i, form := range forms {
				x, y := pairedBy(get(form), rival, cooled, accuracy)
				test, err := stat.Wilcoxon(x, y, stat.PrattZeros)
				if err != nil {
					return err
				}
				diff := stat.Mean(x) - stat.Mean(y)
				fmt.Fprintf(out, " %s | %+.2f (%.1g) |", get(form).text(cooled), diff, test.P)
				worst[i] = min(worst[i], diff)
				if diff > 0 {
					ahead[i]++
				}
				if get(form).mean(cooled) > ceiling-1 {
					near[i]++
				}
			}
			fmt.Fprintf(out, " %s: %.2f | %.2f |\n", served.Method, served.mean(accuracy), ceiling)
		}
	}
	out.WriteString("\n")
	for i := range forms {
		fmt.Fprintf(out, "- %s: ahead of all methods without a server in %d of %d rows, at most %.2f behind, and less "+
			"than a point "+
			"below the ceiling in %d.\n", names[i], ahead[i], rows, -worst[i], near[i])
	}
	return nil
}

// optionRow returns a row of the table of options, and reports whether a form of SPADE-DFL is best in it. The row is
// empty if there are no runs.
func optionRow(cells []*cell, head, partition string, more []string) (line string, ahead bool) {
	get := in(cells, partition)
	paper := get(experiment.PaperForm)
	if paper == nil {
		return "", false
	}
	rival := math.Inf(-1)
	for _, m := range method.Rivals() {
		rival = max(rival, get(m.Name()).mean(accuracy))
	}
	means, columns := []float64{rival}, []string{fmt.Sprintf("%.2f", rival)}
	type form struct {
		c *cell
		v value
	}
	forms := []form{
		{paper, accuracy}, {paper, averaged}, {paper, cooled}, {paper, cooledAveraged},
		{get(experiment.Centered), accuracy}, {get(experiment.CenteredCooled), cooled},
		{get(experiment.Together), cooledAveraged},
	}
	for _, m := range more {
		forms = append(forms, form{get(m), cooled})
	}
	for _, f := range forms {
		means, columns = append(means, f.c.mean(f.v)), append(columns, f.c.text(f.v))
	}
	best := slices.Index(means, slices.Max(means))
	columns[best] = "**" + columns[best] + "**"
	return "| " + head + " | " + strings.Join(columns, " | ") + " |\n", best > 0
}
