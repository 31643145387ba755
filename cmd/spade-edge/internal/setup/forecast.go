package setup

import (
	"fmt"
	"io"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk"
)

// Forecast says what a private run will be worth, to members with the mean number of samples; nil without noise.
func (p *Problem) Forecast() *sdk.Forecast {
	sum := 0
	for _, n := range p.Samples {
		sum += n
	}
	r, err := p.Fleet.Forecast(sum / len(p.Samples))
	if err != nil { // not private; that a fleet is valid is known
		return nil
	}
	return r
}

// WriteBeginning says, before a run, what was chosen for the user and what the run will be worth.
func (p *Problem) WriteBeginning(w io.Writer) {
	p.WriteChosen(w)
	if p.Fleet.Privacy.NonPrivate {
		fmt.Fprintln(w, "NOT PRIVATE: nothing is clipped and no noise is added")
	}
	if r := p.Forecast(); r != nil {
		fmt.Fprintf(w, "forecast: %s\n", ForecastText(p.Fleet, r))
	}
}

// ForecastText says in a sentence what a run will be worth, and what would make it good.
func ForecastText(f *sdk.Fleet, r *sdk.Forecast) string {
	pr := f.Privacy
	epsilon := pr.Accounting.Epsilon(f.Rho(), pr.Delta)
	var cures []string
	if r.Members > 0 {
		cures = append(cures, fmt.Sprintf("%d nodes", r.Members))
	}
	if r.Epsilon > 0 {
		cures = append(cures, fmt.Sprintf("epsilon %v", r.Epsilon))
	}
	if r.Share {
		cures = append(cures, "-colluders 1 (noise that neighbors share)")
	}
	would := ""
	if n := len(cures) - 1; n >= 0 {
		would = "; " + strings.Join(cures[:n], ", ") + strings.Repeat(" or ", min(n, 1)) + cures[n] + " would do"
	}
	noise := fmt.Sprintf("%.2g of the noise", r.Signal)
	switch r.Worth {
	case sdk.Good:
		return "good: most of what the run would bring without noise; what is learned is " + noise
	case sdk.Weak:
		return fmt.Sprintf("weak: less than without noise, and often much less; what is learned is %s%s", noise, would)
	default:
		return fmt.Sprintf("%d nodes are too few at epsilon %.3g: expect little better than guessing; "+
			"what is learned is %s%s", len(f.Members), epsilon, noise, would)
	}
}
