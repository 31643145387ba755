package verdict

import "fmt"

// Text returns the verdict in one line.
func (v *Verdict) Text() string {
	if l := v.Losses; l != nil {
		return fmt.Sprintf("mean loss %.4g to %.4g on %d own samples; the program has no model of its own to compare with", l.Start,
			l.Shared, l.Samples)
	}
	a := v.Answers
	own, always := "alone "+a.worth(a.Alone), fmt.Sprintf("always %s %s", a.constant(), a.worth(a.Constant))
	shared := "shared " + a.worth(a.Shared)
	if v.AsOf > 0 {
		shared = fmt.Sprintf("later releases made it worse here: %s", a.worth(a.Last))
	}
	switch v.Accepted {
	case Alone:
		return fmt.Sprintf("accepted: the site's own model, %s of %d held-out rows (%s, %s); the shared model%s is %s", a.worth(a.Alone), a.Rows,
			shared, always, v.asOf(), v.compared())
	case Constant:
		return fmt.Sprintf("accepted: always %s, %s of %d held-out rows (%s, %s); the shared model%s is %s", a.constant(), a.worth(a.Constant),
			a.Rows, shared, own, v.asOf(), v.compared())
	}
	if v.AsOf > 0 {
		own = shared + "; " + own
	}
	return fmt.Sprintf("accepted: the shared model%s, %s of %d held-out rows (%s, %s); it is %s", v.asOf(), a.worth(a.Shared), a.Rows, own,
		always, v.compared())
}

// asOf says which earlier model stands for the shared one, if one does.
func (v *Verdict) asOf() string {
	if v.AsOf == 0 {
		return ""
	}
	return fmt.Sprintf(" as of release %d", v.AsOf)
}

// compared says how the shared model compares with the site's own.
func (v *Verdict) compared() string {
	a := v.Answers
	g, unit := a.Gain, " points"
	if a.Measure == "rmse" {
		unit = " of RMSE"
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

func (a *Answers) worth(x float64) string {
	if a.Measure == "rmse" {
		return "RMSE " + number(x)
	}
	return fmt.Sprintf("%.1f %%", x)
}

func (a *Answers) size(x float64) string {
	if a.Measure == "rmse" {
		return number(x)
	}
	return fmt.Sprintf("%.0f", x)
}

func (a *Answers) constant() string {
	if a.Measure == "rmse" {
		return a.Always
	}
	return fmt.Sprintf("%q", a.Always)
}
