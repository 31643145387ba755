package report

import (
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
)

// table3 writes the table of accuracies for each number of clients at epsilon 32.
func (r *reporter) table3(out *strings.Builder) error {
	var heads []string
	for _, n := range experiment.Counts {
		heads = append(heads, fmt.Sprintf("N = %d", n))
	}
	return r.sensitivity(out, heads, publishedTable3, func(j experiment.Job, i int) bool {
		return j.Clients == experiment.Counts[i] && j.Epsilon == 32
	})
}

// table4 writes the table of accuracies for each epsilon with 100 clients.
func (r *reporter) table4(out *strings.Builder) error {
	var heads, paper []string
	for _, e := range experiment.Epsilons {
		heads = append(heads, fmt.Sprintf("ε = %v", e))
		rho, err := dpmech.GDP.MaxRho(e, experiment.Delta)
		if err != nil {
			return err
		}
		paper = append(paper, dpmech.FormatEpsilon(dpmech.Paper.Epsilon(rho, experiment.Delta), 2))
	}
	var all []string
	for _, e := range experiment.Epsilons {
		text, err := together(100, e)
		if err != nil {
			return err
		}
		all = append(all, text)
	}
	fmt.Fprintf(out, "Noise that neighbors share holds against whoever sees all releases and any one member; against "+
		"all other members together, ε is %s "+
		"instead (on the graph of seed 1).\n\n", strings.Join(all, ", "))
	fmt.Fprintf(out, "ε is exact (Gaussian differential privacy). By the paper's formula ρ + 2√(ρ ln(1/δ)) the same "+
		"noise is called ε = %s. The rows \"noise by the paper's formula\" "+
		"have as much noise as that formula asks for at the ε of the column.\n\n", strings.Join(paper, ", "))
	return r.sensitivity(out, heads, publishedTable4, func(j experiment.Job, i int) bool {
		return j.Clients == 100 && j.Epsilon == experiment.Epsilons[i]
	})
}

// sensitivity writes a table about private SPADE-DFL in two versions: with test accuracy and with validation accuracy.
func (r *reporter) sensitivity(out *strings.Builder, heads []string, published map[string][]float64,
	at func(j experiment.Job, i int) bool) error {
	if err := r.scores(out, experiment.Sensitivity, heads, published, at); err != nil {
		return err
	}
	out.WriteString("\n## Validation accuracy\n\nThe paper calls what it reports validation accuracy. Here are the " +
		"same " +
		"runs on four fifths of the training set, scored on the last fifth (other seeds than the " +
		"search's, but the samples are the same), up to 10 seeds. Validation sets are easier than the test set where " +
		"that " +
		"was made by other hands.\n\n")
	return r.scores(out, experiment.Validation, heads, published, at)
}

const sharedText = "tracking, Walsh, pairwise noise (colluders 1), cooled"

// scores writes one version of the table, with a block of rows for each data set.
func (r *reporter) scores(out *strings.Builder, table string, heads []string, published map[string][]float64,
	at func(j experiment.Job, i int) bool) error {
	fmt.Fprintf(out, "| data | SPADE-DFL | ε holds against | %s |\n| --- | --- | --- |%s\n", strings.Join(heads, " | "),
		strings.Repeat(" ---: |", len(heads)))
	forms := []struct {
		text               string
		method, accounting string
		value              value
	}{
		{"paper's form", experiment.PaperForm, "", accuracy},
		{"paper's form, average model", experiment.PaperForm, "", network},
		{"paper's form, noise by the paper's formula", experiment.PaperForm, "paper", accuracy},
		{"the same, average model", experiment.PaperForm, "paper", network},
		{"averaged", experiment.PaperForm, "", averaged},
		{"cooled", experiment.PaperForm, "", cooled},
		{"averaged and cooled", experiment.PaperForm, "", cooledAveraged},
		{"centered", experiment.Centered, "", accuracy},
		{"all, with settings of their own", experiment.Together, "", cooledAveraged},
		{"tracking, Walsh, cooled", experiment.TrackingWalsh, "", cooled},
		{sharedText, experiment.Shared, "", cooled},
	}
	reached, counted := make(map[string]int), make(map[string]int)
	var missed []string
	for _, set := range r.sets {
		cells, err := gather(r.store, table, set, r.seeds)
		if err != nil {
			return err
		}
		if len(cells) == 0 {
			continue
		}
		fmt.Fprintf(out, "| %s | the paper reports | |", heading(set))
		for i := range heads {
			fmt.Fprintf(out, " %.2f |", published[set][i])
		}
		out.WriteString("\n")
		for _, form := range forms {
			if find(cells, func(j experiment.Job) bool {
				return j.Method == form.method && j.Accounting == form.accounting
			}) == nil {
				continue
			}
			against := "everybody else together"
			if form.method == experiment.Shared {
				against = "who sees all, and any one member"
			}
			fmt.Fprintf(out, "| %s | %s | %s |", heading(set), form.text, against)
			for i, head := range heads {
				c := find(cells, func(j experiment.Job) bool {
					return at(j, i) && j.Method == form.method && j.Accounting == form.accounting
				})
				text := c.counted(form.value, min(r.seeds, experiment.MostSeeds(table)))
				mean := c.mean(form.value)
				if mean >= published[set][i] {
					text = "**" + text + "**"
				}
				if c != nil {
					counted[form.text]++
				}
				switch {
				case mean >= published[set][i]:
					reached[form.text]++
				case c != nil && form.method == experiment.Shared:
					squared, logarithmic := r.ceilings.of(set, c.runs)
					missed = append(missed, fmt.Sprintf("%s, %s: %.2f of %.2f; pooled ceiling %.2f / %.2f", heading(set), head,
						mean, published[set][i],
						squared, logarithmic))
				}
				fmt.Fprintf(out, " %s |", text)
			}
			out.WriteString("\n")
		}
		if c := find(cells, func(j experiment.Job) bool {
			return j.Clients == 100 && table == experiment.Sensitivity
		}); c != nil {
			squared, logarithmic := r.ceilings.of(set, c.runs)
			fmt.Fprintf(out, "| %s | pooled ceiling | | %.2f / %.2f |%s\n", heading(set), squared, logarithmic,
				strings.Repeat(" |", len(heads)-1))
		}
		n, err := samples(r.lab, set)
		if err != nil {
			return err
		}
		for _, c := range cells {
			r.row(c, n)
		}
	}
	fmt.Fprint(out, "\nBold: at or above what the paper reports.\n")
	fmt.Fprintf(out, "\n**What it shows:** the paper's means are reached in %d of %d cells in the paper's form, in %d "+
		"of %d with all options and settings of "+
		"their own, and in %d of %d with noise that neighbors cancel.\n",
		reached[forms[0].text], counted[forms[0].text],
		reached[forms[8].text], counted[forms[8].text], reached[sharedText], counted[sharedText])
	for _, m := range missed {
		fmt.Fprintf(out, "- missed by pairwise noise: %s\n", m)
	}
	return nil
}
