package dpmech

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Level is the standard deviation of the noise that remains against an adversary who sees all releases and has the
// knowledge of Colluders members.
type Level struct {
	Colluders int     `json:"colluders"`
	Effective float64 `json:"effective_sigma"` // see [Shared]; against all other members only the client's local sigma remains
}

// Point is the cost against the adversary described by a [Level].
type Point struct {
	Level
	Rho     float64 `json:"rho"` // zCDP, rounded up
	Epsilon float64 `json:"epsilon"`
}

// Curve is the cost of a member's releases as a function of the number of colluding members.
type Curve struct {
	Points []Point // sorted by Colluders; a single point without colluders for a cost against [Everybody]
	Others int     // the number of members other than the one that makes the releases; 0 if unknown
	absent int     // see [Shared]
	named  string  // the name of the first point's adversary if the number of its colluders is unknown
}

// CurveOf returns the curve for releases with the total cost t. All of them have the pairwise noise s. The curve's
// epsilons are for delta. levels are the levels of the run in ascending order of Colluders. They must include the level
// of s, and the last one must be the level of all other members. Without pairwise noise, the curve has one point. If no
// levels are given, as for several runs, the curve has two points: the two costs in t.
//
// A cost is a constant (for releases without pairwise noise) plus a multiple of 1/Effective^2, so the two costs in t
// determine the cost at every level.
func CurveOf(t Total, s Shared, levels []Level, delta float64, acc Accounting) Curve {
	point := func(l Level, rho float64) Point { return Point{Level: l, Rho: rho, Epsilon: acc.Epsilon(rho, delta)} }
	if t.Rho == t.All {
		return Curve{Points: []Point{point(Level{}, t.All)}}
	}
	who := t.weakest
	if !who.shared {
		who = s.adversary()
	}
	c := Curve{absent: who.absent}
	if !who.shared {
		c.named = WeakestNamed
	}
	at := func(effective float64) float64 { return 1 / float64(effective*effective) }
	if n := len(levels); n > 0 && at(levels[n-1].Effective) > at(s.Effective)*(1+1e-3) {
		c.Others, c.absent = levels[n-1].Colluders, s.Absent
		named, own := at(s.Effective), at(levels[n-1].Effective)
		for _, l := range levels {
			rho := t.Rho
			switch x := at(l.Effective); {
			case x == own:
				rho = t.All
			case x != named:
				rho += float64((t.All - t.Rho) * (x - named) / (own - named))
				rho = math.Max(rho, 0) + float64(1e-9*t.Rho) // more than the rounding errors can have subtracted
			}
			c.Points = append(c.Points, point(l, rho))
		}
		return c
	}
	c.Points = []Point{point(Level{Colluders: who.colluders}, t.Rho), point(Level{Colluders: math.MaxInt}, t.All)}
	return c
}

// Text returns the curve as one line, such as "epsilon 7.86 against outsiders, 8.00 with any 1 of 30 others, 8.51 with
// 5, 67.7 with all". Epsilons have three significant digits, rounded up. Outsiders see all releases but do not have any
// member's knowledge of the noise.
func (c Curve) Text() string {
	var parts []string
	for i, p := range c.shown() {
		parts = append(parts, epsilonText(p.Epsilon)+" "+c.who(p, i > 0 && c.Points[i-1].Colluders > 0))
	}
	return "epsilon " + strings.Join(parts, ", ") + vanishing(c.absent)
}

// epsilonText formats an epsilon with three significant digits, rounded up as in [FormatEpsilon].
func epsilonText(epsilon float64) string {
	if !(epsilon > 0) {
		return FormatEpsilon(epsilon, 2)
	}
	at := func(x float64) int { return min(max(2-int(math.Floor(math.Log10(x))), 0), 9) }
	text := FormatEpsilon(epsilon, at(epsilon))
	if up, err := strconv.ParseFloat(text, 64); err == nil && up > epsilon { // 0.9999 rounds up to 1.00
		text = FormatEpsilon(epsilon, at(up))
	}
	return text
}

// Bar is the cost against one adversary, for display as a bar.
type Bar struct {
	Who     string  `json:"who"`     // the adversary, such as "outsiders" or "any 5 of 30 others"
	Epsilon float64 `json:"epsilon"` // see [Point]
	Guess   float64 `json:"guess"`   // see [Guess]
}

// Bars returns the cost against each adversary on the curve, in order from the weakest adversary to the strongest.
func (c Curve) Bars() (bars []Bar) {
	for _, p := range c.shown() {
		who := strings.TrimPrefix(strings.TrimPrefix(c.who(p, false), "with "), "against ")
		bars = append(bars, Bar{who + vanishing(c.absent), p.Epsilon, Guess(p.Rho)})
	}
	return bars
}

// shown returns the points up to the first one with the same cost as the last point. All further points would repeat
// this cost.
func (c Curve) shown() []Point {
	end := len(c.Points) - 1
	for end > 0 && c.Points[end-1].Rho == c.Points[end].Rho {
		end--
	}
	return c.Points[:end+1]
}

