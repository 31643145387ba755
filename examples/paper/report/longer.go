package report

import (
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
)

// longer writes a section on what keeps SPADE-DFL below the ceiling after 50 rounds: disagreement between the clients
// or the small number of rounds.
func (r *reporter) longer(out *strings.Builder) error {
	out.WriteString("| data | SPADE-DFL | scored |")
	for _, n := range experiment.LongerRounds {
		fmt.Fprintf(out, " %d rounds |", n)
	}
	fmt.Fprintf(out, " ceiling |\n| --- | --- | --- |%s\n", strings.Repeat(" ---: |", len(experiment.LongerRounds)+1))
	var gains []string
	for _, set := range r.sets {
		cells, err := gather(r.store, experiment.Longer, set, r.seeds)
		if err != nil {
			return err
		}
		for _, row := range []struct {
			form, method, scored string
			value                value
		}{
			{"paper's form", experiment.PaperForm, "clients", accuracy},
			{"paper's form", experiment.PaperForm, "average model", network},
			{"all options", experiment.Together, "clients", cooledAveraged},
			{"all options but averaging", experiment.Together, "clients", cooled},
		} {
			var squared, logarithmic float64
			line, some := "", false
			for _, n := range experiment.LongerRounds {
				c := find(cells, func(j experiment.Job) bool { return j.Rounds == n && j.Method == row.method })
				line += " " + c.text(row.value) + " |"
				if c != nil {
					some = true
					squared, logarithmic = r.ceilings.of(set, c.runs)
				}
			}
			if rounds := experiment.LongerRounds; some && row.method == experiment.PaperForm && row.scored == "clients" {
				at := func(n int) *cell {
					return find(cells, func(j experiment.Job) bool { return j.Rounds == n && j.Method == row.method })
				}
				if few, many := at(rounds[0]), at(rounds[len(rounds)-1]); few != nil && many != nil {
					gains = append(gains, fmt.Sprintf("%s %.1f (ceiling %.1f)", heading(set),
						many.mean(row.value)-few.mean(row.value), squared))
				}
			}
			if some {
				fmt.Fprintf(out, "| %s | %s | %s |%s %.2f / %.2f |\n", heading(set), row.form, row.scored, line, squared,
					logarithmic)
			}
		}
	}
	if len(gains) > 0 {
		fmt.Fprintf(out, "\n**What it shows:** from the fewest to the most rounds, the clients of the paper's form gain "+
			"in points: %s.\n",
			strings.Join(gains, ", "))
	}
	return nil
}
