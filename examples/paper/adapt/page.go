package adapt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/stat"
)

const preface = `# An adapter, and methods that send scalars alone

%d members with %d noisy digits each adapt a frozen network of %d parameters ([examples/adapter](../../../adapter/README.md)), without
noise on what they send. Each member makes at most %d forward passes in a run. A method trains all parameters, or the %d numbers of an
adapter for a random subspace. Before: %.1f %% of the test digits right. Mean and standard deviation over seeds 1 to %d.

| method | numbers | right | rounds | passes | a member sends | and receives |
|---|--:|--:|--:|--:|--:|--:|
`

const notes = `
Bytes are those of a run, four for each number or seed, without frames and signatures. SPADE-DFL has 5 more rounds of consensus, without
forward passes. The graph is complete. *Averaging*: each member makes local steps along two-point estimates, and the members average
their models ("2P-DSG" elsewhere here; on a complete graph FedAvg without a server). The methods that send scalars alone were built from
their publications, not from their authors' code: package method has their equations. The smoothing radius is %v, for SPADE-DFL it is
searched. Each method has %d points of a Latin hypercube over its rounds, the sum of its step sizes, and its radius, local steps or
directions; the best on other digits counts.

What those that send scalars alone give up:

- *Privacy.* Their publications define no noise. SPADE-DFL adds none in this table either; with an epsilon for each digit it is in
  [examples/adapter](../../../adapter/README.md).
- *No server.* FedKSeed and DeComFL have one, which sees each member's scalars.
- *Absent members.* A model is the sum of all steps: a member needs each scalar that it missed, from a server or from neighbors that kept
  it.
- *Work.* Each member repeats the steps of all: as many passes over all parameters as there are scalars.
`

// page returns the text of README.md without the lines about the origin of the results.
func (s *study) page() (string, error) {
	st, err := s.stage(1)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, preface, s.members, s.each, s.network.Params(), s.passes*s.each, s.numbers, 100*s.network.Accuracy(st.base, st.held), s.seeds)
	for _, c := range contenders() {
		var right []float64
		var row []string
		for seed := uint64(1); seed <= uint64(s.seeds); seed++ {
			rows := s.runs.Rows(c.key(s.task, seed)...)
			if rows == nil {
				return "", fmt.Errorf("adapt: %v has no run", c.key(s.task, seed))
			}
			row = rows[0]
			v, err := strconv.ParseFloat(row[3], 64)
			if err != nil {
				return "", fmt.Errorf("adapt: runs.csv: %w", err)
			}
			right = append(right, v)
		}
		deviation := ""
		if len(right) > 1 {
			deviation = " ± " + strconv.FormatFloat(stat.SampleSD(right), 'f', 1, 64)
		}
		fmt.Fprintf(&b, "| %s | %d | %.1f%s | %s | %s | %s | %s |\n", c.name, c.numbers(s.task), stat.Mean(right), deviation, row[7], row[4],
			row[5], row[6])
	}
	fmt.Fprintf(&b, notes, mu, s.trials)
	return b.String() + "\n", nil
}
