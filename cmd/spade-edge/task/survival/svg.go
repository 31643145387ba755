package survival

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	wide, high    = 560.0, 320.0 // of the plot, in pixels
	margin, above = 48.0, 28.0
)

// colors of the groups, from the lowest risk to the highest.
var colors = []string{"#1b9e77", "#66a61e", "#e6ab02", "#d95f02", "#a6093d"}

// SVG draws the Kaplan-Meier curve of each group, with the predicted survival at the horizons as dots.
func (m *Metrics) SVG(cuts Intervals) []byte {
	last := slices.MaxFunc(m.Groups, func(a, b Group) int { return cmp.Compare(a.Curve.Last, b.Curve.Last) }).Curve.Last
	last = max(last, cuts.Ends[0])
	x := func(days float64) float64 { return margin + wide*min(days, last)/last }
	y := func(share float64) float64 { return above + high*(1-share) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %v %v" font-family="sans-serif" font-size="12">`+"\n",
		wide+2*margin+130, high+above+margin)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/><text x="%v" y="16">Survival of groups by predicted risk (Kaplan-Meier; `+
		"dots: predicted)</text>\n", margin)
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		fmt.Fprintf(&b, `<path d="M%.1f %.1fH%.1f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="end">%v %%</text>`+"\n", margin, y(share),
			margin+wide, margin-6, y(share)+4, 100*share)
	}
	for _, end := range cuts.Ends {
		if end <= last {
			fmt.Fprintf(&b, `<path d="M%.1f %.1fv%.1f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", x(end), above,
				high, x(end), above+high+18, cuts.Text(end))
		}
	}
	for k, g := range m.Groups {
		color := colors[k*(len(colors)-1)/max(1, len(m.Groups)-1)]
		fmt.Fprintf(&b, `<path fill="none" stroke="%s" stroke-width="2" d="M%.1f %.1f`, color, x(0), y(1))
		for i, t := range g.Curve.Times {
			fmt.Fprintf(&b, "H%.1fV%.1f", x(t), y(g.Curve.Share[i]))
		}
		fmt.Fprintf(&b, `H%.1f"/>`+"\n", x(g.Curve.Last))
		for j, end := range cuts.Ends {
			if end <= last {
				fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(end), y(g.Said[j]), color)
			}
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="%s">group %d: %d of %d</text>`+"\n", margin+wide+8, above+12+18*float64(k), color, k+1, g.Events,
			g.Samples)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
