package verdict

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
)

// Text returns the verdict in one line.
func (v *Verdict) Text() string {
	if l := v.Losses; l != nil {
		return fmt.Sprintf("mean loss %.4g to %.4g on %d own samples; the program has no model of its own to compare with", l.Start,
			l.Shared, l.Samples)
	}
	a := v.Answers
	shared := "the shared model"
	if v.AsOf > 0 {
		shared += fmt.Sprintf(" as of release %d (later ones made it worse on this site's training rows; the last: %s)", v.AsOf, a.worth(a.Last))
	}
	own, always := "alone "+a.worth(a.Alone), fmt.Sprintf("always %s %s", a.constant(), a.worth(a.Constant))
	of := fmt.Sprintf("of %d held-out rows", a.Rows)
	switch v.Accepted {
	case Alone:
		return fmt.Sprintf("accepted: the site's own model, %s %s (shared %s, %s); %s is %s", a.worth(a.Alone), of, a.worth(a.Shared), always,
			shared, v.compared())
	case Constant:
		return fmt.Sprintf("accepted: always %s, %s %s (shared %s, %s); %s is %s", a.constant(), a.worth(a.Constant), of, a.worth(a.Shared), own,
			shared, v.compared())
	}
	return fmt.Sprintf("accepted: %s, %s %s (%s, %s): %s", shared, a.worth(a.Shared), of, own, always, v.compared())
}

// compared says how the shared model compares with the site's own.
func (v *Verdict) compared() string {
	a := v.Answers
	g, unit := a.Gain, " of "+a.Measure.Name()
	if a.Measure == score.Accuracy {
		unit = " points"
	}
	rows := fmt.Sprintf("%d rows", a.Rows)
	if a.Rows == 1 {
		rows = "1 row"
	}
	switch {
	case g.Low != nil && *g.Low > 0:
		return fmt.Sprintf("better than alone by %s to %s%s", a.size(*g.Low), a.size(*g.High), unit)
	case g.High != nil && *g.High < 0:
		return fmt.Sprintf("worse than alone by %s to %s%s: use your own", a.size(-*g.High), a.size(-*g.Low), unit)
	}
	return "as good as alone, as far as " + rows + " can tell"
}

func (a *Answers) worth(x float64) string { return a.Measure.Named(x, 1) }

func (a *Answers) size(x float64) string {
	switch a.Measure {
	case score.RMSE:
		return number(x)
	case score.CIndex:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

func (a *Answers) constant() string {
	if a.Measure != score.Accuracy {
		return a.Always
	}
	return fmt.Sprintf("%q", a.Always)
}
