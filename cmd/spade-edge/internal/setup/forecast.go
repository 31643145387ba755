package setup

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
)

// Forecast predicts the quality of the model after a private run, under the assumption that every member has the mean
// number of samples. It returns nil for a run without noise.
func (p *Problem) Forecast() *plan.Outlook {
	sum := 0
	for _, n := range p.Samples {
		sum += n
	}
	r, _ := plan.Forecast(p.Plan, sum/len(p.Samples)) // fails only if the run is not private, because the fleet is valid
	return r
}

// WriteBeginning prints the chosen parameters and the forecast, before a run starts.
func (p *Problem) WriteBeginning(w io.Writer) {
	p.WriteChosen(w)
	if r, err := p.Recipe("these data"); err == nil {
		Suspect(w, r, p.Opt.DataSpec(), p.Opt.Recipe == nil)
	}
	if p.Fleet.Privacy.NonPrivate {
		fmt.Fprintln(w, "NOT PRIVATE: nothing is clipped and no noise is added")
	}
	if r := p.Forecast(); r != nil {
		fmt.Fprintf(w, "forecast: %s\n", forecastText(p.Fleet, r, p.Opt.Spec.Kind() == task.OfSurvival))
	}
}

// ForecastText describes the forecast r in words, and how to improve it.
func ForecastText(f *sdk.Fleet, r *plan.Outlook) string {
	recipe, _ := builtin.Task(f)
	return forecastText(f, r, recipe != nil && recipe.Survival != nil)
}

func forecastText(f *sdk.Fleet, r *plan.Outlook, survival bool) string {
	pr := f.Privacy
	epsilon := pr.Accounting.Epsilon(f.Total(f.Method.Rounds).Rho, pr.Delta)
	score, guess, constant, free, digits, unit := "accuracy", "always guessing the most frequent answer", 55.0, 83.0, 0, " %"
	similar := "shares of each answer: a site with 3 % of yes is not one"
	if survival {
		score, guess, constant, free, digits, unit = "C-index", "the same risk for all", 0.5, 0.7, 2, ""
		similar = "shares of events, and rests on measurements with classes"
	}
	at := func(gain float64) string {
		return strconv.FormatFloat(max(0, constant+(free-constant)*gain), 'f', digits, 64)
	}
	var cures []string
	if r.Members > 0 {
		cures = append(cures, fmt.Sprintf("%d nodes", r.Members))
	}
	if r.Epsilon > 0 {
		cures = append(cures, fmt.Sprintf("epsilon %v", r.Epsilon))
	}
	if r.Share {
		cures = append(cures, "-colluders auto (noise that neighbors share)")
	}
	would := ""
	if cures != nil {
		would = fmt.Sprintf("; %s would give %s", strings.Join(cures, " or "), at(plan.Enough)+unit)
	}
	if r.Halved != nil {
		would += fmt.Sprintf("; half of the %d parameters, for example with fewer columns, would give %s", f.Dim, at(*r.Halved)+unit)
	}
	if r.Records {
		would += fmt.Sprintf("; -unit record (epsilon %.3g for each record, such as a patient, in place of the whole data set) "+
			"would give more", epsilon)
	}
	return fmt.Sprintf("expected %s %s (%s to %s in 9 of 10 such runs), if %s gives %v%s and a model without noise %v%s%s; it assumes sites with similar %s",
		score, at(r.Gain)+unit, at(r.Low), at(r.High), guess, constant, unit, free, unit, would, similar)
}
