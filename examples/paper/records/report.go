package records

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/stat"
	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// write writes README.md and cells.csv with the results of all existing runs.
func (s *study) write(out string, seeds int) error {
	if err := s.writeCells(filepath.Join(out, "cells.csv"), seeds); err != nil {
		return err
	}
	return sweep.WritePage(filepath.Join(out, "README.md"), s.report(seeds), s.runs)
}

func (s *study) writeCells(path string, seeds int) error {
	rows := [][]string{{"data", "clients", "method", "epsilon", "seeds", "mean", "standard_error", "losses", "setting"}}
	for _, c := range cells(data.Names) {
		v := s.values(c, seeds)
		if len(v) == 0 {
			continue
		}
		some := s.runs.Rows(append(c.key(), "1")...)
		if some == nil {
			continue
		}
		losses, _, _ := strings.Cut(some[0][6], ".")
		rows = append(rows, append(c.key(), strconv.Itoa(len(v)), decimals(stat.Mean(v), 2), decimals(standardError(v), 2), losses,
			some[0][8]))
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("records: %w", err)
	}
	if err := csv.NewWriter(f).WriteAll(rows); err != nil {
		f.Close()
		return fmt.Errorf("records: %w", err)
	}
	return f.Close()
}

// standardError returns the standard error of the mean of v, or NaN if v has only one value.
func standardError(v []float64) float64 { return stat.SampleSD(v) / math.Sqrt(float64(len(v))) }

// decimals formats a number with n decimals. It returns "" for NaN.
func decimals(x float64, n int) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'f', n, 64)
}

// entry returns the text of a table cell, or "-" if the cell has no runs.
func (s *study) entry(c cell, seeds int) string {
	v := s.values(c, seeds)
	if len(v) == 0 {
		return "-"
	}
	text := decimals(stat.Mean(v), 1)
	if len(v) > 1 {
		text += " ± " + decimals(standardError(v), 1)
	}
	if want := c.seeds(seeds); len(v) < want {
		text += fmt.Sprintf(" (%d of %d seeds)", len(v), want)
	}
	return text
}

const preface = `# Each record protected: SPADE-DFL and its rivals

Test accuracy in percent after the last round, mean and standard error over seeds, when **each record** of each client is protected at
(ε, 1e-5): replacing one record by any other, with the numbers of records public. Accounting is exact (Gaussian differential privacy,
package dpmech) in all rows.

**What is equal.** All rows of a column have the same guarantee for a record, the same splits, the same records dealt to the clients (at
random, without their labels), the same model and loss. No method asks for more losses of a record than SPADE-DFL with its defaults: 10
rounds of 64 (Alzheimer's, Brain Tumor) or 32 (MNIST, Fashion-MNIST). Rivals see losses only, as in the other tables of this module: a
gradient is estimated from two-point differences, two losses each, so a gradient method with T steps has 640/T or 320/T losses of each
record for one. Rivals choose T. The two rows *exact gradients* are outside this rule: in every step they see the exact gradient of each
record (d numbers), for up to 64 steps.

**Whom one has to trust** is not equal, and the second column names it. *Nobody*: ε holds against all others together, a server
included. *At most 1 member colludes*: ε holds against whoever sees all messages, together with any one member; against all other
members together it is larger. *A curator*: holds all raw data; ε holds against whoever sees the models.

**Methods.**

- *SPADE-DFL*: what plan.Suggest chooses for record-level privacy from public numbers (tracking, Walsh directions, 10 rounds, cool-down), on the
  simulated network of sdk/sim. Nothing is searched for here, but these defaults were chosen on the Alzheimer's and Fashion-MNIST data
  (sdk/DEFAULTS.md). Accuracy is the mean over the models that the members hold.
- *DP-SGD* (Abadi et al. 2016): a curator clips each record's gradient and adds noise to the mean; all records in each step, no amplification
  by sampling.
- *DP-FedSGD* (noisy distributed SGD with a guarantee for each silo's records, Lowy and Razaviyayn 2023): the same steps, but each member adds
  the noise to its own sum before a server sees it.
- *LT-ADMM-DP* (Ren et al., arXiv 2604.02558, built from its abstract and summaries): local steps and ADMM on the same graph as SPADE-DFL;
  each local step clips each record's gradient and adds noise, and all local steps are charged. The authors compare mini-batches that
  differ in one sample; here each step takes all records. It is judged by the mean of the members' models, which no member holds: that leaves most of their last noise out.
- *DPZero* (Zhang et al., arXiv 2310.09639): one public direction a step, each record's two-point difference clipped to a number, noise on
  the mean of these numbers. Published with a curator; *local noise* is our form in which each member adds it.
- *Ceiling*: the same model trained by exact gradients on all training records, without noise, with the loss that all methods see and with the
  logarithmic loss.

**Settings of the rivals** were searched for each cell: %d points of a Latin hypercube on 2 seeds, the best %d of them on 4 more (1 and 2 on
MNIST and Brain Tumor, whose validation sets have over a thousand records), all from seed %d on, with a fifth of the training records
(by row number) to validate on. No reported run has these seeds, and test sets of the sources are not used; for Alzheimer's and
Fashion-MNIST, which have none, a record that one of these seeds validates on may be a test record of a reported seed. Searched: how far
all steps can go together (0.5 to 30, on Brain Tumor to 120; it fixes the step size), the clip (0.05 to 3), and the number of steps or rounds
(1 to 64; LT-ADMM-DP 2 to 40 rounds of 1 to 8 steps, and the gain; DPZero 10 to 320). The smoothing radius of two-point differences is %v.
The search is not charged to ε, which favors the rivals.

**Not covered by any ε here**: preprocessing (standardization, principal components) is fitted on training records, for all rows alike. Test
rows are chosen by row number, or are the source's own test set. On MNIST and Brain Tumor the test set is the same for all seeds, so the
standard error there has no share of the choice of test records. Noise comes from seeds: this is a simulation.
`

// report returns the text of README.md without the lines about the origin of the results.
func (s *study) report(seeds int) string {
	var b strings.Builder
	fmt.Fprintf(&b, preface, trials, finalists, tuningSeed, radius)
	all, missing := cells(data.Names), 0
	for _, c := range all {
		if len(s.values(c, seeds)) < c.seeds(seeds) {
			missing++
		}
	}
	for _, place := range scenes {
		fmt.Fprintf(&b, "\n## %s, N = %d, graph %s, %d seeds\n\n| method | trusted |", data.Titles[place.data], place.clients, place.graph,
			cell{scene: place}.seeds(seeds))
		for _, e := range epsilons {
			fmt.Fprintf(&b, " ε = %v |", e)
		}
		b.WriteString("\n|---|---|" + strings.Repeat("---|", len(epsilons)) + "\n")
		where := []scene{place, curator([]scene{place})[0]}
		for _, c := range contenders() {
			in := where[0]
			if c.pooled {
				in = where[1]
			}
			fmt.Fprintf(&b, "| %s | %s |", c.name, c.trusted)
			for _, e := range epsilons {
				if c.silent() {
					e = 0
				}
				fmt.Fprintf(&b, " %s |", s.entry(cell{c, in, e}, seeds))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\nAll cells with settings, seeds and losses of a record: [cells.csv](cells.csv).")
	if missing > 0 {
		fmt.Fprintf(&b, " %d of %d cells are not complete; the command below makes them, and continues where it was stopped.", missing, len(all))
	}
	b.WriteString("\n\n")
	return b.String()
}
