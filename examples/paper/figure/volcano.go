package figure

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/spade-dfl/spade-edge/examples/paper/stat"
)

// Comparison compares a method with the reference method on one partition after one round.
type Comparison struct {
	Partition, Method string
	Round             int
	Seeds             int     // number of pairs
	Difference        float64 // mean accuracy of the method minus that of the reference, in percentage points
	P                 float64 // two-sided, by Wilcoxon's signed-rank test with Pratt's rule for equal pairs
	Adjusted          float64 // P adjusted for the number of comparisons by Benjamini and Hochberg
}

// Compare compares every method with the reference method, for every partition and every round from 1 on, over the
// seeds that both methods have. It adjusts the P values for the number of comparisons, which is 1,200 in the paper's
// figure (6 methods, 4 partitions, 50 rounds). All curves must belong to the same data set. The result is sorted by
// partition, method and round.
func Compare(curves []Curve, reference string) ([]Comparison, error) {
	g, err := newGroup(curves)
	if err != nil {
		return nil, err
	}
	var all []Comparison
	var p []float64
	for _, partition := range g.partitions {
		for _, method := range g.methods {
			if method == reference {
				continue
			}
			for _, round := range g.rounds {
				if round == 0 { // all methods have the same start
					continue
				}
				x, y := g.paired(key{partition, method, round}, key{partition, reference, round})
				if len(x) == 0 {
					continue
				}
				t, err := stat.Wilcoxon(x, y, stat.PrattZeros)
				if err != nil {
					return nil, fmt.Errorf("figure: %s, %s, round %d: %w", partition, method, round, err)
				}
				all = append(all, Comparison{partition, method, round, len(x), stat.Mean(x) - stat.Mean(y), t.P, 0})
				p = append(p, t.P)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("figure: found no results to compare with method %q", reference)
	}
	adjusted, err := stat.Adjust(p)
	if err != nil {
		return nil, fmt.Errorf("figure: %w", err)
	}
	for i := range all {
		all[i].Adjusted = adjusted[i]
	}
	return all, nil
}

// Volcano plots comparisons with the reference method: the mean difference in accuracy against -log10 of the adjusted p
// value, in one color per method. Lines mark a difference of zero and an adjusted p value of 0.05.
func Volcano(comparisons []Comparison, reference, path string) error {
	if len(comparisons) == 0 {
		return errors.New("figure: found no comparisons to plot")
	}
	of := make(map[string]plotter.XYs)
	right, left, top := 1.0, -1.0, 2.0
	for _, c := range comparisons {
		if !(c.Adjusted > 0 && c.Adjusted <= 1) {
			return fmt.Errorf("figure: adjusted p value is %v (%s, %s, round %d), want above 0 and at most 1",
				c.Adjusted, c.Partition, c.Method, c.Round)
		}
		at := plotter.XY{X: c.Difference, Y: -math.Log10(c.Adjusted) + 0} // + 0 turns -0 into 0
		of[c.Method] = append(of[c.Method], at)
		right, left, top = max(right, at.X), min(left, at.X), max(top, at.Y)
	}
	p := newPlot("", "Accuracy less that of "+reference+" (points)", "−log10 of adjusted p")
	p.Add(grid())
	s := &sheet{width: oneColumn, height: 2.9 * oneColumn / 3.5, panels: [][]*plot.Plot{{p}}}
	room := 0.04 * (right - left)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = left-room, right+room, -0.03*top, 1.05*top
	names := slices.SortedFunc(maps.Keys(of), compareMethods)
	for place, name := range names {
		l := methodLook(name, place)
		s.legend = append(s.legend, entry{text: name, look: l, point: true})
		scatter, err := plotter.NewScatter(of[name])
		if err != nil {
			return fmt.Errorf("figure: %w", err)
		}
		c := l.color
		c.A = 150
		scatter.GlyphStyle = draw.GlyphStyle{Color: c, Radius: 1.5, Shape: l.glyph}
		addGlyphs(p, scatter)
	}
	if err := addLine(p, p.X.Min, -math.Log10(0.05), p.X.Max, -math.Log10(0.05)); err != nil {
		return err
	}
	if err := addLine(p, 0, p.Y.Min, 0, p.Y.Max); err != nil {
		return err
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = steps{6}, steps{5}
	return s.save(path)
}
