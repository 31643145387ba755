package report

import (
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
)

// longer writes what holds SPADE-DFL back from the ceiling after 50 rounds: the disagreement of the clients, or too few
// rounds.
func (r *reporter) longer(out *strings.Builder) error {
	out.WriteString("| data | SPADE-DFL | scored |")
	for _, n := range experiment.LongerRounds {
		fmt.Fprintf(out, " %d rounds |", n)
	}
	fmt.Fprintf(out, " ceiling |\n| --- | --- | --- |%s\n", strings.Repeat(" ---: |", len(experiment.LongerRounds)+1))
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
			if some {
				fmt.Fprintf(out, "| %s | %s | %s |%s %.2f / %.2f |\n", heading(set), row.form, row.scored, line, squared,
					logarithmic)
			}
		}
	}
	return nil
}
