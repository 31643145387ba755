package node

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// checkSurvival refuses flags of the evaluate command that do not suit the model, as far as survival is concerned, and a file
// for the drawing that exists, unless force is set.
func (a *Applied) checkSurvival(draw, rule string, recalibrate, force bool) error {
	survives := a.file.Task.Survival != nil
	var f cli.Faults
	switch {
	case draw != "" && (!survives || recalibrate):
		return cli.Usage("-svg needs a model of survival, and -data")
	case survives && rule != "":
		return cli.Usage("-threshold needs a model with two classes, not one of survival")
	case draw != "":
		f.Taken(draw, force)
	}
	return f.Usage()
}

// survival prints the scores of predicted survival.
func (r *Evaluation) survival(t cli.Table) {
	m := r.Survival
	t.Row("samples", "%d, of whom %d had the event (%q)", m.Samples, m.Events, r.file.Task.Classes[1])
	t.Row("C-index", "%s, of %d pairs; always saying the same risk: 0.5", number(m.CIndex), m.Pairs)
	t.Row("intervals", "95 %%, in brackets")
	r.advice(t)
	fmt.Fprintf(t, "\n%-10s %18s %24s %28s %16s\n", "beyond", "survival predicted", "observed", "Brier", "of a constant")
	for _, h := range m.Horizons {
		constant := "none"
		if h.Constant != nil {
			constant = fmt.Sprintf("%.4g", *h.Constant)
		}
		fmt.Fprintf(t, "%-10s %16.2f %% %24s %28s %16s\n", h.Time, 100*h.Said, percent(h.Observed), number(h.Brier), constant)
	}
	fmt.Fprintf(t, "\n%-10s %8s %8s", "risk group", "samples", "events")
	for _, end := range r.Horizons {
		fmt.Fprintf(t, "  %-30s", "beyond "+end+": predicted, observed")
	}
	fmt.Fprintln(t)
	for k, g := range m.Groups {
		fmt.Fprintf(t, "%-10d %8d %8d", k+1, g.Samples, g.Events)
		for j := range g.Said {
			fmt.Fprintf(t, "  %-30s", fmt.Sprintf("%.1f %%, %s", 100*g.Said[j], percent(g.Observed[j])))
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t, "\nobserved: Kaplan-Meier; none: nobody was observed that long. Group 1 has the lowest predicted risk.")
}

// lasting formats a predicted survival and the predicted median time.
func (a *Applied) lasting(survival []float64, median *float64) (shares []string, half string) {
	for _, s := range survival {
		shares = append(shares, fmt.Sprintf("%.1f %%", 100*s))
	}
	if half = "after " + a.Horizons[len(a.Horizons)-1]; median != nil {
		half = a.cuts.Text(*median)
	}
	return shares, half
}