// who returns the name of the adversary of a point. If told is true, the text has already stated the number of other
// members, so the name omits it.
func (c Curve) who(p Point, told bool) string {
	last := c.Points[len(c.Points)-1]
	with := fmt.Sprintf("with %d", p.Colluders)
	switch {
	case len(c.Points) == 1:
		return "against " + Everybody
	case p.Colluders == last.Colluders && told:
		return "with all"
	case p.Colluders == last.Colluders:
		return "with all others"
	case c.named != "":
		with = "against " + c.named
	case p.Colluders == 0:
		with = "against outsiders"
	case !told && c.Others > 0:
		with = fmt.Sprintf("with any %d of %d others", p.Colluders, c.Others)
	case !told && p.Colluders == 1:
		with = "with any 1 other member"
	case !told:
		with = fmt.Sprintf("with any %d other members", p.Colluders)
	}
	if p.Rho == last.Rho {
		with += " or more"
	}
	return with
}

// Guess returns an upper bound, in [0.5, 1], on the success probability of an adversary who must decide which of two
// equally likely data sets led to releases with a cost of rho. The two data sets are adjacent: they differ in one unit
// that the cost protects.
//
// The bound is Phi(mu/2) with mu = sqrt(2 rho): the trade-off function of the Gaussian mechanism is at least that of
// N(0, 1) against N(mu, 1), whose best test has error probabilities of Phi(-mu/2) of either kind (Dong, Roth and Su,
// "Gaussian differential privacy", 2.3). The bound depends on neither delta nor epsilon.
func Guess(rho float64) float64 { return 1 - math.Erfc(math.Sqrt(rho)/2)/2 }

// Times converts a probability to the number of times in 100, rounded up to a whole number.
func Times(p float64) int { return int(math.Ceil(float64(100*p) - 1e-9)) }

// Words explains in plain sentences what the curve c means for one unit (a whole data set or a record) of a member's
// data.
func (c Curve) Words(unit Unit) string {
	which, cases := "which of two data sets this member has", "the two"
	if unit == Record {
		which, cases = "whether a given record, such as a patient's, was in the data of this member",
			"the two cases, with the record or with another in its place,"
	}
	bars := c.Bars()
	text := fmt.Sprintf("anyone who tries to tell %s is right at most %d times in 100", which, Times(bars[0].Guess))
	for i, bar := range bars {
		if i > 0 {
			text += fmt.Sprintf(", %d", Times(bar.Guess))
		}
		text += " (" + bar.Who + ")"
	}
	return fmt.Sprintf("%s; guessing is right 50 times. This assumes that all other data are known and that %s are equally likely",
		text, cases)
}

// Bound returns the cost curve that the certificate states for its run, and the unit that this cost protects.
func (c *Certificate) Bound() (Curve, Unit) {
	if len(c.Curve) == 0 {
		return CurveOf(c.charged(), Shared{}, nil, c.Delta, GDP), c.unit()
	}
	s := c.shared()
	return Curve{Points: c.Curve, Others: c.Curve[len(c.Curve)-1].Colluders, absent: s.Absent}, c.unit()
}

// verifyCurve returns an error if the curve does not match the releases and the stated levels. It cannot verify the
// levels themselves, because they depend on the graph.
func (c *Certificate) verifyCurve() error {
	if c.Curve == nil {
		return nil
	}
	var f faults
	shared, named := c.shared(), false
	var levels []Level
	for i, p := range c.Curve {
		where := fmt.Sprintf("[%d]", i)
		if i > 0 {
			before := c.Curve[i-1]
			f.want(p.Colluders > before.Colluders, "%s: colluders is %d, want more than %d", where, p.Colluders, before.Colluders)
			f.want(p.Effective <= before.Effective, "%s: effective_sigma is %v, want at most %v", where, p.Effective, before.Effective)
		}
		f.want(p.Colluders >= 0 && p.Effective > 0, "%s: colluders is %d and effective_sigma is %v, want colluders >= 0 and effective_sigma > 0", where,
			p.Colluders, p.Effective)
		named = named || p.Level == Level{shared.Colluders, shared.Effective}
		levels = append(levels, p.Level)
	}
	f.want(named, "lacks the point of the releases: %d colluders and effective_sigma %v", shared.Colluders, shared.Effective)
	for i, s := range c.Spends {
		alike := s.Shared == shared && len(levels) > 0 && levels[len(levels)-1].Effective == s.Sigma
		f.want(s.Shared == (Shared{}) || alike, "releases[%d]: pairwise noise differs from the other releases, or effective_sigma of the last point is not %v",
			i, s.Sigma)
	}
	if len(f) > 0 {
		return errors.Join(f...)
	}
	want := CurveOf(c.charged(), shared, levels, c.Delta, GDP)
	f.want(len(want.Points) == len(c.Curve), "has %d points, want %d, as follows from the releases", len(c.Curve), len(want.Points))
	for i := range min(len(want.Points), len(c.Curve)) {
		have, want := c.Curve[i], want.Points[i]
		const text = "[%d]: rho and epsilon are stated as %v and %v, want %v and %v"
		f.want(have.Rho >= want.Rho && notBelow(have.Rho, want.Rho) && notBelow(have.Epsilon, want.Epsilon), text, i, have.Rho, have.Epsilon, want.Rho,
			want.Epsilon)
	}
	return errors.Join(f...)
}
